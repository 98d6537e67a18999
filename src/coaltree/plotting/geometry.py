"""Where the parts of a tree stand on paper: tips side by side, each node above its children, small clades folded.

Works on every tree that has `n`, `children` (any number per inner node, lower numbers than the node itself) and
`node_times`, so on a consensus too. Nothing is recursive.
"""

import math
from typing import NamedTuple

import numpy as np

from ..tree.rooted import RootedTree

_MOST_PER_DOUBLING = 0.3  # a folded clade of m leaves takes the room of up to 1 + 0.3 log2(m) leaves,
_LEAST_PER_DOUBLING = 0.15  # and of at least 1 + 0.15 log2(m) where the number of tips is ours to choose


class Arrangement(NamedTuple):
    """A tree laid out on paper. Nodes inside folded clades have no place (NaN)."""

    tips: np.ndarray  # (t,) nodes at the lower end: leaves, and folded clades
    width: np.ndarray  # (t,) room of each tip
    size: np.ndarray  # (nodes,) leaves under each node
    across: np.ndarray  # (nodes,) place of each node; leaves of an unfolded tree stand at 0 … n-1
    open_nodes: np.ndarray  # inner nodes that are drawn with their children, in order of time

    @property
    def total_width(self) -> float:
        return float(self.width.sum())

    @property
    def limits(self) -> tuple[float, float]:
        return -0.5, self.total_width - 0.5


def arrange(
    tree: RootedTree, max_tips: int | None = None, room: float | None = None, ladder: bool = True
) -> Arrangement:
    """Lay out a tree, unfolding it from the root.

    Parameters
    ----------
    max_tips : int, optional
        How many tips; by default as many as there is room for, or all.
    room : float, optional
        How many leaves would fit side by side; folded clades are made no wider than that allows.
    ladder : bool
        Whether the smaller clade of each node comes first.
    """
    n, children = tree.n, _lists(tree)
    n_nodes = n + len(children)
    size = [1] * n
    for nodes in children:
        size.append(sum(size[c] for c in nodes))
    first_open = _unfold(n, children, size, max_tips, room)
    tips, todo = [], [n_nodes - 1]
    while todo:
        node = todo.pop()
        if node < first_open:
            tips.append(node)
        else:
            below = children[node - n]
            todo.extend(reversed(sorted(below, key=size.__getitem__) if ladder else below))
    doublings = np.log2([size[node] for node in tips])
    per_doubling = _MOST_PER_DOUBLING
    if room is not None and len(tips) < room and doublings.any():
        per_doubling = min(per_doubling, (room - len(tips)) / doublings.sum())
    width = 1.0 + per_doubling * doublings
    across = np.full(n_nodes, np.nan)
    across[tips] = np.cumsum(width) - 0.5 * width - 0.5
    for node in range(first_open, n_nodes):
        at = across[children[node - n]]
        across[node] = 0.5 * (at.min() + at.max())
    return Arrangement(np.array(tips), width, np.array(size), across, np.arange(first_open, n_nodes))


def _unfold(n, children, size, max_tips, room):
    """Return the earliest inner node that is drawn with its children; the root always is."""
    tips, doublings = 1, math.log2(n)
    node = n + len(children)
    while node > n:
        below = children[node - 1 - n]
        tips += len(below) - 1
        doublings += sum(math.log2(size[c]) for c in below) - math.log2(size[node - 1])
        if max_tips is not None:
            is_full = tips > max_tips
        else:
            is_full = room is not None and tips + _LEAST_PER_DOUBLING * doublings > room
        if is_full and node < n + len(children):
            break
        node -= 1
    return node


def _lists(tree):
    return tree.children.tolist() if isinstance(tree.children, np.ndarray) else [list(nodes) for nodes in tree.children]


def leaves_of_tips(tree: RootedTree, place: Arrangement) -> list[list[int]]:
    """The leaves below each tip: itself, or those of a folded clade."""
    children = _lists(tree)
    found = []
    for tip in place.tips.tolist():
        leaves, todo = [], [tip]
        while todo:
            node = todo.pop()
            if node < tree.n:
                leaves.append(node)
            else:
                todo.extend(children[node - tree.n])
        found.append(leaves)
    return found


class Edges(NamedTuple):
    """One angle per branch that is drawn: along the parent's level, then down to the child."""

    child: np.ndarray  # (e,)
    across: np.ndarray  # (e, 3)
    time: np.ndarray  # (e, 3)


def edges(tree: RootedTree, place: Arrangement) -> Edges:
    """Return the branches below every open node."""
    children, times = _lists(tree), tree.node_times
    pairs = np.array([(node, c) for node in place.open_nodes.tolist() for c in children[node - tree.n]])
    parent, child = pairs.T
    across = np.stack([place.across[parent], place.across[child], place.across[child]], axis=1)
    time = np.stack([times[parent], times[parent], times[child]], axis=1)
    return Edges(child, across, time)


def node_clusters(tree: RootedTree, number: np.ndarray) -> np.ndarray:
    """Return the cluster that holds all leaves under each node, -1 where there are several."""
    of_node = number.tolist()
    for nodes in _lists(tree):
        first = of_node[nodes[0]]
        of_node.append(first if all(of_node[c] == first for c in nodes) else -1)
    return np.array(of_node)
