"""Partitions that a posterior over trees implies, and the one that disagrees least with all of them.

Cutting every tree gives partitions s_1 … s_T of the n leaves with weights w_t, as labels (T, n). With f(x) = x log x,

    co-clustering       P_ij = Σ_t w_t [s_t(i) = s_t(j)]
    Binder's loss       B(c) = Σ_t w_t Σ_{i<j} |[c_i = c_j] - [s_t(i) = s_t(j)]|
                             = Σ_{i<j} P_ij + Σ_{i<j} [c_i = c_j] (1 - 2 P_ij)
    variation of information (nats)
                        V(c) = Σ_t w_t (Σ_a f(n_a) + Σ_b f(n_tb) - 2 Σ_ab f(n_tab)) / n

n_a, n_tb, n_tab: sizes of the clusters of c, of s_t, and of their intersections. By Jensen's inequality V(c) is at
least const + Σ_i (log n_c(i) - 2 log Σ_j P_ij [c_j = c_i]) / n (Wade & Ghahramani 2018), used only to choose whom to
score.
"""

from collections.abc import Sequence

import numpy as np

from .._runtime.checks import check_choice
from .._runtime.jit import jit
from .._runtime.memory import require_memory

_LABEL_BLOCK_BYTES = 32e6
_TILE = 32  # rows of the co-clustering matrix that stay in cache while the trees go by
_EXACT_WORK = 3e8  # table updates for scoring candidates exactly
_N_SCORED = 32  # candidates scored exactly where there are too many
_TABLE_CELLS = 5e7  # intersection counts kept for improving under the variation of information
LARGEST_DENSE = 5000  # leaves up to which candidates from the co-clustering matrix are worth n² memory
_MAX_SWEEPS = 50


def cut_labels(
    children: np.ndarray, times: np.ndarray, n_clusters: int | None = None, time: float | None = None
) -> np.ndarray:
    """(T, n) labels of each tree cut into `n_clusters`, or as it stands at `time`, numbered in order of first leaf."""
    n = times.shape[1] + 1
    if n_clusters is not None:
        n_merges = np.full(len(times), n - n_clusters, dtype=np.int64)
    else:
        n_merges = np.count_nonzero(times <= time, axis=1)
    return _cut_labels(children, n_merges)


def coclustering(
    children: np.ndarray,
    times: np.ndarray,
    weights: np.ndarray,
    n_clusters: int | None = None,
    time: float | None = None,
) -> np.ndarray:
    """(n, n) P_ij; the trees go by in blocks, so that memory is n²."""
    n = times.shape[1] + 1
    require_memory(8 * n * n, f"The co-clustering matrix of {n} leaves", 'cut(loss="vi") needs none')
    together = np.zeros((n, n))
    block = max(1, int(_LABEL_BLOCK_BYTES / (4 * n)))
    for start in range(0, len(times), block):
        these = slice(start, start + block)
        add_coclustering(together, cut_labels(children[these], times[these], n_clusters, time), weights[these])
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


def canonical(labels: np.ndarray) -> np.ndarray:
    """Number clusters 0, 1, … in order of first leaf."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[number]


def best_partition(
    labels: np.ndarray,
    weights: np.ndarray,
    *,
    loss: str = "vi",
    together: np.ndarray | None = None,
    extra: Sequence[np.ndarray] = (),
    fixed_number: bool = True,
) -> np.ndarray:
    """Return the labels (n,) with the least expected loss that were found, numbered in order of first leaf.

    Candidates are the distinct rows of `labels`, the rows of `extra`, and cuts of the average linkage of 1 - P; the
    best is then improved by moving one leaf at a time while that helps. With `fixed_number` every candidate has, and
    keeps, the number of clusters of the first row. `together` is P (needed for "binder", optional for "vi").
    """
    check_choice("loss", loss, ("vi", "binder"))
    labels, weights = distinct(np.ascontiguousarray(labels, dtype=np.int32), weights)
    labels, weights = labels[weights > 0], weights[weights > 0]
    n = labels.shape[1]
    proposals = [np.asarray(row, dtype=np.int32) for row in extra]
    if together is None:
        work = labels.size  # of looking at one candidate
    else:
        work = n * n // (labels[0].max() + 1)
        proposals += _linkage_cuts(together, np.unique(labels.max(axis=1) + 1))
    sampled = _evenly(labels, max(_N_SCORED, int(_EXACT_WORK / work)))
    candidates = np.concatenate([np.array(proposals, dtype=np.int32).reshape(-1, n), sampled])
    candidates, _ = distinct(candidates, np.zeros(len(candidates)))
    if loss == "binder":
        assert together is not None
        losses = [_binder_within(candidate, together) for candidate in candidates]
        chosen = candidates[np.argmin(losses)].copy()
        _improve(chosen, int(chosen.max()) + 1 if fixed_number else n, fixed_number, together, None, None, None)
        return canonical(chosen)
    if together is not None and len(candidates) * labels.size > _EXACT_WORK:
        bounds = [_vi_bound(candidate, together) for candidate in candidates]
        candidates = candidates[np.argsort(bounds, kind="stable")[:_N_SCORED]]
    x = np.arange(n + 2, dtype=np.float64)
    f = x * np.log(np.maximum(x, 1.0))
    chosen = candidates[np.argmin([_terms_of(candidate, labels, weights, f) for candidate in candidates])].copy()
    n_columns = int(chosen.max()) + 1 if fixed_number else min(n, int(candidates.max()) + 2)
    if len(labels) * (int(labels.max()) + 1) * n_columns <= _TABLE_CELLS:
        _improve(chosen, n_columns, fixed_number, None, labels, weights, f)
    return canonical(chosen)


def _linkage_cuts(together, numbers):
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    if len(together) < 3:
        return []
    numbers = _evenly(numbers, _N_SCORED)
    tree = linkage(squareform(1.0 - together, checks=False), "average")
    return [canonical(column) for column in cut_tree(tree, n_clusters=list(numbers)).T]


def _evenly(rows, number):
    """At most `number` rows, from first to last."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(number, len(rows))).astype(int))]


@jit
def _cut_labels(children, n_merges):
    """Go down from the root: a node belongs to its parent's cluster where the parent's merge is among the first."""
    n_trees, n = len(children), children.shape[1] + 1
    labels = np.empty((n_trees, n), np.int32)
    cluster = np.empty(2 * n - 1, np.int64)
    number = np.empty(2 * n - 1, np.int32)
    for t in range(n_trees):
        top = n + n_merges[t]
        cluster[2 * n - 2] = 2 * n - 2
        for k in range(n - 2, -1, -1):
            for side in range(2):
                c = children[t, k, side]
                cluster[c] = cluster[n + k] if n + k < top else c
        number[:] = -1
        count = 0
        for i in range(n):
            c = cluster[i]
            if number[c] < 0:
                number[c] = count
                count += 1
            labels[t, i] = number[c]
    return labels


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
                _add_matches(together[i, i + 1 :], labels[t, i], labels[t, i + 1 :], weights[t])


@jit
def _members(labels):
    """Leaves sorted by cluster, and where each cluster starts among them (one more entry at the end)."""
    start = np.append(np.zeros(1, np.int64), np.cumsum(np.bincount(labels)))
    return np.argsort(labels, kind="mergesort"), start


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
    """Σ_a f(n_a) - 2 Σ_t w_t Σ_ab f(n_tab), the part of n V that depends on the candidate."""
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
                shared += f[count[b] + 1] - f[count[b]]
                count[b] += 1
            for i in own:
                count[labels[t, i]] = 0
            total -= 2.0 * weights[t] * shared
    return total


@jit
def _improve(labels, n_columns, fixed_number, together, samples, weights, f):
    """Move each leaf to the cluster where it adds least to the loss, until no move helps.

    To cluster b of n_b other leaves, leaf i adds Σ_{j in b} (1 - 2 P_ij) to B, where P is given (`together`), or, where
    the s_t are (`samples`), g(n_b) - 2 Σ_t w_t g(n_tbs) to n V, with g(x) = f(x + 1) - f(x) and s = s_t(i).
    """
    n = len(labels)
    size = np.zeros(n_columns, np.int64)
    for label in labels:
        size[label] += 1
    if samples is not None:
        g = f[1:] - f[:-1]
        shared = np.zeros((len(samples), samples.max() + 1, n_columns), np.int32)
        for i in range(n):
            for t in range(len(samples)):
                shared[t, samples[t, i], labels[i]] += 1
    cost = np.empty(n_columns)
    for _ in range(_MAX_SWEEPS):
        moved = False
        for i in range(n):
            a = labels[i]
            if fixed_number and size[a] == 1:
                continue
            size[a] -= 1
            cost[:] = 0.0
            if samples is not None:
                for t in range(len(samples)):
                    row = shared[t, samples[t, i]]
                    row[a] -= 1
                    for b in range(n_columns):
                        cost[b] -= 2.0 * weights[t] * g[row[b]]
                for b in range(n_columns):
                    cost[b] += g[size[b]]
            if together is not None:
                for j in range(n):
                    if j != i:
                        cost[labels[j]] += 1.0 - 2.0 * together[i, j]
            best = a
            for b in range(n_columns):
                if cost[b] < cost[best] - 1e-10 and not (size[b] == 0 and size[a] == 0):
                    best = b
            size[best] += 1
            if samples is not None:
                for t in range(len(samples)):
                    shared[t, samples[t, i], best] += 1
            if best != a:
                labels[i] = best
                moved = True
        if not moved:
            break
