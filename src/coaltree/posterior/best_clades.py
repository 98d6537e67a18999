"""The summary tree: of all trees that can be put together from observed splits, the one with the best clades.

A split is a clade with the two clades that it is made of. With f_C the share of the trees with clade C, and over the
splits that occur in some tree,

    best(C) = log f_C + max_{C = A ∪ B} (best(A) + best(B)) ,      best(leaf) = 0 ,

from small clades to large ones, gives the tree with the highest Π f_C, which need not be among the trees (HIPSTR in
BEAST X, on CCD1's graph of splits). Of equally good splits the first that was met is taken. A node's time is the mean
of its clade's time over the trees that have it, raised where needed to the times of its children.
"""

import numpy as np

from .._runtime.jit import jit
from ..tree import Tree, merges, unchecked_tree
from .clades import CladeTable, grown
from .summary_trees import raised


def best_clades(
    children: np.ndarray, times: np.ndarray, weights: np.ndarray, table: CladeTable, labels: tuple[str, ...]
) -> Tree:
    """Return the tree with the highest Σ log f over its clades that observed splits allow, at mean times."""
    n, ids = len(labels), table.ids
    if not weights.all():
        counts = weights > 0
        children, times, weights, ids = children[counts], times[counts], weights[counts], ids[counts]
    frequency, total_time = _weigh_times(ids, times, weights, len(table.keys))
    with np.errstate(divide="ignore"):
        parts = _best_parts(ids, children, table.sizes, np.log(frequency))
    chosen, todo = [], [int(ids[0, n - 2])]
    while todo:
        chosen.append(todo.pop())
        todo += [part - n for part in parts[chosen[-1]].tolist() if part >= n]
    chosen.sort(key=lambda clade: (table.sizes[clade], clade))  # children before parents
    node = {n + clade: n + k for k, clade in enumerate(chosen)}
    pairs = np.array([[node.get(part, part) for part in parts[clade].tolist()] for clade in chosen])
    mean = total_time[chosen] / frequency[chosen]
    pairs, heights = merges.in_order_of_time(pairs, raised(merges.parents(pairs), mean))
    return unchecked_tree(pairs, heights, labels)


@jit
def _weigh_times(ids, times, weights, n_clades):
    """(K,) Σ_t w_t and Σ_t w_t (time of the clade), over the trees that have it."""
    frequency, total = np.zeros(n_clades), np.zeros(n_clades)
    for t in range(len(ids)):
        for k in range(ids.shape[1]):
            frequency[ids[t, k]] += weights[t]
            total[ids[t, k]] += weights[t] * times[t, k]
    return frequency, total


@jit
def _best_parts(ids, children, sizes, log_frequency):
    """(K, 2) the two parts of the best split of each clade: leaves 0 … n-1, or n + clade."""
    n, n_clades = ids.shape[1] + 1, len(sizes)
    clade, part, other = _distinct_splits(ids, children, n_clades)
    start = np.zeros(n + 2, np.int64)
    for c in clade:
        start[sizes[c] + 1] += 1
    for size in range(n + 1):
        start[size + 1] += start[size]
    by_size = np.empty(len(clade), np.int64)  # small clades first, then in the order met
    for s in range(len(clade)):
        by_size[start[sizes[clade[s]]]] = s
        start[sizes[clade[s]]] += 1
    best = np.full(n_clades, -np.inf)  # without the clade's own log f, until a clade around it asks
    parts = np.full((n_clades, 2), -1, np.int64)
    for s in by_size:
        score = 0.0
        for p in (part[s], other[s]):
            if p >= n:
                score += best[p - n] + log_frequency[p - n]
        if parts[clade[s], 0] < 0 or score > best[clade[s]]:
            best[clade[s]] = score
            parts[clade[s], 0], parts[clade[s], 1] = part[s], other[s]
    return parts


@jit
def _distinct_splits(ids, children, n_clades):
    """The clades and parts of all different splits in the order met, found by a hash table that doubles."""
    n = ids.shape[1] + 1
    capacity = 2048
    slots = np.full(2 * capacity, -1, np.int32)
    clade, part, other = np.empty(capacity, np.int32), np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    latest = np.full(n_clades, -1, np.int32)  # the part of a clade's split where it was last met: most come again
    count = 0
    for t in range(len(ids)):
        for k in range(n - 1):
            c = ids[t, k]
            a, b = children[t, k, 0], children[t, k, 1]
            a = a if a < n else n + ids[t, a - n]
            b = b if b < n else n + ids[t, b - n]
            if a > b:
                a, b = b, a
            if latest[c] == a:
                continue
            latest[c] = a
            at = _slot(slots, clade, part, c, a)
            if slots[at] >= 0:
                continue
            if count == capacity:
                capacity *= 2
                clade, part, other = grown(clade, capacity), grown(part, capacity), grown(other, capacity)
                slots = np.full(2 * capacity, -1, np.int32)
                for s in range(count):
                    slots[_slot(slots, clade, part, clade[s], part[s])] = s
                at = _slot(slots, clade, part, c, a)
            slots[at] = count
            clade[count], part[count], other[count] = c, a, b
            count += 1
    return clade[:count], part[:count], other[:count]


@jit
def _slot(slots, clade, part, c, a):
    """Where the split of clade c with part a is, or the empty slot where it belongs."""
    mask = np.uint64(len(slots) - 1)
    z = (np.uint64(c) << np.uint64(32)) ^ np.uint64(a)
    z = (z ^ (z >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    at = (z ^ (z >> np.uint64(32))) & mask
    while slots[at] >= 0 and not (clade[slots[at]] == c and part[slots[at]] == a):
        at = (at + np.uint64(1)) & mask
    return at
