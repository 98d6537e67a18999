"""The best cut of a tree into k clusters, an exact optimum.

Let h(v) be the height of node v and a_u, b_u the two sides of a merge u. Summed over the merges at and below v,

    W(v) = (1 / |v|) Σ_{u ≤ v} |a_u| |b_u| h(u)

is half the mean height at which two leaves of the clade meet, times its size: what k-means calls the within-cluster sum
of squares. A cut is k disjoint clades of at least two leaves, and leaves that are in none of them, with the least

    Σ_c W(c) + κ (leaves in none) ,      κ = 2 W(root) / n ,

so that a leaf in none costs twice what the average leaf costs in one cluster. Single leaves are clusters only where
there are no k clades of two, and then as few as possible. Of equal costs the cut with fewer leaves in none is best,
then the one with the larger clades (Σ |c|²), then the one with more clusters in the child whose first name comes first.

best(v, j), the least cost of j clusters at or below v, is the least of W(v) (for j = 1) and of best(a, i) +
best(b, j - i) over i: O(n k²) at most, and O(n²). With k clusters in all, v has at most |v| of them and what is outside
of it at most n - |v|, which bounds j.
"""

from typing import NamedTuple

import numpy as np

from .._runtime.jit import jit
from .._runtime.memory import require_memory
from .merges import Layout

_EQUAL = 1e-9  # of the cost of one leaf in none: costs that differ by less differ by rounding
_WHOLE = -1  # the choice of a node that is a cluster, instead of how many its first child has


class _Counts(NamedTuple):
    """The numbers of clusters that a node can have, low … high, and where their choices are kept."""

    low: np.ndarray  # (2n-1,)
    high: np.ndarray  # (2n-1,)
    kept: np.ndarray  # (2n-1,) place of the first of them; of inner nodes alone


def name_rank(labels: tuple[str, ...]) -> np.ndarray:
    """(n,) the place of each leaf in alphabetical order, by which ties are broken."""
    rank = np.empty(len(labels), dtype=np.int64)
    rank[sorted(range(len(labels)), key=labels.__getitem__)] = np.arange(len(labels))
    return rank


def best_cut(children: np.ndarray, place: Layout, heights: np.ndarray, rank: np.ndarray, k: int) -> np.ndarray:
    """(n,) the node that is the cluster of each leaf in the best cut into k clusters, -1 for leaves in none."""
    n = len(rank)
    low, high = np.maximum(0, k - n + place.size), np.minimum(k, place.size)
    kept = np.zeros(2 * n - 1, dtype=np.int64)
    kept[n + 1 :] = np.cumsum((high - low + 1)[n:-1])
    n_choices = int(kept[-1] + high[-1] - low[-1] + 1)
    require_memory(4 * n_choices + 250 * n, f"Cutting {n} leaves into {k} clusters", "ask for fewer")
    pairs = np.array(children, dtype=np.int64)
    heights = heights / max(float(heights.max()), np.finfo(float).tiny)  # no overflow of sums
    within = _within(pairs, place.size, heights)
    first = _least_below(pairs, rank)
    choice = np.empty(n_choices, dtype=np.int32)
    _choose(pairs, place.size, place.start, within, first, _Counts(low, high, kept), choice)
    return _clusters(pairs, _Counts(low, high, kept), choice, k)


def join_along_tree(children: np.ndarray, place: Layout, rank: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Give each leaf that is in no cluster to the one it meets first; of several the largest, then by name."""
    pairs = np.array(children, dtype=np.int64)
    return _join(pairs, place.size, _least_below(pairs, rank), cluster)


@jit
def _within(children: np.ndarray, size: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """(2n-1,) W of every node."""
    n = len(children) + 1
    within = np.zeros(2 * n - 1)
    for k in range(n - 1):
        a, b = children[k, 0], children[k, 1]
        within[n + k] = (within[a] + within[b]) + float(size[a]) * float(size[b]) * heights[k]
    for v in range(n, 2 * n - 1):
        within[v] /= size[v]
    return within


@jit
def _least_below(children: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """(2n-1,) the least rank of the leaves under each node."""
    n = len(rank)
    least = np.empty(2 * n - 1, np.int64)
    for i in range(n):
        least[i] = rank[i]
    for k in range(n - 1):
        least[n + k] = min(least[children[k, 0]], least[children[k, 1]])
    return least


@jit
def _choose(
    children: np.ndarray,
    size: np.ndarray,
    start: np.ndarray,
    within: np.ndarray,
    first: np.ndarray,
    counts: _Counts,
    choice: np.ndarray,
) -> None:
    """Fill the best choice of every inner node and number: how many clusters its first child has, or `_WHOLE`.

    A row of `best` is (single leaves, cost, leaves in none, -Σ |c|²), compared in this order. That of node v for its
    least number stands at 2 start_v, in the room of its own leaves, which both children leave when v is made.
    """
    n = len(children) + 1
    low, high, kept = counts.low, counts.high, counts.kept
    out = 2.0 * within[2 * n - 2] / n
    slack = _EQUAL * out
    best, made = np.empty((2 * n, 4)), np.empty((high[2 * n - 2] + 1, 4))
    for i in range(n):
        for j in range(low[i], high[i] + 1):
            row = best[2 * start[i] + j - low[i]]
            row[0], row[1], row[2], row[3] = j, (1 - j) * out, 1 - j, -j
    for k in range(n - 1):
        v = n + k
        a, b = children[k, 0], children[k, 1]
        is_first = first[a] < first[b]  # equally good: more clusters there
        if not is_first:
            a, b = b, a
        for j in range(low[v], high[v] + 1):
            row, chosen = made[j - low[v]], _WHOLE
            row[0] = np.inf
            for i in range(min(high[a], j - low[b]), max(low[a], j - high[b]) - 1, -1):
                x, y = best[2 * start[a] + i - low[a]], best[2 * start[b] + j - i - low[b]]
                if _is_better(x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3], row, slack):
                    row[0], row[1], row[2], row[3] = x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3]
                    chosen = i if is_first else j - i
            whole = -(float(size[v]) ** 2)
            if j == 1 and _is_better(0.0, within[v], 0.0, whole, row, slack):
                row[0], row[1], row[2], row[3] = 0.0, within[v], 0.0, whole
                chosen = _WHOLE
            choice[kept[v] + j - low[v]] = chosen
        for j in range(high[v] - low[v] + 1):
            for column in range(4):
                best[2 * start[v] + j, column] = made[j, column]


@jit(inline="always")
def _is_better(singles: float, cost: float, none: float, squares: float, than: np.ndarray, slack: float) -> bool:
    """Whether a row of `best` comes before another."""
    if singles != than[0]:
        return bool(singles < than[0])
    if abs(cost - than[1]) > slack:
        return bool(cost < than[1])
    return bool(none < than[2] or (none == than[2] and squares < than[3]))


@jit
def _clusters(children: np.ndarray, counts: _Counts, choice: np.ndarray, k: int) -> np.ndarray:
    """(n,) the cluster of each leaf, read from the choices, from the root down."""
    n = len(children) + 1
    number = np.zeros(2 * n - 1, np.int64)  # of clusters at or below each node
    cluster = np.full(2 * n - 1, -1, np.int64)
    number[2 * n - 2] = k
    for v in range(2 * n - 2, n - 1, -1):
        a, b = children[v - n, 0], children[v - n, 1]
        chosen = choice[counts.kept[v] + number[v] - counts.low[v]] if cluster[v] < 0 else _WHOLE
        if chosen == _WHOLE:
            cluster[v] = v if cluster[v] < 0 else cluster[v]
            cluster[a] = cluster[b] = cluster[v]
        else:
            number[a], number[b] = chosen, number[v] - chosen
    for i in range(n):
        if number[i] == 1:
            cluster[i] = i
    return cluster[:n].copy()


@jit
def _join(children: np.ndarray, size: np.ndarray, first: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """(n,) the cluster of each leaf: its own, or the largest of those under the first node above that has any."""
    n = len(cluster)
    best = np.full(2 * n - 1, -1, np.int64)
    for i in range(n):
        best[i] = cluster[i]
    for k in range(n - 1):
        a, b = best[children[k, 0]], best[children[k, 1]]
        if a < 0 or b < 0:
            best[n + k] = max(a, b)
        else:
            is_a = size[a] > size[b] or (size[a] == size[b] and first[a] <= first[b])
            best[n + k] = a if is_a else b
    for k in range(n - 2, -1, -1):
        for c in children[k]:
            if best[c] < 0:
                best[c] = best[n + k]
    return best[:n].copy()
