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


def _resolved(n: int, above: np.ndarray, size: np.ndarray, draw: np.ndarray) -> Frame:
    """The binary tree that has the clades of a tree with many children, and where it is open follows a draw."""
    place, parent, depth = merges.layout(draw), above.tolist(), np.zeros(len(above), dtype=np.int64)
    for v in (n + np.argsort(-size[n:], kind="stable"))[1:].tolist():  # parents before children
        depth[v] = depth[parent[v]] + 1

    # In the order of the draw's leaves, siblings stand side by side; those whose gap was merged first are joined first.
    start, latest, pairs = [-1] * len(parent), [-1] * len(parent), []
    for x, leaf in enumerate(place.order.tolist()):
        v = leaf
        while v != n and start[v] < 0:  # up to what holds an earlier leaf
            start[v] = x
            if latest[parent[v]] >= 0:
                pairs.append((latest[parent[v]], v))
            latest[parent[v]] = v
            v = parent[v]
    left, right = np.array(pairs).T
    gap = merges.common_ancestors(place, place.order[np.array(start)[np.column_stack([left, right])]])
    in_order = np.lexsort((gap, above[left], size[above[left]]))  # one family of siblings after the other, small first
    node = list(range(len(parent)))  # of the binary tree: of each node, and of siblings joined so far, by the first
    first, last, children = (
        node.copy(),
        node.copy(),
        [],
    )  # first of the siblings joined up to each, last of those from it
    for k, (a, b) in enumerate(zip(left[in_order].tolist(), right[in_order].tolist(), strict=True)):
        a = first[a]
        children.append((node[a], node[b]))
        node[a] = node[parent[b]] = n + k
        first[last[b]], last[a] = a, last[b]
    return Frame(np.array(children), depth[above[left[in_order]]])
