"""Mixtures of Student's t with one shape for all components, and the log evidence for k of them.

In the metric of the fitted covariance the rows of a cluster have the same shape W for all clusters, so that

    x_i ~ Σ_j π_j t_ν(c_j, W) ,   c_j ~ N(m, u W) ,   j = 1 … k ,   ν = 4, 10 or ∞ (normal) ,

W spherical, v I, or learnt: an inverse Wishart prior with mean v I that counts as p + 2 rows, v the best one. The
metric cannot be right where the covariance could not be learnt in full; one long component would then be described
better by several spherical ones.

The likelihood L is maximised by expectation–maximisation, which starts from a given partition; W is its posterior mean.
The centres are then integrated out (Laplace), with u from the spread of the fitted ones, n_j the expected sizes, p the
number of columns, and so is W, S being the rows' scatter around their centres:

    log evidence ≈ log L - (k-1)/k p/2 Σ_j log(1 + n_j u) - (k-1) p/2 - (k-1)/2 log n
                         - log N(S | W) + log ∫ N(S | W) p(W) dW .

With the BIC each centre would cost p/2 log n, and W p (p+1)/4 log n; here centres that lie close together are cheaper,
so that many weak columns add up, and so is a shape that is nearly spherical.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

DEGREES_OF_FREEDOM = (4.0, 10.0, np.inf)  # that are tried
_MAX_ITERATIONS = 60
_FIRST_ITERATIONS = 15  # from the given partition
_TOLERANCE = 0.05  # of log L: differences between numbers of clusters are hundreds of times that
_NEGLIGIBLE = 40.0  # log evidence below the best, from which on a description adds nothing to their sum
_VARIANCE_STEPS = 10  # towards the best variance v of the prior
_MAX_COLUMNS = 200  # whose shape is learnt
_MIN_VARIANCE = 1e-9  # as a share of the rows' variance: copies of k rows would be described without end


class Shape(NamedTuple):
    """The covariance W of all components."""

    whitening: np.ndarray | float  # (p, p), or a number where components are spherical
    log_det: float
    n: int = 0  # rows that it was learnt from
    scatter: np.ndarray | None = None  # (p,) of these rows along its axes; None where components are spherical
    variance: float = 0.0  # v of the prior

    def standardise(self, rows: np.ndarray) -> np.ndarray:
        """The rows (…, p) where components are spherical and have unit variance."""
        return rows * self.whitening if isinstance(self.whitening, float) else rows @ self.whitening

    def cost(self) -> float:
        """log N(S | W) - log ∫ N(S | W) p(W) dW; 0 where components are spherical."""
        if self.scatter is None:
            return 0.0
        n, p, log_det = self.n, len(self.scatter), self.log_det
        weight, df = _shape_prior(p)
        spread = (self.scatter + weight * self.variance) / (n + weight)
        log_density = -0.5 * n * (p * np.log(2 * np.pi) + log_det) - 0.5 * (self.scatter / spread).sum()
        log_marginal = (
            -0.5 * n * p * np.log(np.pi)
            + _log_gamma_ratio(n, p)
            + 0.5 * df * p * np.log(weight * self.variance)
            - 0.5 * (df + n) * (log_det + p * np.log(n + weight))
        )
        return float(log_density - log_marginal)


class Mixture(NamedTuple):
    """A fitted mixture."""

    log_likelihood: float
    share: np.ndarray  # (n, k) of each component in each row
    centres: np.ndarray  # (k, p)
    shape: Shape

    def cost(self) -> float:
        """What is subtracted from the log likelihood to give the log evidence."""
        (n, k), p = self.share.shape, self.centres.shape[1]
        if k == 1:
            return self.shape.cost()
        apart = self.shape.standardise(self.centres - self.centres.mean(axis=0))
        signal = (apart**2).sum() / ((k - 1) * p)
        of_centres = (k - 1) / k * np.log1p(self.share.sum(axis=0) * signal).sum() + (k - 1)
        return float(0.5 * p * of_centres + 0.5 * (k - 1) * np.log(n) + self.shape.cost())


def mixture_evidence(
    rows: np.ndarray, labels: np.ndarray, expected: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(shapes, degrees of freedom) the log evidence of k components for rows (n, p), from labels (n,) 0 … k-1 on.

    And the component of each row (n,) in the best description. Of one column, and of very many, only spherical ones
    are looked at. The shape that `expected` has as the best, such as the evidence of fewer components, is fitted first:
    what is not expected to come near the best so far is not fitted to its end.
    """
    start = np.eye(int(labels.max()) + 1)[labels]
    first = fit_mixture(rows, start, DEGREES_OF_FREEDOM[0], max_iterations=_FIRST_ITERATIONS)
    shapes = (False, True) if 1 < rows.shape[1] <= _MAX_COLUMNS else (False,)
    evidence = np.full((len(shapes), len(DEGREES_OF_FREEDOM)), -np.inf)
    components = first.share.argmax(axis=1)
    in_order = range(len(shapes)) if expected is None else np.argsort(-expected.max(axis=1), kind="stable")
    for i in in_order:
        share = first.share
        for j, df in enumerate(DEGREES_OF_FREEDOM):
            found = fit_mixture(rows, share, df, shapes[i], min_evidence=evidence.max() - _NEGLIGIBLE)
            share = found.share
            now = found.log_likelihood - found.cost()
            if now >= evidence.max():
                components = share.argmax(axis=1)
            evidence[i, j] = now
    return evidence, components


def fit_mixture(
    rows: np.ndarray,
    share: np.ndarray,
    df: float,
    learn_shape: bool = False,
    max_iterations: int = _MAX_ITERATIONS,
    min_evidence: float = -np.inf,
) -> Mixture:
    """The mixture that expectation–maximisation finds from shares (n, k) of the components in the rows on.

    It ends early where as much gain in each further iteration as in the last would not lead to `min_evidence`.
    """
    p = rows.shape[1]
    squared_lengths = (rows**2).sum(axis=1)
    min_variance = max(_MIN_VARIANCE * float(squared_lengths.sum() / rows.size), 1e-290)
    constant = _log_constant(df, p)
    pull = np.ones_like(share)  # a row counts less for a component the farther it is away
    before = -np.inf
    for left in range(max_iterations - 1, -1, -1):
        counts = share * pull
        sums = np.maximum(counts.sum(axis=0), 1e-12)
        centres = (counts.T @ rows) / sums[:, None]
        if learn_shape:
            scatter = (rows * counts.sum(axis=1)[:, None]).T @ rows - (centres * sums[:, None]).T @ centres
            shape = _learnt_shape(scatter, len(rows), min_variance)
        else:
            within = (squared_lengths * counts.sum(axis=1)).sum() - (sums[:, None] * centres**2).sum()
            variance = max(within / rows.size, min_variance)
            shape = Shape(float(variance**-0.5), float(p * np.log(variance)))
        squared = _squared_distances(shape.standardise(rows), shape.standardise(centres))
        log_sizes = np.log(np.maximum(share.mean(axis=0), 1e-300)) + constant - 0.5 * shape.log_det
        share, pull, now = _expected(squared, log_sizes, df, p)
        found, gain, before = Mixture(now, share, centres, shape), now - before, now
        is_hopeless = min_evidence > -np.inf and now + left * gain - found.cost() < min_evidence
        if gain < _TOLERANCE or is_hopeless:
            break
    return found


def _expected(squared: np.ndarray, log_sizes: np.ndarray, df: float, p: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Shares (n, k) of components at squared distances (n, k), how much rows count for each, and log L."""
    if np.isinf(df):
        pull, share = np.ones_like(squared), log_sizes - 0.5 * squared
    else:
        pull, share = (df + p) / (df + squared), log_sizes - 0.5 * (df + p) * np.log1p(squared / df)
    highest = share.max(axis=1, keepdims=True)
    share -= highest  # of the log density; in place, as all of this is done thousands of times
    np.exp(share, out=share)
    total = share.sum(axis=1, keepdims=True)
    share /= total
    return share, pull, float((highest + np.log(total)).sum())


def _squared_distances(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    squared: np.ndarray = rows @ (-2.0 * centres.T)
    squared += (rows**2).sum(axis=1)[:, None]
    squared += (centres**2).sum(axis=1)
    np.maximum(squared, 0.0, out=squared)
    return squared


def _learnt_shape(scatter: np.ndarray, n: int, min_variance: float) -> Shape:
    """The posterior mean of W, given the scatter (p, p) of n rows around their centres."""
    p = len(scatter)
    along, axes = np.linalg.eigh(scatter)
    along = np.maximum(along, 0.0)
    weight, df = _shape_prior(p)
    variance = max(along.mean() / n, min_variance)
    for _ in range(_VARIANCE_STEPS):  # to the v of the highest evidence
        best = df * p / ((df + n) * weight * (1.0 / (along + weight * variance)).sum())
        variance = max(best, min_variance)
    spread = (along + weight * variance) / (n + weight)
    return Shape(axes / np.sqrt(spread), float(np.log(spread).sum()), n, along, variance)


def _shape_prior(p: int) -> tuple[int, int]:
    """The prior's weight in rows, and the degrees of freedom of the inverse Wishart density whose mean is v I."""
    return p + 2, 2 * p + 3


@cache
def _log_gamma_ratio(n: int, p: int) -> float:
    """log Γ_p((df + n) / 2) / Γ_p(df / 2), with the prior's degrees of freedom."""
    from scipy.special import multigammaln

    _, df = _shape_prior(p)
    return float(multigammaln(0.5 * (df + n), p) - multigammaln(0.5 * df, p))


def _log_constant(df: float, p: int) -> float:
    """Log density of the standard multivariate t in p dimensions at its centre."""
    if np.isinf(df):
        return float(-0.5 * p * np.log(2 * np.pi))
    from scipy.special import gammaln

    return float(gammaln(0.5 * (df + p)) - gammaln(0.5 * df) - 0.5 * p * np.log(df * np.pi))
