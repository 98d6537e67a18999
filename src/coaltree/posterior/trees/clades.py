"""Clades of many trees at once: which occur, how often, when.

A clade (the leaf set of a merge) is known by a 128-bit key, the XOR of its leaves' keys, so that one pass up a tree
gives the keys of all its clades. One pass over the T trees numbers the distinct clades 0 … K-1 in the order met; from
then on a tree is a row of n-1 integers.

    frequency of clade c:  f_c = Σ_t w_t [c in tree t]
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ..._runtime.once import once
from ...numerics.weighted import weighted_quantile
from ...tree.merges import leaf_keys
from .leaf_positions import mean_over_pairs
from .stacked import read_only

if TYPE_CHECKING:
    from ..posterior import Posterior

_BLOCK_BYTES = 64e6  # of clade times that are gathered at once
_TREES_IN_CACHE = 64  # whose leaves are gone through together, row by row of a matrix


class CladeTable(NamedTuple):
    """The distinct clades of T trees."""

    ids: np.ndarray  # (T, n-1) int32: the clade made by each merge
    keys: np.ndarray  # (K, 2) uint64
    sizes: np.ndarray  # (K,) number of leaves
    first: np.ndarray  # (K,) where it was first met, as tree · (n-1) + merge
    slots: np.ndarray  # open-addressing index from key to clade


@once
def clade_table(posterior: "Posterior") -> CladeTable:
    """The distinct clades of all trees of a posterior, and which of them each tree has."""
    return enumerate_clades(posterior.draws.children)


def enumerate_clades(children: np.ndarray) -> CladeTable:
    """Number the clades of stacked trees (T, n-1, 2)."""
    children = read_only(children, np.int32)  # one type of argument, one compiled kernel
    n_trees, m = children.shape[:2]
    ids, leaves, count = np.empty((n_trees, m), np.int32), leaf_keys(m + 1), 0
    table = _new_table(ids, max(m, 512))
    for t in range(n_trees):
        if count + m > len(table.keys):
            smaller, table = table, _new_table(ids, 2 * (count + m))
            _copy(smaller, table, count)
        count = _add_tree(table, children[t], leaves, t, count)
    return table._replace(keys=table.keys[:count], sizes=table.sizes[:count], first=table.first[:count])


def _new_table(ids: np.ndarray, capacity: int) -> CladeTable:
    """An empty table with room for so many clades, and an index that is at most half full."""
    keys, sizes, first = np.empty((capacity, 2), np.uint64), np.empty(capacity, np.int32), np.empty(capacity, np.int64)
    return CladeTable(ids, keys, sizes, first, np.full(1 << (2 * capacity - 1).bit_length(), -1, np.int32))


def frequencies(table: CladeTable, weights: np.ndarray) -> np.ndarray:
    """(K,) f_c = Σ_t w_t [c in tree t]."""
    return weigh(table.ids, weights, len(table.keys))


def find(table: CladeTable, keys: np.ndarray) -> np.ndarray:
    """(m,) the number of each clade key (m, 2) in the table, -1 where no tree has it."""
    return np.asarray(_find(table.slots, table.keys, keys))


def time_medians(table: CladeTable, times: np.ndarray, weights: np.ndarray, clades: np.ndarray) -> np.ndarray:
    """(m,) weighted median of each clade's merge time over the trees that have it, NaN where none has."""
    return np.array([weighted_quantile(values, weights, 0.5) for values in clade_times(table, times, clades)])


def clade_times(table: CladeTable, times: np.ndarray, clades: np.ndarray) -> Iterator[np.ndarray]:
    """Yield each clade's merge time in every tree (T,), NaN where the tree has it not."""
    block = max(1, int(_BLOCK_BYTES / (8 * len(times))))
    for start in range(0, len(clades), block):
        these = clades[start : start + block]
        row_of = np.full(len(table.keys), -1)
        row_of[these[these >= 0]] = np.flatnonzero(these >= 0)
        rows = row_of[table.ids]
        tree, merge = np.nonzero(rows >= 0)
        gathered = np.full((len(these), len(times)), np.nan)
        gathered[rows[tree, merge], tree] = times[tree, merge]
        yield from gathered


def mean_cophenetic(children: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n, n) weighted mean over trees of the value (T, n-1) of the merge that first joins two leaves; diagonal 0."""
    from scipy.spatial.distance import squareform

    n = values.shape[1] + 1
    require_memory(16 * n * n, f"The cophenetic matrix of {n} leaves", "single trees answer cophenetic(pairs=…)")
    total = np.zeros(n * (n - 1) // 2)
    for t in range(0, len(values), _TREES_IN_CACHE):
        block = slice(t, t + _TREES_IN_CACHE)
        total += mean_over_pairs(children[block], values[block], weights[block])
    mean: np.ndarray = squareform(total, checks=False)
    return mean


@jit
def leaves_under(children: np.ndarray, node: int) -> np.ndarray:
    """The leaves below a node of one tree, in no promised order."""
    n = len(children) + 1
    stack = np.empty(n, np.int64)
    leaves = np.empty(n, np.int64)
    stack[0] = node
    height, n_leaves = 1, 0
    while height > 0:
        height -= 1
        c = stack[height]
        if c < n:
            leaves[n_leaves] = c
            n_leaves += 1
        else:
            stack[height] = children[c - n, 0]
            stack[height + 1] = children[c - n, 1]
            height += 2
    return leaves[:n_leaves]


def weigh(ids: np.ndarray, weights: np.ndarray, n_clades: int) -> np.ndarray:
    """(n_clades,) the sum of the weights of the trees, clades `ids` (T, n-1), that have each clade."""
    return np.bincount(ids.ravel(), np.repeat(weights, ids.shape[1]), n_clades)


@jit
def _slot(slots: np.ndarray, keys: np.ndarray, key_0: np.uint64, key_1: np.uint64) -> np.uint64:
    """Where this key is, or the empty slot where it belongs."""
    mask = np.uint64(len(slots) - 1)
    s = key_0 & mask
    while True:
        clade = slots[s]
        if clade < 0 or (keys[clade, 0] == key_0 and keys[clade, 1] == key_1):
            return s
        s = (s + np.uint64(1)) & mask


@jit
def _copy(table: CladeTable, larger: CladeTable, count: int) -> None:
    for clade in range(count):
        key_0, key_1 = table.keys[clade, 0], table.keys[clade, 1]
        larger.keys[clade, 0], larger.keys[clade, 1] = key_0, key_1
        larger.sizes[clade], larger.first[clade] = table.sizes[clade], table.first[clade]
        larger.slots[_slot(larger.slots, larger.keys, key_0, key_1)] = clade


@jit
def _add_tree(table: CladeTable, children: np.ndarray, leaves: np.ndarray, t: int, count: int) -> int:
    """Number the clades of tree t, the new ones from `count` on; return how many there are now."""
    n = len(leaves)
    keys, sizes = np.empty((2 * n - 1, 2), np.uint64), np.ones(2 * n - 1, np.int32)
    for i in range(n):  # an assignment of a whole slice takes seconds to compile, for its error message
        keys[i, 0], keys[i, 1] = leaves[i, 0], leaves[i, 1]
    for k in range(n - 1):
        a, b = children[k, 0], children[k, 1]
        key_0, key_1 = keys[a, 0] ^ keys[b, 0], keys[a, 1] ^ keys[b, 1]
        keys[n + k, 0], keys[n + k, 1], sizes[n + k] = key_0, key_1, sizes[a] + sizes[b]
        s = _slot(table.slots, table.keys, key_0, key_1)
        if table.slots[s] < 0:
            table.slots[s] = count
            table.keys[count, 0], table.keys[count, 1] = key_0, key_1
            table.sizes[count], table.first[count] = sizes[n + k], t * (n - 1) + k
            count += 1
        table.ids[t, k] = table.slots[s]
    return count


@jit
def _find(slots: np.ndarray, keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    clades = np.empty(len(wanted), np.int64)
    for k in range(len(wanted)):
        clades[k] = slots[_slot(slots, keys, wanted[k, 0], wanted[k, 1])]
    return clades
