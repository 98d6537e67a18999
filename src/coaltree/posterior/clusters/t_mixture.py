"""How well k clouds of one shape describe the rows of a table: a mixture with heavy tails, and the evidence for it.

In the metric of the fitted covariance the rows of a cluster are a cloud of the same shape W for all, so that

    x_i ~ Σ_j π_j t_ν(c_j, W) ,   c_j ~ N(m, u W) ,   j = 1 … k ,   ν = 4, 10 or ∞ (normal) ,

W round, v I, or learnt: an inverse Wishart prior with mean v I that counts as much as p + 2 rows, v the best one. The
metric cannot be right where the covariance could not be learnt in full; one long cloud would then be
described better by several round ones.

The likelihood L is maximised by expectation–maximisation, which starts from partitions given; W is its posterior mean.
The centres are then integrated out (Laplace), with u from the spread of the fitted ones, n_j the expected sizes, p the
number of columns, and so is W, S being the rows' scatter around their centres:

    log evidence ≈ log L - (k-1)/k p/2 Σ_j log(1 + n_j u) - (k-1) p/2 - (k-1)/2 log n
                         - log N(S | W) + log ∫ N(S | W) p(W) dW .

With the BIC each centre would cost p/2 log n, and W p (p+1)/4 log n; here centres that lie close together are cheaper,
so that many weak columns add up, and so is a shape that is nearly round.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit

TAILS = (4.0, 10.0, np.inf)  # degrees of freedom that are tried
_MOST_ROUNDS = 60
_ROUNDS_OF_STARTS = 15  # after which they are compared
_TOLERANCE = 0.05  # of log L: differences between numbers of clusters are hundreds of times that
_STEPS = 10
_MOST_COLUMNS = 200  # whose shape is learnt
_LEAST_VARIANCE = 1e-9  # as a share of the rows' variance: copies of k rows would be described without end


class Table(NamedTuple):
    """Rows, with what every step wants to know of them."""

    rows: np.ndarray  # (n, p)
    squared: np.ndarray  # (n,) lengths
    least_variance: float


class Mixture(NamedTuple):
    """A fitted mixture."""

    log_likelihood: float
    share: np.ndarray  # (n, k) of each cloud in each row
    centres: np.ndarray  # (k, p)
    shape: "Shape"


class Shape(NamedTuple):
    """The covariance W of all clouds."""

    whitening: np.ndarray | float  # (p, p), or a number where clouds are round
    log_det: float
    learnt: "Learnt | None" = None

    def standardise(self, rows: np.ndarray) -> np.ndarray:
        """The rows (…, p) where clouds are round and have unit variance."""
        return rows * self.whitening if isinstance(self.whitening, float) else rows @ self.whitening


class Learnt(NamedTuple):
    """What is known of a learnt shape: a posterior mean and the prior."""

    n: int
    along: np.ndarray  # (p,) scatter along its axes
    spread: np.ndarray  # (p,) variance along them
    variance: float  # v of the prior

    def cost(self) -> float:
        """log N(S | W) - log ∫ N(S | W) p(W) dW ."""
        from scipy.special import multigammaln

        n, p, log_det = self.n, len(self.along), np.log(self.spread).sum()
        weight, df = _prior_of_shape(p)
        log_density = -0.5 * n * (p * np.log(2 * np.pi) + log_det) - 0.5 * (self.along / self.spread).sum()
        log_marginal = (
            -0.5 * n * p * np.log(np.pi)
            + multigammaln(0.5 * (df + n), p)
            - multigammaln(0.5 * df, p)
            + 0.5 * df * p * np.log(weight * self.variance)
            - 0.5 * (df + n) * (log_det + p * np.log(n + weight))
        )
        return float(log_density - log_marginal)


def as_table(rows: np.ndarray) -> Table:
    """Rows (n, p) as a `Table`."""
    squared = (rows**2).sum(axis=1)
    return Table(rows, squared, max(_LEAST_VARIANCE * float(squared.sum() / rows.size), 1e-290))


def describe(rows: np.ndarray, starts: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(shapes, tails) the log evidence of k clouds for rows (n, p), the best of starts (n,) with labels 0 … k-1.

    And the cloud of each row (n,) in the best description. The starts compete as round clouds with the heaviest tails;
    the others go on from the winner. Of one column, and of very many, only round clouds are looked at.
    """
    table = as_table(rows)
    begun = (_fitted(table, _shares(start), TAILS[0], most_rounds=_ROUNDS_OF_STARTS) for start in starts)
    first = max(begun, key=lambda one: one.log_likelihood)
    shapes = (_round, _learnt) if 1 < rows.shape[1] <= _MOST_COLUMNS else (_round,)
    evidence, clouds = np.full((len(shapes), len(TAILS)), -np.inf), first.share.argmax(axis=1)
    for i, shape_of in enumerate(shapes):
        share = first.share
        for j, df in enumerate(TAILS):
            found = _fitted(table, share, df, shape_of)
            share = found.share
            now = found.log_likelihood - _cost(found)
            if now >= evidence.max():
                clouds = share.argmax(axis=1)
            evidence[i, j] = now
    return evidence, clouds


def _cost(mixture):
    n, k = mixture.share.shape
    of_shape = 0.0 if mixture.shape.learnt is None else mixture.shape.learnt.cost()
    if k == 1:
        return of_shape
    p = mixture.centres.shape[1]
    apart = mixture.shape.standardise(mixture.centres - mixture.centres.mean(axis=0))
    signal = (apart**2).sum() / ((k - 1) * p)
    of_centres = (k - 1) / k * np.log1p(mixture.share.sum(axis=0) * signal).sum() + (k - 1)
    return 0.5 * p * of_centres + 0.5 * (k - 1) * np.log(n) + of_shape


def _shares(labels):
    return np.eye(int(labels.max()) + 1)[labels]


def _fitted(table, share, df, shape_of=None, most_rounds=_MOST_ROUNDS):
    """The mixture with tails `df` that expectation–maximisation finds from the shares given; round by default."""
    rows, share = table.rows, share.copy()
    constant = _log_constant(df, rows.shape[1])
    pull = np.ones_like(share)  # a row counts less for a cloud the farther it is away
    before = -np.inf
    for _ in range(most_rounds):
        counts = share * pull
        sums = np.maximum(counts.sum(axis=0), 1e-12)
        centres = (counts.T @ rows) / sums[:, None]
        shape = (shape_of or _round)(table, counts, centres, sums)
        squared = _squared_distances(shape.standardise(rows), shape.standardise(centres))
        log_sizes = np.log(np.maximum(share.mean(axis=0), 1e-300)) + constant - 0.5 * shape.log_det
        now = _expect(squared, log_sizes, df, rows.shape[1], share, pull)
        if now - before < _TOLERANCE:
            break
        before = now
    return Mixture(now, share, centres, shape)


@jit
def _expect(squared, log_sizes, df, p, share, pull):
    """Fill in the shares of clouds in rows at squared distances (n, k), and how much they count; return log L."""
    n, k = squared.shape
    log_likelihood = 0.0
    for i in range(n):
        highest = -np.inf
        for j in range(k):
            if df < np.inf:
                pull[i, j] = (df + p) / (df + squared[i, j])
                share[i, j] = log_sizes[j] - 0.5 * (df + p) * np.log1p(squared[i, j] / df)
            else:
                share[i, j] = log_sizes[j] - 0.5 * squared[i, j]
            highest = max(highest, share[i, j])
        total = 0.0
        for j in range(k):
            share[i, j] = np.exp(share[i, j] - highest)
            total += share[i, j]
        for j in range(k):
            share[i, j] /= total
        log_likelihood += highest + np.log(total)
    return log_likelihood


def _squared_distances(rows, centres):
    squared = (rows**2).sum(axis=1)[:, None] - 2.0 * rows @ centres.T + (centres**2).sum(axis=1)
    return np.maximum(squared, 0.0)


def _round(table, counts, centres, sums):
    """W = v I."""
    n, p = table.rows.shape
    within = (table.squared * counts.sum(axis=1)).sum() - (sums[:, None] * centres**2).sum()
    variance = max(within / (n * p), table.least_variance)
    return Shape(float(variance**-0.5), float(p * np.log(variance)))


def _learnt(table, counts, centres, sums):
    """The posterior mean of W."""
    n, p = table.rows.shape
    scatter = (table.rows * counts.sum(axis=1)[:, None]).T @ table.rows - (centres * sums[:, None]).T @ centres
    along, axes = np.linalg.eigh(scatter)
    along = np.maximum(along, 0.0)
    weight, df = _prior_of_shape(p)
    variance = max(along.mean() / n, table.least_variance)
    for _ in range(_STEPS):  # to the v of the highest evidence
        best = df * p / ((df + n) * weight * (1.0 / (along + weight * variance)).sum())
        variance = max(best, table.least_variance)
    spread = (along + weight * variance) / (n + weight)
    return Shape(axes / np.sqrt(spread), float(np.log(spread).sum()), Learnt(n, along, spread, variance))


def _prior_of_shape(p):
    """The prior's weight in rows, and the degrees of freedom of the inverse Wishart density whose mean is v I."""
    return p + 2, 2 * p + 3


def _log_constant(df, p):
    """Log density of the standard multivariate t in p dimensions at its centre."""
    if np.isinf(df):
        return -0.5 * p * np.log(2 * np.pi)
    from scipy.special import gammaln

    return gammaln(0.5 * (df + p)) - gammaln(0.5 * df) - 0.5 * p * np.log(df * np.pi)
