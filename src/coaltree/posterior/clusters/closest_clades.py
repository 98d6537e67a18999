"""The clade of each drawn tree that is closest to a set of leaves, for several disjoint sets at once.

For a set A of leaves and a drawn tree T let C_T(A) be the clade C of T, a single leaf or more, with the largest

    J(A, C) = |A ∩ C| / |A ∪ C|                                      (Jaccard similarity; 1 if the tree has A)

and J_T(A) that similarity; of equally similar clades the smaller one, and then the one that joins others first. The
root counts only for the set of all leaves. Stability, membership, support of a group, co-clustering, the number of
clusters and the agreement of chains are all means of these over the draws.

T *has* A, one of several sets, if J_T(A) > 1/2, more leaves in common than not, and C_T(A) has no more than half of any
other set.

Going up the tree, leaves of each set are counted under every node that holds leaves of several: O(n k) for k sets.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ...tree.merges import layout
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
    together = np.zeros((len(leaves), len(leaves)))
    for weight, chosen, is_under in zip(weights, nodes, leaves_under(children, nodes), strict=True):
        outermost = np.where(is_under[:, leaves], chosen[:, None], -1).max(axis=0)  # whoever is above comes later
        np.add(together, weight, out=together, where=(outermost[:, None] == outermost) & (outermost >= 0))
    np.fill_diagonal(together, 1.0)
    return np.minimum(together, 1.0, out=together)


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
    size, counts = np.ones(2 * n - 1, np.int64), np.zeros((2 * n - 1, k), np.int32)  # leaves, and those of each set
    only = np.append(numbers, np.empty(n - 1, np.int64))  # the set that has all leaves under a node, -1 for none
    shared, union = np.empty(k, np.int64), np.empty(k, np.int64)
    for t in range(len(children)):
        shared[:], union[:] = 0, 1
        for m in range(n - 1):
            a, b = children[t, m, 0], children[t, m, 1]
            size[n + m] = size[a] + size[b]
            only[n + m] = only[a] if only[a] == only[b] else -1
        for x in range(2 * n - 2):
            v = children[t, x // 2, x % 2]
            if only[n + x // 2] >= 0:  # what it is joined to is closer to this set
                continue
            n_mostly = 0  # sets of which it has more than half
            for j in range(k):
                if only[v] >= 0:
                    counts[v, j] = size[v] if only[v] == j else 0
                elif v >= n:
                    counts[v, j] = counts[children[t, v - n, 0], j] + counts[children[t, v - n, 1], j]
                n_mostly += 2 * counts[v, j] > sizes[j]
            for j in range(k):
                s = counts[v, j]
                u = sizes[j] + size[v] - s
                gain = s * union[j] - shared[j] * u
                if gain > 0 or (gain == 0 and u < union[j]):
                    shared[j], union[j], nodes[t, j], is_had[t, j] = s, u, v, 2 * s > u and n_mostly == 1
        for j in range(k):
            if sizes[j] == n:
                shared[j], union[j], nodes[t, j], is_had[t, j] = n, n, 2 * n - 2, True
            similarity[t, j] = shared[j] / union[j]
