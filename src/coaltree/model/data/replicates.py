"""Replicates: several rows that measure the same leaf, merged at time 0, each with its own variance."""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..covariance.base import Covariance, Statistics, Whitener
from ..process.diffusion import LOG_2PI, join


class Replicates(NamedTuple):
    """Which rows belong to which leaf, and the merges at time 0 that say so.

    Rows of a leaf share one value z. So a tree over n leaves stands for one over N rows with N - n merges at time 0, on
    which messages, likelihood, contrasts and missing entries are those of any tree (`diffusion`, `missing`); the
    coalescent's prior knows the n - 1 merges above them alone. Samplers see the n leaves: mean
    x̄_i = Σ_j x_ij / a_ij · a_i and variance a_i = 1 / Σ_j 1 / a_ij.
    """

    leaf: np.ndarray  # (N,) leaf of each row
    rows: np.ndarray  # (N,) rows, those of leaf 0 first
    start: np.ndarray  # (n + 1,) where each leaf's rows start in `rows`
    merges: np.ndarray  # (N - n, 2) of nodes, the rows being nodes 0 … N - 1
    node: np.ndarray  # (n,) the node of each leaf after them

    @property
    def n(self) -> int:
        """Number of leaves."""
        return len(self.node)

    def expand(self, children: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tree over the rows that one over the leaves stands for."""
        n_rows, n_merges = len(self.leaf), len(self.merges)
        number = np.concatenate([self.node, n_rows + n_merges + np.arange(len(times))])
        return np.concatenate([self.merges, number[children]]), np.concatenate([np.zeros(n_merges), times])


def replicates_of(leaf: np.ndarray) -> Replicates:
    """`Replicates` from the leaf of each row, numbered 0 … n-1."""
    leaf = np.asarray(leaf, dtype=np.int64)
    rows = np.argsort(leaf, kind="stable")
    counts = np.bincount(leaf)
    start = np.concatenate([[0], np.cumsum(counts)])
    node, merges = rows[start[:-1]].copy(), []
    for i in range(len(counts)):
        for row in rows[start[i] + 1 : start[i + 1]]:
            merges.append((node[i], row))
            node[i] = len(leaf) + len(merges) - 1
    return Replicates(leaf, rows, start, np.array(merges, dtype=np.int64).reshape(-1, 2), node)


class Collapsed(NamedTuple):
    """Leaves in place of rows, and what the rows say of one another: Σ log v and Σ ε / v over the merges at time 0."""

    mean: np.ndarray  # (n, p)
    var: np.ndarray  # (n,)
    log_v: float
    quotient: float


def collapse(W: np.ndarray, row_var: np.ndarray, replicates: Replicates) -> Collapsed:
    """The leaves' messages from those of their rows."""
    mean, var = np.empty((replicates.n, W.shape[1])), np.empty(replicates.n)
    log_v, quotient = _collapse(np.ascontiguousarray(W), row_var, replicates.rows, replicates.start, mean, var)
    return Collapsed(mean, var, log_v, quotient)


@jit
def _collapse(
    W: np.ndarray, row_var: np.ndarray, rows: np.ndarray, start: np.ndarray, mean: np.ndarray, var: np.ndarray
) -> tuple[float, float]:
    log_v, quotient = 0.0, 0.0
    for i in range(var.size):
        first = rows[start[i]]
        mean[i] = W[first]
        var[i] = row_var[first]
        for place in range(start[i] + 1, start[i + 1]):
            row = rows[place]
            v, w_leaf, _, joined = join(var[i], row_var[row])
            squared = 0.0
            for f in range(W.shape[1]):
                difference = mean[i, f] - W[row, f]
                squared += difference * difference
                mean[i, f] = W[row, f] + w_leaf * difference
            var[i] = joined
            log_v += math.log(v)
            quotient += squared / v
    return log_v, quotient


class Within(NamedTuple):
    """What rows of the same leaf say of noise and covariance: M contrasts, independent N(0, λ Φ)."""

    rows: np.ndarray  # (q, d) with Σ u uᵀ = rowsᵀ rows, q <= d
    n: int  # M
    log_v: float  # Σ log v of their merges at λ = 1

    def statistics(self, covariance: Covariance, U: np.ndarray, level: float) -> Statistics:
        """What an update of the covariance needs of these contrasts and of U (m, d), which are N(0, Φ)."""
        of_rows = covariance.statistics(np.concatenate([U, self.rows / math.sqrt(level)]))
        return of_rows._replace(n=of_rows.n + self.n - len(self.rows))  # all others are rotated to 0, and count

    def log_density(self, whitener: Whitener, level: float) -> float:
        """Log density of the contrasts."""
        d = int(self.rows.shape[1])
        W = whitener.whiten(self.rows)
        log_v = self.log_v + self.n * math.log(level)
        return -0.5 * (self.n * (d * LOG_2PI + float(whitener.log_det)) + d * log_v + float(np.vdot(W, W)) / level)


def within_leaves(values: np.ndarray, error2: np.ndarray, replicates: Replicates) -> tuple[Collapsed, Within]:
    """The leaves' means and variances at λ = 1, and what is left of their rows.

    Under normal noise the variances have known ratios, a_ij = λ r_ij, and rows enter by sums alone: the leaves' means,
    whose variances are λ / Σ_j 1 / r_ij, and the N - n contrasts between rows of a leaf, independent N(0, λ Φ), of
    which Σ u uᵀ is enough. So an iteration costs the same for a dozen rows a leaf and for thousands.
    """
    centred = np.ascontiguousarray(values - values.mean(axis=0))  # for the digits of sums of squares
    leaves = collapse(centred, error2, replicates)
    # Σ_j (x_j - x̄)(x_j - x̄)ᵀ / r_j of a leaf is Σ u uᵀ of its contrasts.
    residual = (centred - leaves.mean[replicates.leaf]) / np.sqrt(error2)[:, None]
    rows = np.asarray(np.linalg.qr(residual, mode="r"))
    within = Within(np.ascontiguousarray(rows), len(values) - replicates.n, leaves.log_v)
    return leaves._replace(mean=leaves.mean + values.mean(axis=0)), within


def leaf_means(values: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """(n, d) mean of the rows of each leaf over what is observed; NaN where nothing is."""
    seen = ~np.isnan(values)
    total, number = np.zeros((2, int(leaf.max()) + 1, values.shape[1]))
    np.add.at(total, leaf, np.where(seen, values, 0.0))
    np.add.at(number, leaf, seen)
    return np.where(number > 0, total / np.maximum(number, 1.0), np.nan)
