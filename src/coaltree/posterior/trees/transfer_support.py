"""Transfer distances: how many leaves must move to make a clade of one tree a clade of another.

For a clade A of a reference tree and a drawn tree with clades C, its leaves and its root among them,

    δ(A) = min_C |A Δ C| = min_C |A| + |C| - 2 |A ∩ C| ,      support(A) = 1 - E[δ(A)] / min(|A| - 1, n - |A|)

(Lemoine et al. 2018, rooted): a leaf of A leaves |A| - 1 to move and the root n - |A|, so that support is between 0
and 1. Of the clades with the same leaves of A the smallest is best, which is a common ancestor of two neighbours of A
in the drawn tree's order of leaves. For these there is one *gap* each, the latest merge between them, and it has the
leaves of A as far as no later gap: a clade costs O(|A|), a tree O(Σ |A|), about n log n for a coalescent tree. Gaps are
found in two looks at a table of the latest of 2^l merges between neighbours from each place on.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.once import once
from ...numerics.weighted import pick_trees
from ...tree import Tree
from ...tree.merges import layout, place_nodes
from . import clades
from .stacked import read_only

if TYPE_CHECKING:
    from ..posterior import Posterior

_MAX_CLOSEST_BYTES = 2e8  # of the closest merges that are kept; where those of all draws need more, fewer are taken
_MIN_DRAWS = 100  # a support then has a standard error of 0.05 at most
MAX_RELATIVE_DISTANCE = 0.25  # up to which another clade counts as the same one with a few leaves moved


class Transfers(NamedTuple):
    """Clades of a tree looked for in T drawn trees."""

    distance: np.ndarray  # (n-1,) E[δ] of each merge's clade
    closest: np.ndarray  # (n-1, T) the closest merge of each drawn tree, -1 where none is close


def transfers(tree: Tree, children: np.ndarray, weights: np.ndarray) -> Transfers:
    """Look for the clades of `tree` in stacked trees.

    Of clades that are equally close it is the one with more leaves of A. Trees without weight are passed over.
    """
    n = tree.n
    closest = np.full((n - 1, len(children)), -1, np.int32)
    nearby = (MAX_RELATIVE_DISTANCE * greatest(tree.sizes[n:], n)).astype(np.int64)
    place = layout(tree.children)
    drawn = read_only(children, np.int32), read_only(weights)  # one type of argument, one compiled kernel
    exponent = np.frexp(np.arange(n + 1))[1].astype(np.int64) - 1  # floor(log2(length))
    distance = _transfers(np.array(tree.children), place.start, place.size, *drawn, exponent, nearby, closest)
    return Transfers(distance, closest)


@once
def transfers_of_draws(posterior: "Posterior", tree: Tree) -> Transfers:
    """Look for a tree's clades in all draws, or in some of a large posterior.

    Computed once: supports, times of nodes, files and the page ask for the same.
    """
    draws, weights = draws_for(posterior, tree)
    return transfers(tree, posterior.draws.children[draws], weights)


def draws_for(posterior: "Posterior", tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Which draws are looked at, and what each then counts."""
    return pick_trees(posterior.weights, max(_MIN_DRAWS, int(_MAX_CLOSEST_BYTES / (4 * tree.n))))


def exact_support(posterior: "Posterior", tree: Tree) -> np.ndarray:
    """(n-1,) exact support of the clades of a tree over the posterior's leaves, in their order."""
    table = clades.clade_table(posterior)
    frequency = np.minimum(clades.frequencies(table, posterior.weights), 1.0)
    ids = clades.find(table, tree)
    return np.where(ids >= 0, frequency[ids], 0.0)


def transfer_support(posterior: "Posterior", tree: Tree) -> np.ndarray:
    """(n-1,) transfer support of the same."""
    distance = transfers_of_draws(posterior, tree).distance
    return np.asarray(np.clip(1.0 - distance / greatest(tree.sizes[tree.n :], tree.n), 0.0, 1.0))


def greatest(sizes: np.ndarray, n: int) -> np.ndarray:
    """min(|A| - 1, n - |A|), but 1 for the root, whose distance is 0."""
    return np.asarray(np.maximum(np.minimum(sizes - 1, n - sizes), 1))


@jit
def _transfers(
    pairs: np.ndarray,
    own_start: np.ndarray,
    own_size: np.ndarray,
    children: np.ndarray,
    weights: np.ndarray,
    exponent: np.ndarray,
    close: np.ndarray,
    closest: np.ndarray,
) -> np.ndarray:
    """(n-1,) E[δ] of each merge's clade; fills `closest`, as of `Transfers`, where δ is at most `close`."""
    n = len(pairs) + 1
    total = np.zeros(n - 1)
    size, start = np.empty(2 * n - 1, np.int64), np.empty(2 * n - 1, np.int64)  # of the drawn tree
    window = np.empty((exponent[n] + 1, n), np.int32)
    at, merged = np.empty(n, np.int64), np.empty(n, np.int64)
    stack, stacked = np.empty(n, np.int64), np.empty(n, np.int64)
    for t in range(len(children)):
        if weights[t] == 0.0:
            continue
        place_nodes(children[t], size, start, window[0, : n - 1])
        for level in range(1, len(window)):
            half = 1 << (level - 1)
            for x in range(n - 2 * half):
                window[level, x] = max(window[level - 1, x], window[level - 1, x + half])
        for i in range(n):
            at[own_start[i]] = start[i]  # where the leaves stand in the drawn tree, sorted clade by clade from here on
        for k in range(n - 1):
            low = own_start[n + k]
            middle, high = low + own_size[pairs[k, 0]], low + own_size[n + k]
            x, y = low, middle
            for z in range(high - low):
                if y == high or (x < middle and at[x] < at[y]):
                    merged[z] = at[x]
                    x += 1
                else:
                    merged[z] = at[y]
                    y += 1
            s = high - low
            for z in range(s):  # an assignment of a whole slice takes seconds to compile, for its error message
                at[low + z] = merged[z]
            ancestor = _latest(window, exponent, merged[0], merged[s - 1])
            least, nearest = size[n + ancestor] - s, ancestor
            if least > 0:
                least, nearest = _closest(merged[:s], window, exponent, size, stack, stacked)
            total[k] += weights[t] * least
            if least <= close[k]:
                closest[k, t] = nearest
    return total


@jit(inline="always")
def _latest(window: np.ndarray, exponent: np.ndarray, low: int, high: int) -> int:
    """The latest merge between positions low < high: two windows of 2^l gaps, l = floor(log2(high - low)), cover it."""
    level = exponent[high - low]
    last: int = max(window[level, low], window[level, high - (1 << level)])
    return last


@jit(inline="always")
def _closest(
    at: np.ndarray, window: np.ndarray, exponent: np.ndarray, size: np.ndarray, stack: np.ndarray, stacked: np.ndarray
) -> tuple[int, int]:
    """min_C |A| + |C| - 2 |A ∩ C| for leaves at sorted positions, and the merge of that clade, -1 for a leaf.

    Gap x stands between leaves x and x + 1 of A; as long as no later one comes, a gap waits on the stack.
    """
    n, s = (len(size) + 1) // 2, len(at)
    least, nearest, most = s - 1, -1, 1
    height = 0
    for x in range(s):
        gap = _latest(window, exponent, at[x], at[x + 1]) if x < s - 1 else n
        while height > 0 and stacked[height - 1] < gap:
            height -= 1
            merge = stacked[height]
            shared = x - (stack[height - 1] if height > 0 else -1)
            distance = s + size[n + merge] - 2 * shared
            if distance < least or (distance == least and shared > most):
                least, nearest, most = distance, merge, shared
        stack[height], stacked[height] = x, gap
        height += 1
    return least, nearest
