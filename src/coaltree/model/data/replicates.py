"""Rows that are one leaf, replicates or copies, merged at time 0; replicates have a variance each."""

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from ..covariance.base import Covariance, Statistics, Whitener
from ..process.diffusion import LOG_2PI


class Replicates(NamedTuple):
    """Which rows belong to which leaf, and the merges at time 0 that say so.

    Rows of a leaf share one value z. So a tree over n leaves stands for one over N rows with N - n merges at time 0, on
    which messages, likelihood, contrasts and missing entries are those of any tree (`diffusion`, `missing`); the
    coalescent's prior knows the n - 1 merges above them alone. Samplers see the n leaves: mean
    x̄_i = Σ_j x_ij / a_ij · a_i and variance a_i = 1 / Σ_j 1 / a_ij.
    """

    leaf: np.ndarray  # (N,) leaf of each row
    first: np.ndarray  # (n,) the first row of each leaf
    merges: np.ndarray  # (N - n, 2) of nodes, the rows being nodes 0 … N - 1
    node: np.ndarray  # (n,) the node of each leaf after them

    @property
    def n(self) -> int:
        """Number of leaves."""
        return len(self.node)

    def expand(self, children: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The trees (…, N-1, 2) and (…, N-1) over the rows that those over the leaves stand for."""
        if len(self.merges) == 0:
            return children, times
        n_rows, n_merges, stack = len(self.leaf), len(self.merges), times.shape[:-1]
        number = np.concatenate([self.node, n_rows + n_merges + np.arange(times.shape[-1])])
        merges = np.broadcast_to(self.merges, (*stack, n_merges, 2))
        return (
            np.concatenate([merges, number[children]], axis=-2),
            np.concatenate([np.zeros((*stack, n_merges)), times], axis=-1),
        )


def replicates_of(leaf: np.ndarray) -> Replicates:
    """`Replicates` from the leaf of each row, numbered 0 … n-1."""
    leaf = np.asarray(leaf, dtype=np.int64)
    first = np.unique(leaf, return_index=True)[1]
    node, merges = first.copy(), []
    for row in np.setdiff1d(np.arange(len(leaf)), first):
        merges.append((node[leaf[row]], row))
        node[leaf[row]] = len(leaf) + len(merges) - 1
    return Replicates(leaf, first, np.array(merges, dtype=np.int64).reshape(-1, 2), node)


class Collapsed(NamedTuple):
    """Leaves in place of rows, and what the rows say of one another: Σ log v and Σ ε / v over the merges at time 0."""

    mean: np.ndarray  # (n, p)
    var: np.ndarray  # (n,)
    log_v: float
    quotient: float


def collapse(W: np.ndarray, row_var: np.ndarray, replicates: Replicates) -> Collapsed:
    """The leaves' messages from those of their rows."""
    leaf, rows = replicates.leaf, np.arange(len(W))
    var = 1.0 / np.bincount(leaf, 1.0 / row_var)
    mean = W[replicates.first]  # rows are compared with the first one, for the digits of small differences
    mean += csr_array((var[leaf] / row_var, (leaf, rows))) @ (W - mean[leaf])
    quotient = np.square(W - mean[leaf]).sum(axis=1) @ (1.0 / row_var)
    return Collapsed(mean, var, float(np.log(row_var).sum() - np.log(var).sum()), float(quotient))


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
    from pandas import DataFrame

    return np.asarray(DataFrame(values).groupby(leaf).mean())
