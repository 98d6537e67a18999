"""How well k round clouds describe the rows of a table: a mixture with heavy tails, and the evidence for it.

In the metric of the fitted covariance the rows of a cluster are a round cloud of the same width for all, so that

    x_i ~ Σ_j π_j t_ν(c_j, v I) ,   c_j ~ N(m, u I) ,   j = 1 … k ,   ν = 4, 10 or ∞ (normal)

The likelihood L is maximised by expectation–maximisation, which starts from partitions given. The centres are then
integrated out (Laplace), with u the variance of the fitted ones, n_j the expected sizes, p the number of columns:

    log evidence ≈ log L - (k-1)/k p/2 Σ_j log(1 + n_j u / v) - (k-1) p/2 - (k-1)/2 log n .

With the BIC each centre would cost p/2 log n; here centres that lie close together are cheaper, so that many weak
columns add up.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

TAILS = (4.0, 10.0, np.inf)  # degrees of freedom that are tried
_MOST_ROUNDS = 60
_TOLERANCE = 0.01  # of log L: differences between numbers of clusters are hundreds of times that
_LEAST_VARIANCE = 1e-9  # as a share of the rows' variance: copies of k rows would be described without end


class Mixture(NamedTuple):
    """A fitted mixture."""

    log_likelihood: float
    share: np.ndarray  # (n, k) of each cloud in each row
    centres: np.ndarray  # (k, p)
    variance: float


def log_evidence(rows: np.ndarray, starts: Iterable[np.ndarray]) -> np.ndarray:
    """(3,) the log evidence of k clouds for rows (n, p), by tails, the best of several starts (n,) with labels 0 … k-1.

    The starts compete with the heaviest tails; lighter ones go on from the winner.
    """
    best = max((_fitted(rows, _shares(start), TAILS[0]) for start in starts), key=lambda one: one.log_likelihood)
    found = [best]
    for df in TAILS[1:]:
        found.append(_fitted(rows, found[-1].share, df))
    return np.array([one.log_likelihood - _cost(one) for one in found])


def _cost(mixture):
    n, k = mixture.share.shape
    if k == 1:
        return 0.0
    p = mixture.centres.shape[1]
    apart = mixture.centres - mixture.centres.mean(axis=0)
    signal = (apart**2).sum() / ((k - 1) * p) / mixture.variance
    of_centres = (k - 1) / k * np.log1p(mixture.share.sum(axis=0) * signal).sum() + (k - 1)
    return 0.5 * p * of_centres + 0.5 * (k - 1) * np.log(n)


def _shares(labels):
    return np.eye(int(labels.max()) + 1)[labels]


def _fitted(rows, share, df):
    """The mixture with tails `df` that expectation–maximisation finds from the shares given."""
    n, p = rows.shape
    squares = (rows**2).sum(axis=1)[:, None]
    least = _LEAST_VARIANCE * max(squares.mean() / p, 1e-300)
    pull = np.ones_like(share)  # a row counts less for a cloud the farther it is away
    before = -np.inf
    for _ in range(_MOST_ROUNDS):
        counts = share * pull
        centres = (counts.T @ rows) / np.maximum(counts.sum(axis=0), 1e-12)[:, None]
        squared = np.maximum(squares - 2.0 * rows @ centres.T + (centres**2).sum(axis=1), 0.0)
        variance = max((counts * squared).sum() / (n * p), least)
        log_density = _log_student(squared / variance, df, p) - 0.5 * p * np.log(variance)
        if np.isfinite(df):
            pull = (df + p) / (df + squared / variance)
        log_density += np.log(np.maximum(share.mean(axis=0), 1e-300))
        highest = log_density.max(axis=1, keepdims=True)
        share = np.exp(log_density - highest)
        total = share.sum(axis=1, keepdims=True)
        share /= total
        now = float((highest + np.log(total)).sum())
        if now - before < _TOLERANCE:
            break
        before = now
    return Mixture(now, share, centres, variance)


def _log_student(squared, df, p):
    """Log density of the standard multivariate t in p dimensions at squared distances from its centre."""
    if np.isinf(df):
        return -0.5 * squared - 0.5 * p * np.log(2 * np.pi)
    from scipy.special import gammaln

    constant = gammaln(0.5 * (df + p)) - gammaln(0.5 * df) - 0.5 * p * np.log(df * np.pi)
    return constant - 0.5 * (df + p) * np.log1p(squared / df)
