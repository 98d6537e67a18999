"""The clade of each drawn tree that is closest to a set of leaves, for several disjoint sets at once.

For a set A of leaves and a drawn tree T let C_T(A) be the clade C of T, a single leaf or more, with the largest

    J(A, C) = |A ∩ C| / |A ∪ C|                                      (Jaccard similarity; 1 if the tree has A)

and J_T(A) that similarity; of equally similar clades the smaller one, and then the one that joins others first. The
root counts only for the set of all leaves. Stability, membership, support of a group, co-clustering, the number of
clusters and the agreement of chains are all means of these over the draws.

T *has* A, one of several sets, if J_T(A) > 1/2, more leaves in common than not, and C_T(A) has no more than half of any
other set.

Going up the tree, every node has a list of the sets that it holds leaves of, with their numbers; the lists of two sides
are merged as in a merge sort, O(n k) a draw for k sets, in memory O(n).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ...tree.merges import layout, place_nodes
from ..trees.stacked import read_only


class ClosestClades(NamedTuple):
    """The closest clade of T trees to each of k sets."""

    similarity: np.ndarray  # (T, k) J_T(A)
    nodes: np.ndarray  # (T, k) C_T(A)
    is_had: np.ndarray  # (T, k) bool, whether T has A


def closest_clades(children: np.ndarray, numbers: np.ndarray) -> ClosestClades:
    """Find C_T(A) in trees (T, n-1, 2) for the sets 0 … k-1 of leaves, numbers (n,); -1 is in none."""
    sizes = np.bincount(numbers[numbers >= 0])
    shape = len(children), len(sizes)
    closest = ClosestClades(np.empty(shape), np.empty(shape, np.int32), np.empty(shape, np.bool_))
    drawn = read_only(children, np.int32)  # one type of argument, one compiled kernel
    _find(drawn, np.ascontiguousarray(numbers, np.int64), sizes, *closest)
    return closest


def leaves_under(children: np.ndarray, nodes: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """For each of T trees (k, n) of bool: the leaves under each of its nodes (k,)."""
    for tree, chosen in zip(children, nodes, strict=True):
        place = layout(tree)
        low, at = place.start[chosen, None], place.start[: len(place.order)]
        yield (low <= at) & (at < low + place.size[chosen, None])


def times_inside(children: np.ndarray, nodes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n, k) Σ_t w_t [leaf i is under nodes[t, j]]."""
    inside = np.zeros((nodes.shape[1], children.shape[1] + 1))
    for weight, is_under in zip(weights, leaves_under(children, nodes), strict=True):
        inside += weight * is_under
    return inside.T


def times_together(children: np.ndarray, nodes: np.ndarray, weights: np.ndarray, leaves: np.ndarray) -> np.ndarray:
    """(m, m) Σ_t w_t [leaves a and b are both under one of nodes[t]], of m leaves; 1 on the diagonal.

    Clades are nested or apart, so that this is whether the outermost of the nodes above each is the same.
    """
    from scipy.linalg.blas import dsyrk

    together = np.zeros((len(leaves), len(leaves)), order="F")
    distinct = [np.unique(chosen)[:, None] for chosen in nodes]
    under = leaves_under(children, (chosen[:, 0] for chosen in distinct))
    for weight, chosen, is_under in zip(weights, distinct, under, strict=True):
        outermost = np.where(is_under[:, leaves], chosen, -1).max(axis=0)  # whoever is above comes later
        together = dsyrk(weight, (outermost == chosen).T.astype(np.float64), 1.0, together, overwrite_c=True)
    together = np.triu(together, 1)
    together += together.T
    np.fill_diagonal(together, 1.0)
    return np.asarray(np.minimum(together, 1.0))


@jit
def _find(
    children: np.ndarray,
    numbers: np.ndarray,
    sizes: np.ndarray,
    similarity: np.ndarray,
    nodes: np.ndarray,
    is_had: np.ndarray,
) -> None:
    n, k = len(numbers), len(sizes)
    start, size, gap = np.empty(2 * n - 1, np.int64), np.empty(2 * n - 1, np.int64), np.empty(n - 1, np.int64)
    length = np.empty(2 * n - 1, np.int64)  # of each node's list, which begins where its leaves do
    sets, counts = np.empty(n, np.int64), np.empty(n, np.int64)
    only = np.append(numbers, np.empty(n - 1, np.int64))  # the set that has all leaves under a node, -1 for none
    merged = np.empty((k, 2), np.int64)
    shared, union = np.empty(k, np.int64), np.empty(k, np.int64)
    for t in range(len(children)):
        place_nodes(children[t], size, start, gap)
        shared[:], union[:] = 0, 1
        for m in range(n - 1):
            a, b = children[t, m, 0], children[t, m, 1]
            only[n + m] = only[a] if only[a] == only[b] else -1
            if only[n + m] >= 0:  # closer to this set than its sides
                continue
            for v in (a, b):
                if v < n or only[v] >= 0:
                    length[v], sets[start[v]], counts[start[v]] = only[v] >= 0, only[v], size[v]
                here = slice(start[v], start[v] + length[v])
                _take_closer(v, size[v], sets[here], counts[here], sizes, shared, union, nodes[t], is_had[t])
            length[n + m] = _merge(start[a], length[a], start[b], length[b], sets, counts, merged)
        for j in range(k):
            if sizes[j] == n:
                shared[j], union[j], nodes[t, j], is_had[t, j] = n, n, 2 * n - 2, True
            similarity[t, j] = shared[j] / union[j]


@jit(inline="always")
def _take_closer(
    v: int,
    size: int,
    sets: np.ndarray,
    counts: np.ndarray,
    sizes: np.ndarray,
    shared: np.ndarray,
    union: np.ndarray,
    nodes: np.ndarray,
    is_had: np.ndarray,
) -> None:
    """Make node v the closest one of the sets in its list to which it is closer than what was seen before."""
    n_mostly = 0  # sets of which it has more than half
    for e in range(len(sets)):
        n_mostly += 2 * counts[e] > sizes[sets[e]]
    for e in range(len(sets)):
        j, s = sets[e], counts[e]
        u = sizes[j] + size - s
        gain = s * union[j] - shared[j] * u
        if gain > 0 or (gain == 0 and u < union[j]):
            shared[j], union[j], nodes[j], is_had[j] = s, u, v, 2 * s > u and n_mostly == 1


@jit(inline="always")
def _merge(at_a: int, n_a: int, at_b: int, n_b: int, sets: np.ndarray, counts: np.ndarray, merged: np.ndarray) -> int:
    """Merge the lists of the sides a and b into that of their parent, which begins where the first of them does."""
    first, end_a, end_b, n_merged = min(at_a, at_b), at_a + n_a, at_b + n_b, 0
    while at_a < end_a or at_b < end_b:
        takes_a = at_b == end_b or (at_a < end_a and sets[at_a] <= sets[at_b])
        takes_b = at_a == end_a or (at_b < end_b and sets[at_b] <= sets[at_a])
        merged[n_merged, 0] = sets[at_a] if takes_a else sets[at_b]
        merged[n_merged, 1] = (counts[at_a] if takes_a else 0) + (counts[at_b] if takes_b else 0)
        at_a, at_b, n_merged = at_a + takes_a, at_b + takes_b, n_merged + 1
    sets[first : first + n_merged] = merged[:n_merged, 0]
    counts[first : first + n_merged] = merged[:n_merged, 1]
    return n_merged
