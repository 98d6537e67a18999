"""The extended majority-rule tree, and a binary tree that refines it.

Clades are kept in order of their share of the draws, down to a fifth, each unless it contradicts one kept before: all
clades of more than half of the draws are among them. What they leave open is filled in from the draw of highest clade
credibility: children of one node are joined in the order in which that draw joins their neighbouring leaves.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...tree import merges
from . import clades
from .consensus import most_credible

if TYPE_CHECKING:
    from ..posterior import Posterior

MIN_SUPPORT = 0.2  # share of the draws that a clade needs to be kept


class Frame(NamedTuple):
    """A binary tree that has all kept clades, and others where these leave it open."""

    children: np.ndarray  # (n-1, 2)
    depth: np.ndarray  # (n-1,) how many kept clades hold each merge


def extended_majority(posterior: "Posterior") -> Frame:
    """Keep the clades of the extended majority-rule tree, and fill in the rest from the most credible draw."""
    n, table = posterior.n, clades.clade_table(posterior)
    frequency = clades.frequencies(table, posterior.weights)
    kept = np.flatnonzero((frequency > MIN_SUPPORT) & (table.sizes < n))
    kept = kept[np.lexsort((table.first[kept], table.sizes[kept], -frequency[kept].round(9)))]
    parent, size = clades.compatible(posterior.draws.children, table.first[kept])
    return _resolved(n, parent, size, posterior.draws.children[most_credible(table, posterior.weights)])


def _resolved(n: int, parent: np.ndarray, size: np.ndarray, draw: np.ndarray) -> Frame:
    """The binary tree that has the clades of a tree with many children, and where it is open follows a draw."""
    place = merges.layout(draw)
    by_size = n + np.argsort(size[n:], kind="stable")  # children before parents, the root last
    depth, start = np.zeros(len(parent), dtype=np.int64), np.append(place.start[:n], np.full(len(parent) - n, n))
    np.minimum.at(start, parent[:n], start[:n])
    for v in by_size[:-1].tolist():
        start[parent[v]] = min(start[parent[v]], start[v])
    for v in by_size[-2::-1].tolist():
        depth[v] = depth[parent[v]] + 1

    # In the order of the draw's leaves, siblings stand side by side; those whose gap was merged first are joined first.
    siblings = np.delete(np.arange(len(parent)), n)
    siblings = siblings[np.lexsort((start[siblings], parent[siblings], size[parent[siblings]]))]
    left = np.flatnonzero(parent[siblings[:-1]] == parent[siblings[1:]])
    around = parent[siblings[left]]
    gap = merges.common_ancestors(place, place.order[start[np.column_stack([siblings[left], siblings[left + 1]])]])
    in_order = np.lexsort((gap, around, size[around]))  # one family of siblings after the other
    left, around = left[in_order], around[in_order]
    return Frame(_join_siblings(n, siblings.tolist(), left.tolist(), around.tolist()), depth[around])


def _join_siblings(n: int, siblings: list[int], left: list[int], around: list[int]) -> np.ndarray:
    """(n-1, 2) children of merges that join what has siblings[left] to what has the next; the last makes `around`."""
    node: dict[int, int] = {}  # of the binary tree, for each node with many children
    made: dict[int, int] = {}  # node of the binary tree that has siblings joined so far, by the first of them
    first = list(range(len(siblings)))  # where to look for that

    def find(x: int) -> int:
        while first[x] != x:
            first[x] = first[first[x]]
            x = first[x]
        return x

    children = []
    for k, (x, parent) in enumerate(zip(left, around, strict=True)):
        a, b = find(x), find(x + 1)
        children.append([made.get(c, node.get(siblings[c], siblings[c])) for c in (a, b)])
        first[b], made[a], node[parent] = a, n + k, n + k
    return np.array(children)
