"""The partition that disagrees least with all those of a posterior.

For partitions s_1 … s_T with weights w_t, the expected loss of a partition c is, up to a factor and a constant,

    L(c) = Σ_a f(n_a) - 2 Σ_t w_t Σ_ab f(n_tab) ,      f(x) = x (x - 1) / 2    Binder: pairs joined by one of the two
                                                       f(x) = x log x          variation of information, times n

n_a, n_tab: sizes of the clusters of c, and of their intersections with those of s_t. An outlier, label -1, is a cluster
of its own, and as f(1) = 0 it adds nothing. With co-clustering probabilities P Binder's loss is
Σ_{i<j} [c_i = c_j] (1 - 2 P_ij). By Jensen's inequality the variation of information is at least
const + Σ_i (log n_c(i) - 2 log Σ_j P_ij [c_j = c_i]) (Wade & Ghahramani 2018), used only to choose whom to score.
"""

from collections.abc import Sequence

import numpy as np

from .._runtime.checks import check_choice
from .._runtime.jit import jit
from ..tree import Tree
from ..tree.cuts import cut_trees
from ..tree.merges import canonical
from .partitions import distinct, renumbered

LOSSES = ("binder", "vi")
LARGEST_DENSE = 5000  # leaves up to which candidates from the co-clustering matrix are worth n² memory
_EXACT_WORK = 3e8  # table updates for scoring candidates exactly
_N_SCORED = 32  # candidates scored exactly where there are too many
_MOST_IMPROVED = 64  # of the best candidates, improved leaf by leaf; they end in different optima
_FEWEST_IMPROVED = 3
_MORE = 64  # clusters beyond those of any candidate that moves of single leaves may make
_TABLE_CELLS = 5e7  # intersection counts kept for improving without P
_MOVE_WORK = 2e9  # looks at a cluster of a sampled partition, or at a pair of leaves, while improving
_MAX_SWEEPS = 50
_USUAL_SWEEPS = 10


def best_partition(
    labels: np.ndarray,
    weights: np.ndarray,
    *,
    loss: str = "binder",
    together: np.ndarray | None = None,
    extra: Sequence[np.ndarray] = (),
    fixed_number: bool = True,
    min_size: int = 1,
    outliers: bool = False,
) -> np.ndarray:
    """Return the labels (n,) with the least expected loss that were found, numbered in order of first leaf.

    Candidates are the distinct rows of `labels`, the rows of `extra`, and cuts of the average linkage of 1 - P; the
    best are then improved by moving one leaf at a time while that helps. With `fixed_number` every candidate has, and
    keeps, the number of clusters of the first row, none with fewer than `min_size` leaves unless it is so from the
    start. With `outliers` a leaf may also be in no cluster. `together` is P, which may be None.
    """
    check_choice("loss", loss, LOSSES)
    labels, weights = distinct(np.asarray(labels, dtype=np.int32), weights)
    if not weights.all():
        labels, weights = labels[weights > 0], weights[weights > 0]
    n = labels.shape[1]
    order = np.argsort(_mean_sizes(labels, weights), kind="stable")  # so that nothing depends on the leaves' numbers
    labels = renumbered(np.ascontiguousarray(labels[:, order]))
    together = None if together is None else together[np.ix_(order, order)]
    proposals = [canonical(np.asarray(row)[order]).astype(np.int32) for row in extra]
    if together is None:
        work = labels.size  # of looking at one candidate
    else:
        work = n * n // (labels[0].max() + 1)
        proposals += _linkage_cuts(together, np.unique(labels.max(axis=1) + 1), min_size, outliers)
    sampled = _evenly(labels, max(_N_SCORED, int(_EXACT_WORK / work)))
    candidates = np.concatenate([np.array(proposals, dtype=np.int32).reshape(-1, n), sampled])
    candidates, _ = distinct(candidates, np.zeros(len(candidates)))
    if fixed_number:
        sizes = np.array([np.bincount(row[row >= 0]).min() for row in candidates])
        candidates = candidates[sizes >= min(min_size, sizes.max())]
    x = np.arange(n + 2, dtype=np.float64)
    f = 0.5 * x * (x - 1) if loss == "binder" else x * np.log(np.maximum(x, 1.0))
    dense = together if loss == "binder" else None
    if loss == "vi" and together is not None and len(candidates) * labels.size > _EXACT_WORK:
        bounds = [_vi_bound(candidate, together) for candidate in candidates]
        candidates = candidates[np.argsort(bounds, kind="stable")[:_N_SCORED]]

    def score(candidate):
        return _terms_of(candidate, labels, weights, f) if dense is None else _binder_within(candidate, dense)

    ranked = np.argsort([score(candidate) for candidate in candidates], kind="stable")
    most = int(candidates.max()) + 1
    n_columns = most if fixed_number else min(n, most + (1 if dense is None else _MORE))
    if dense is None and len(labels) * (int(labels.max()) + 1) * n_columns > _TABLE_CELLS:
        return _in_place(candidates[ranked[0]], order)
    sweep = n * n if dense is not None else labels.size * n_columns
    n_improved = int(np.clip(_MOVE_WORK / (_USUAL_SWEEPS * sweep), _FEWEST_IMPROVED, _MOST_IMPROVED))
    n_sweeps = int(np.clip(_MOVE_WORK / (n_improved * sweep), 1, _MAX_SWEEPS))
    by_leaf = None if dense is not None else np.ascontiguousarray(labels.T)
    improved = [candidates[i].copy() for i in ranked[:n_improved]]
    for candidate in improved:
        least = min_size if fixed_number else 0
        _improve(candidate, n_columns, least, outliers, dense, by_leaf, weights, f, n_sweeps)
    return _in_place(improved[int(np.argmin([score(candidate) for candidate in improved]))], order)


def _in_place(labels, order):
    """Labels of the leaves `order` as labels of leaves 0, 1, …"""
    found = np.empty_like(labels)
    found[order] = labels
    return canonical(found)


def _linkage_cuts(together, numbers, min_size, outliers):
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if len(together) < 3:
        return []
    numbers = _evenly(numbers, _N_SCORED)
    Z = linkage(squareform(1.0 - together, checks=False), "average")
    Z[:, 2] = np.maximum.accumulate(Z[:, 2])  # what rounding may have put out of order
    children = np.broadcast_to(Tree.from_linkage(Z).children, (len(numbers), len(Z), 2))
    cut, _ = cut_trees(children, numbers - 1, min_size)
    return [canonical(row) for row in np.where(cut >= 0, cut, -1 if outliers else ~cut)]


def _evenly(rows, number):
    """At most `number` rows, from first to last."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(number, len(rows))).astype(int))]


@jit
def _mean_sizes(labels, weights):
    """(n,) Σ_t w_t (leaves that are with leaf i in s_t, itself included)."""
    n_trees, n = labels.shape
    mean, size = np.zeros(n), np.empty(n, np.int64)
    for t in range(n_trees):
        size[:] = 0
        for label in labels[t]:
            if label >= 0:
                size[label] += 1
        for i in range(n):
            mean[i] += weights[t] * (size[labels[t, i]] if labels[t, i] >= 0 else 1)
    return mean


@jit
def _members(labels):
    """The leaves in clusters, sorted by cluster, and where each cluster starts among them (one more at the end)."""
    k = 0
    for label in labels:
        k = max(k, label + 1)
    start = np.zeros(k + 1, np.int64)
    for label in labels:
        if label >= 0:
            start[label + 1] += 1
    for a in range(k):
        start[a + 1] += start[a]
    members, free = np.empty(start[k], np.int64), start.copy()
    for i in range(len(labels)):
        if labels[i] >= 0:
            members[free[labels[i]]] = i
            free[labels[i]] += 1
    return members, start


@jit
def _binder_within(labels, together):
    """Σ_{i<j} [c_i = c_j] (1 - 2 P_ij)."""
    members, start = _members(labels)
    total = 0.0
    for a in range(len(start) - 1):
        for x in range(start[a], start[a + 1]):
            for y in range(x + 1, start[a + 1]):
                total += 1.0 - 2.0 * together[members[x], members[y]]
    return total


@jit
def _vi_bound(labels, together):
    """Σ_i (log n_c(i) - 2 log Σ_j P_ij [c_j = c_i])."""
    members, start = _members(labels)
    total = 0.0
    for a in range(len(start) - 1):
        log_size = np.log(start[a + 1] - start[a])
        for x in range(start[a], start[a + 1]):
            shared = 0.0
            for y in range(start[a], start[a + 1]):
                shared += together[members[x], members[y]]
            total += log_size - 2.0 * np.log(shared)
    return total


@jit
def _terms_of(candidate, labels, weights, f):
    """L(c) = Σ_a f(n_a) - 2 Σ_t w_t Σ_ab f(n_tab)."""
    members, start = _members(candidate)
    count = np.zeros(len(candidate), np.int64)
    total = 0.0
    for a in range(len(start) - 1):
        total += f[start[a + 1] - start[a]]
        own = members[start[a] : start[a + 1]]
        for t in range(len(labels)):
            shared = 0.0
            for i in own:
                b = labels[t, i]
                if b >= 0:
                    shared += f[count[b] + 1] - f[count[b]]
                    count[b] += 1
            for i in own:
                count[labels[t, i]] = 0
            total -= 2.0 * weights[t] * shared
    return total


@jit(allocates=False)
def _add_leaf(sums, together, i, cluster, sign):
    """Let leaf i count for the sums of the other leaves over a cluster; an outlier counts for none."""
    if cluster >= 0:
        for j in range(len(sums)):
            if j != i:
                sums[j, cluster] += sign * (1.0 - 2.0 * together[j, i])


@jit
def _improve(labels, n_columns, least, outliers, together, by_leaf, weights, f, n_sweeps):
    """Move each leaf to the cluster where it adds least to the loss, until no move helps.

    To cluster b of n_b other leaves, leaf i adds Σ_{j in b} (1 - 2 P_ij) to Binder's loss, where P is given
    (`together`), and otherwise, from the s_t (`by_leaf`, (n, T)), g(n_b) - 2 Σ_t w_t g(n_tbs), with
    g(x) = f(x + 1) - f(x) and s = s_t(i); as an outlier it adds nothing. A cluster of `least` leaves loses none.
    For Binder's loss those sums are kept, and a leaf that moves changes two of each: most leaves stay.
    """
    n = len(labels)
    if together is not None:
        sums = np.zeros((n, n_columns))
        for i in range(n):
            for j in range(n):
                if j != i and labels[j] >= 0:
                    sums[i, labels[j]] += 1.0 - 2.0 * together[i, j]
    size = np.zeros(n_columns, np.int64)
    for label in labels:
        if label >= 0:
            size[label] += 1
    if by_leaf is not None:
        g = f[1:] - f[:-1]
        shared = np.zeros((by_leaf.shape[1], by_leaf.max() + 1, n_columns), np.int32)
        for i in range(n):
            for t in range(by_leaf.shape[1]):
                if by_leaf[i, t] >= 0 and labels[i] >= 0:
                    shared[t, by_leaf[i, t], labels[i]] += 1
    cost = np.empty(n_columns)
    for _ in range(n_sweeps):
        moved = False
        for i in range(n):
            a = labels[i]
            if a >= 0:
                if size[a] <= least:
                    continue
                size[a] -= 1
            cost[:] = 0.0
            if by_leaf is not None:
                for t in range(by_leaf.shape[1]):
                    s = by_leaf[i, t]
                    if s >= 0:
                        row = shared[t, s]
                        if a >= 0:
                            row[a] -= 1
                        for b in range(n_columns):
                            cost[b] -= 2.0 * weights[t] * g[row[b]]
                for b in range(n_columns):
                    cost[b] += g[size[b]]
            if together is not None:
                for b in range(n_columns):
                    cost[b] = sums[i, b]
            best, lowest = a, cost[a] if a >= 0 else 0.0
            for b in range(n_columns):
                if cost[b] < lowest - 1e-10 and not (size[b] == 0 and a >= 0 and size[a] == 0):
                    best, lowest = b, cost[b]
            if outliers and lowest > 1e-10:
                best = -1
            if best >= 0:
                size[best] += 1
                if by_leaf is not None:
                    for t in range(by_leaf.shape[1]):
                        if by_leaf[i, t] >= 0:
                            shared[t, by_leaf[i, t], best] += 1
            if best != a:
                labels[i] = best
                moved = True
                if together is not None:
                    _add_leaf(sums, together, i, a, -1.0)
                    _add_leaf(sums, together, i, best, 1.0)
        if not moved:
            break
