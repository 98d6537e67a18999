"""Partitions of the leaves by cutting the mean tree, or every tree of a posterior, and how often leaves are together.

Cutting every tree (`tree.cuts`) gives partitions s_1 … s_T of the n leaves with weights w_t, as labels (T, n), and

    co-clustering       P_ij = Σ_t w_t [s_t(i) = s_t(j)] .

Where outliers are to be named and the rows are known, a leaf is one, label -1, if its squared distance from the nearest
centre of a cluster, side branches not counted, is

    > q_0.99 / q_0.5 · max(median of that cluster's own leaves, median of all leaves that are in no side branch),

q the quantiles of F with p and 4 degrees of freedom: too far even for one row in a hundred of a cluster with the heavy
tails that noise has by default. (Under such noise outlying rows hang inside the clusters: few of them are side
branches.) Without rows every side branch is an outlier. An outlier is with nobody.
"""

from typing import TYPE_CHECKING

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ...model.data.replicates import collapse, replicates_of
from ...tree.cuts import Cut, cut_trees

if TYPE_CHECKING:
    from ..posterior import Posterior

_LABEL_BLOCK_BYTES = 32e6  # of the labels of trees that are cut together
_CLUSTER_DF, _MIN_OUTLIER_QUANTILE = 4.0, 0.99  # degrees of freedom of a cluster; beyond which quantile is an outlier
_TILE = 32  # rows of the co-clustering matrix that stay in cache while the trees go by


def whitened_rows(posterior: "Posterior") -> np.ndarray | None:
    """(n, p) the leaves' values as the covariance sees them; None where they are not known.

    Missing entries are those of the draw of highest log joint, the covariance has the posterior mean of its parameters.
    """
    if posterior.X is None or posterior.covariance is None:
        return None
    joint = posterior.weights if posterior.log_joint is None else posterior.log_joint
    draw = int(np.argmax(np.where((posterior.weights > 0) & ~np.isnan(joint), joint, -np.inf)))
    values = posterior.model_values(draw)
    if posterior.groups is not None:
        values = collapse(values, posterior.row_variances(draw), replicates_of(posterior.groups)).mean
    if not np.isfinite(values).all():
        return None
    n, d = values.shape
    known = [name for name in posterior.covariance.parameters if name in posterior.theta]
    mean = {name: np.tensordot(posterior.weights, posterior.theta[name], 1) for name in known}
    rows = posterior.covariance.with_theta(mean).whitener(d).whiten(values - values.mean(axis=0))
    if d > n:  # the same distances, in fewer columns
        rows = np.ascontiguousarray(np.linalg.qr(rows.T).R.T)
    return rows


def cut_labels(children: np.ndarray, times: np.ndarray, how: Cut, rows: np.ndarray | None = None) -> np.ndarray:
    """(T, n) labels of each tree, numbered in order of first leaf, -1 for outliers, which `rows` (n, p) tell."""
    if how.n_clusters is not None:
        n_splits = np.full(len(times), how.n_clusters - 1)
    else:
        n_splits = np.count_nonzero(times > how.time, axis=1)
    labels, _ = cut_trees(children, n_splits, how.min_sizes)
    if how.outliers and rows is not None:
        for tree in labels:
            tree[:] = np.where(is_outlier(tree, rows), -1, np.maximum(tree, ~tree))
        return labels
    return labels if how.min_sizes[0] == 1 else np.where(labels >= 0, labels, -1 if how.outliers else ~labels)


def is_outlier(labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(n,) which of the rows (n, p) lie far from every cluster; side branches have labels ~c, as of `cut_trees`."""
    cluster, core = np.maximum(labels, ~labels), labels >= 0
    shares = np.eye(int(cluster.max()) + 1)[cluster] * core[:, None]
    centres = (shares.T @ rows) / shares.sum(axis=0)[:, None]
    squared = np.column_stack([np.square(rows - centre).sum(axis=1) for centre in centres])
    own = squared[np.arange(len(rows)), cluster]
    usual = [np.median(own[core & (cluster == c)]) for c in range(len(centres))]
    limit = _outlier_factor(rows.shape[1]) * np.maximum(usual, np.median(own[core]))
    return np.asarray(squared.min(axis=1) > limit[squared.argmin(axis=1)])


def coclustering(posterior: "Posterior", how: Cut) -> np.ndarray:
    """(n, n) P_ij; the trees go by in blocks, so that memory is n²."""
    n, rows = posterior.n, posterior.whitened_rows if how.outliers else None
    require_memory(8 * n * n, f"The co-clustering matrix of {n} leaves", "cut() and membership() need none")
    together = np.zeros((n, n))
    block = max(1, int(_LABEL_BLOCK_BYTES / (4 * n)))
    for start in range(0, len(posterior), block):
        these = slice(start, start + block)
        labels = cut_labels(posterior.children[these], posterior.times[these], how, rows)
        add_coclustering(together, labels, posterior.weights[these])
    together = np.triu(together, 1)
    together += together.T
    np.fill_diagonal(together, 1.0)
    return np.asarray(np.minimum(together, 1.0))


def adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    """Adjusted Rand index of two partitions, labels (n,) from 0: 1 where they are equal, about 0 by chance."""
    table = np.bincount(a * (int(b.max()) + 1) + b, minlength=(int(a.max()) + 1) * (int(b.max()) + 1))
    table = table.reshape(int(a.max()) + 1, -1)
    both, first, second = (_pairs(counts) for counts in (table, table.sum(axis=1), table.sum(axis=0)))
    expected = first * second / max(_pairs(np.array([len(a)])), 1.0)
    most = 0.5 * (first + second)
    return 1.0 if most == expected else float((both - expected) / (most - expected))


def _pairs(counts: np.ndarray) -> float:
    """Σ c (c - 1) / 2"""
    counts = counts.astype(np.float64)
    return float((0.5 * counts * (counts - 1.0)).sum())


def _outlier_factor(p: int) -> float:
    """How many times the median squared distance from its centre an outlier is away, in p dimensions."""
    from scipy.special import fdtri

    return float(fdtri(p, _CLUSTER_DF, _MIN_OUTLIER_QUANTILE) / fdtri(p, _CLUSTER_DF, 0.5))


@jit
def _add_matches(row: np.ndarray, label: int, labels: np.ndarray, weight: float) -> None:
    for j in range(len(row)):
        row[j] += weight if labels[j] == label else 0.0


@jit
def add_coclustering(together: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> None:
    """Add Σ_t w_t [s_t(i) = s_t(j)] to the entries j > i, a tile of rows at a time."""
    n = len(together)
    for start in range(0, n, _TILE):
        for t in range(len(labels)):
            for i in range(start, min(start + _TILE, n)):
                if labels[t, i] >= 0:
                    _add_matches(together[i, i + 1 :], labels[t, i], labels[t, i + 1 :], weights[t])
