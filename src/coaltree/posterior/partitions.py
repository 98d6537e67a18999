"""Partitions that a posterior over trees implies.

Cutting every tree gives partitions s_1 … s_T of the n leaves with weights w_t, as labels (T, n), and

    co-clustering       P_ij = Σ_t w_t [s_t(i) = s_t(j)] .

Where the rows are known, a stray (see `tree.cuts`) is given in every tree to the cluster with the nearest centre,
without the strays; otherwise to the cluster that it merges with first. Where outliers are to be named and the rows are
known, a leaf is one, label -1, stray or not, if its squared distance from the nearest centre is

    > q_0.99 / q_0.5 · max(median of that cluster's own leaves, median of all leaves that are no strays),

q the quantiles of F with p and 4 degrees of freedom: too far even for one row in a hundred of a cloud with the heavy
tails that noise has by default. (Under such noise odd rows hang inside the clusters: few of them are strays.) Without
rows every stray is an outlier. An outlier is with nobody.
"""

from typing import TYPE_CHECKING

import numpy as np

from .._runtime.jit import jit
from .._runtime.memory import require_memory
from ..model.replicates import collapse, replicates_of
from ..tree.cuts import cut_trees
from ..tree.merges import Cut

if TYPE_CHECKING:
    from .posterior import Posterior

_LABEL_BLOCK_BYTES = 32e6
_USUAL_DF, _FAR = 4.0, 0.99  # degrees of freedom of a cloud, and the share of its rows that are no outliers
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


def cut_labels(
    children: np.ndarray, times: np.ndarray, how: Cut, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(T, n) labels of each tree, numbered in order of first leaf, -1 for outliers; and the least sizes (T,) used."""
    if how.n_clusters is not None:
        n_splits = np.full(len(times), how.n_clusters - 1)
    else:
        n_splits = np.count_nonzero(times > how.time, axis=1)
    labels, used = cut_trees(children, n_splits, how.min_size)
    if how.min_size > 1:
        if rows is not None:
            limit = _far(rows.shape[1]) if how.outliers else np.inf
            _join_nearest(labels, np.ascontiguousarray(rows, dtype=np.float64), limit)
        _settle(labels, how.outliers)
    return labels, used


def coclustering(
    children: np.ndarray, times: np.ndarray, weights: np.ndarray, how: Cut, rows: np.ndarray | None = None
) -> np.ndarray:
    """(n, n) P_ij; the trees go by in blocks, so that memory is n²."""
    n = times.shape[1] + 1
    require_memory(8 * n * n, f"The co-clustering matrix of {n} leaves", "cut() and membership() need none")
    together = np.zeros((n, n))
    block = max(1, int(_LABEL_BLOCK_BYTES / (4 * n)))
    for start in range(0, len(times), block):
        these = slice(start, start + block)
        add_coclustering(together, cut_labels(children[these], times[these], how, rows)[0], weights[these])
    return _symmetric(together)


def coclustering_of(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n, n) P_ij of partitions (T, n)."""
    together = np.zeros((labels.shape[1], labels.shape[1]))
    add_coclustering(together, *distinct(labels, weights))  # where clusters are clear, trees agree
    return _symmetric(together)


def _symmetric(together):
    together = np.triu(together, 1)
    together += together.T
    np.fill_diagonal(together, 1.0)
    return np.minimum(together, 1.0)


def distinct(labels: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of labels (T, n) in order of first occurrence, with the sums of their weights."""
    position: dict[bytes, int] = {}
    where = np.array([position.setdefault(row.tobytes(), len(position)) for row in labels])
    _, first = np.unique(where, return_index=True)
    return labels[first], np.bincount(where, weights=weights)


def renumbered(labels: np.ndarray) -> np.ndarray:
    """Number the clusters of each row in order of first leaf, in place; -1 stays."""
    _settle(labels, True)
    return labels


def _far(p):
    """How many times the median squared distance from its centre an outlier is away, in p dimensions."""
    from scipy.special import fdtri

    return float(fdtri(p, _USUAL_DF, _FAR) / fdtri(p, _USUAL_DF, 0.5))


@jit
def _join_nearest(labels, rows, limit):
    """Give each stray, label ~c, to the cluster whose other leaves have the nearest mean; ties stay with c.

    With a finite limit, a leaf whose squared distance from the nearest mean is more than so many times the usual one is
    a stray, label ~c, and all others are members, label c.
    """
    n_trees, n = labels.shape
    p = rows.shape[1]
    centre, size, usual = np.empty((n, p)), np.empty(n), np.empty(n)
    own, nearest, to_nearest = np.empty(n), np.empty(n, np.int64), np.empty(n)
    for t in range(n_trees):
        k, n_strays = 0, 0
        for label in labels[t]:
            k = max(k, label + 1, ~label + 1)
            n_strays += label < 0
        if n_strays == 0 and limit == np.inf:
            continue
        centre[:k], size[:k] = 0.0, 0.0
        for i in range(n):
            a = labels[t, i]
            if a >= 0:
                size[a] += 1.0
                for j in range(p):
                    centre[a, j] += rows[i, j]
        for a in range(k):
            for j in range(p):
                centre[a, j] /= size[a]
        for i in range(n):
            if labels[t, i] >= 0 and limit == np.inf:
                continue
            nearest[i] = labels[t, i] if labels[t, i] >= 0 else ~labels[t, i]
            own[i] = to_nearest[i] = _squared_distance(rows[i], centre[nearest[i]])
            for a in range(k):
                distance = _squared_distance(rows[i], centre[a])
                if distance < to_nearest[i]:
                    nearest[i], to_nearest[i] = a, distance
        if limit == np.inf:
            for i in range(n):
                if labels[t, i] < 0:
                    labels[t, i] = ~nearest[i]
            continue
        of_all = np.median(own[labels[t] >= 0])
        for a in range(k):
            usual[a] = limit * max(of_all, np.median(own[labels[t] == a]))
        for i in range(n):
            a = nearest[i]
            if to_nearest[i] > usual[a]:
                labels[t, i] = ~a
            elif labels[t, i] < 0:
                labels[t, i] = a


@jit
def _squared_distance(x, y):
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - y[j]) ** 2
    return total


@jit
def _settle(labels, outliers):
    """Give strays to their clusters, or name them -1, and number clusters in order of first leaf."""
    n_trees, n = labels.shape
    number = np.empty(n, np.int32)
    for t in range(n_trees):
        number[:] = -1
        count = 0
        for i in range(n):
            c = labels[t, i]
            if c < 0 and outliers:
                labels[t, i] = -1
                continue
            if c < 0:
                c = ~c
            if number[c] < 0:
                number[c] = count
                count += 1
            labels[t, i] = number[c]


@jit
def _add_matches(row, label, labels, weight):
    for j in range(len(row)):
        row[j] += weight if labels[j] == label else 0.0


@jit
def add_coclustering(together, labels, weights):
    """Add Σ_t w_t [s_t(i) = s_t(j)] to the entries j > i, a tile of rows at a time."""
    n = len(together)
    for start in range(0, n, _TILE):
        for t in range(len(labels)):
            for i in range(start, min(start + _TILE, n)):
                if labels[t, i] >= 0:
                    _add_matches(together[i, i + 1 :], labels[t, i], labels[t, i + 1 :], weights[t])
