"""Functions of a tree that is given as plain arrays: children (n-1, 2), times (n-1,).

Leaves are 0 … n-1 and node n + k is made by merge k. Drawn with children[k, 0] to the left of children[k, 1], the
leaves under any node stand side by side: node c covers positions start_c … start_c + size_c - 1 of one leaf order.
Between positions a and a + 1 stands exactly one merge, the one that joins what is left of the gap to what is right
of it, so a clade is a range, a cut is a set of gaps, and the common ancestor of two leaves is the latest merge of
the gaps between them. Every question then is an array operation, however deep the tree.
"""

from typing import NamedTuple

import numpy as np

from .._runtime.jit import jit
from .._runtime.typing import ArrayLike
from .._runtime.validation import as_array
from ..errors import InputError


class Layout(NamedTuple):
    """Where nodes stand when the tree is drawn."""

    order: np.ndarray  # (n,) leaves from left to right
    start: np.ndarray  # (2n-1,) first position covered by each node
    size: np.ndarray  # (2n-1,) leaves under each node
    gap: np.ndarray  # (n-1,) the merge that stands between positions a and a + 1

    def leaves(self, node: int) -> np.ndarray:
        """The leaves under a node."""
        return self.order[self.start[node] : self.start[node] + self.size[node]]


def layout(children: np.ndarray) -> Layout:
    """Place the leaves side by side, O(n)."""
    n = len(children) + 1
    start, size, gap = np.empty(2 * n - 1, np.int64), np.empty(2 * n - 1, np.int64), np.empty(n - 1, np.int64)
    place_nodes(np.ascontiguousarray(children, dtype=np.int32), size, start, gap)
    order = np.empty(n, np.int64)
    order[start[:n]] = np.arange(n)
    return Layout(order, start, size, gap)


@jit
def place_nodes(children: np.ndarray, size: np.ndarray, start: np.ndarray, gap: np.ndarray) -> None:
    """Fill the sizes of a tree's nodes, their first positions from left to right, and the merge in each gap."""
    n = len(gap) + 1
    size[:n] = 1
    for k in range(n - 1):
        size[n + k] = size[children[k, 0]] + size[children[k, 1]]
    start[2 * n - 2] = 0
    for k in range(n - 2, -1, -1):
        left, right = children[k, 0], children[k, 1]
        start[left] = start[n + k]
        start[right] = start[n + k] + size[left]
        gap[start[right] - 1] = k


def parents(children: np.ndarray) -> np.ndarray:
    """Return the parent of each node, (2n-1,); -1 for the root."""
    n = len(children) + 1
    parent = np.full(2 * n - 1, -1, dtype=np.int64)
    parent[children] = np.arange(n, 2 * n - 1)[:, None]
    return parent


def canonical(labels: np.ndarray) -> np.ndarray:
    """Number clusters 0, 1, … in order of first leaf; outliers, where whole numbers are -1, stay so."""
    values, first, number = np.unique(labels, return_index=True, return_inverse=True)
    if np.issubdtype(values.dtype, np.integer):
        first[values == -1] = -1
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first)) - (first.min(initial=0) < 0)
    return rank[number]


def common_ancestors(place: Layout, pairs: np.ndarray) -> np.ndarray:
    """Return the merge (m,) that first joins each pair of leaves (m, 2); -1 for a leaf with itself.

    It is the largest of gap[a … b-1], a < b the positions of the pair: the larger of two overlapping windows of
    2^l gaps, l = floor(log2(b - a)), one l at a time.
    """
    low, high = np.sort(place.start[pairs], axis=1).T
    ancestor = np.full(len(pairs), -1, dtype=np.int64)
    _, exponent = np.frexp((high - low).astype(float))  # 2^(exponent-1) <= high - low
    window = place.gap  # window[a]: the largest of 2^level gaps from a on
    for level in range(int(exponent.max(initial=0))):
        if level:
            half = 1 << (level - 1)
            window = np.maximum(window[:-half], window[half:])
        here = np.flatnonzero(exponent == level + 1)
        ancestor[here] = np.maximum(window[low[here]], window[high[here] - (1 << level)])
    return ancestor


def leaf_keys(n: int) -> np.ndarray:
    """Return 128 bits per leaf, (n, 2) uint64: splitmix64 at counters 2i and 2i + 1, the same in every tree."""
    z = np.arange(1, 2 * n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).reshape(n, 2)


def clade_keys(place: Layout) -> np.ndarray:
    """Return the XOR of the leaf keys under each merge, (n-1, 2) uint64: equal leaf sets have equal keys."""
    n = len(place.order)
    prefix = np.zeros((n + 1, 2), dtype=np.uint64)
    np.bitwise_xor.accumulate(leaf_keys(n)[place.order], axis=0, out=prefix[1:])
    start, size = place.start[n:], place.size[n:]
    return np.asarray(prefix[start] ^ prefix[start + size])


def check_children(children: ArrayLike, word: str = "merge") -> np.ndarray:
    """Return children as an int64 copy, or raise InputError naming the first merge (or `word`) that is wrong."""
    table = as_array("children", children)
    if table.ndim != 2 or table.shape[1] != 2 or len(table) == 0:
        raise InputError(f"children must have shape (n-1, 2) with n at least 2, not {table.shape}.")
    if not np.issubdtype(table.dtype, np.integer):
        raise InputError(f"children must be whole numbers, the nodes joined by each merge, not {table.dtype}.")
    if np.issubdtype(table.dtype, np.unsignedinteger):
        table = np.minimum(table, np.iinfo(np.int64).max)  # so that a huge node is not wrapped to a small one
    checked = table.astype(np.int64)
    n = len(checked) + 1
    made = n + np.arange(n - 1)
    wrong = np.argwhere((checked < 0) | (checked >= made[:, None]))
    if len(wrong):
        k, side = wrong[0]
        raise InputError(
            f"{word.capitalize()} {k} joins node {table[k, side]}, but only nodes 0 to {n + k - 1} exist by then."
        )
    flat = checked.ravel()
    again = np.setdiff1d(np.arange(flat.size), np.unique(flat, return_index=True)[1])
    if len(again):
        node, earlier = flat[again[0]], np.argmax(flat == flat[again[0]])
        raise InputError(
            f"{word.capitalize()} {again[0] // 2} joins node {node}, which {word} {earlier // 2} has already joined."
        )
    return checked


def check_heights(times: ArrayLike, n_merges: int, word: str = "merge") -> np.ndarray:
    """Return times as a float64 copy, finite and not negative, or raise InputError naming the first that is not."""
    checked = np.array(as_array("times", times, np.float64))
    if checked.shape != (n_merges,):
        raise InputError(f"times must have shape ({n_merges},), one per {word}, not {checked.shape}.")
    wrong = np.flatnonzero(~np.isfinite(checked) | (checked < 0))
    if len(wrong):
        k = wrong[0]
        raise InputError(f"{word.capitalize()} {k} has time {checked[k]}; times must be finite and not negative.")
    return checked


def check_order(times: np.ndarray) -> None:
    """Raise InputError naming the first merge that comes before the one listed ahead of it."""
    early = np.flatnonzero(np.diff(times) < 0)
    if len(early):
        k = early[0] + 1
        raise InputError(
            f"Merge {k} at time {times[k]} comes before merge {k - 1} at time {times[k - 1]}; merges must be listed "
            "in order of time, ties allowed."
        )


def in_order_of_time(children: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Renumber merges so that times do not decrease, ties staying as they are; a child must come before its parent."""
    n = len(times) + 1
    in_time = np.argsort(times, kind="stable")
    number = np.arange(2 * n - 1)
    number[n + in_time] = np.arange(n, 2 * n - 1)
    return number[children[in_time]], times[in_time]


def restricted(children: np.ndarray, times: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The tree over the leaves `kept` (g,) alone, renumbered 0 … g-1 in their order; merges of others vanish."""
    if len(kept) == len(times) + 1:
        return np.asarray(children, dtype=np.int64), times
    (pairs,), (heights,) = restricted_trees(children[None], times[None], kept)
    return pairs.astype(np.int64), heights


def restricted_trees(children: np.ndarray, times: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`restricted` of stacked trees: children (T, g-1, 2) and times (T, g-1) over the leaves `kept` (g,) alone."""
    pairs = np.empty((len(times), len(kept) - 1, 2), np.int32)
    merges = np.empty(pairs.shape[:2], np.int64)
    for t, tree in enumerate(children):
        _restrict(np.ascontiguousarray(tree, dtype=np.int32), np.asarray(kept, dtype=np.int64), pairs[t], merges[t])
    return pairs, np.take_along_axis(times, merges, axis=1)


@jit
def _restrict(children: np.ndarray, kept: np.ndarray, pairs: np.ndarray, merges: np.ndarray) -> None:
    """Fill the pairs of the tree over `kept`, and the merge of `children` that each of them is."""
    n, g = len(children) + 1, len(kept)
    node = np.full(2 * n - 1, -1, np.int32)
    for i in range(g):
        node[kept[i]] = i
    made = 0
    for k in range(n - 1):
        a, b = node[children[k, 0]], node[children[k, 1]]
        if a >= 0 and b >= 0:
            node[n + k] = g + made
            pairs[made, 0], pairs[made, 1], merges[made] = a, b, k
            made += 1
        else:
            node[n + k] = max(a, b)
