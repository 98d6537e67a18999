"""Clades of many trees at once: which occur, how often, when.

A clade (the leaf set of a merge) is known by 64 bits, the XOR of its leaves' keys, so that one pass up a tree gives the
keys of all its clades (two of K different ones are equal with probability K² / 2^65). The distinct ones are numbered
0 … K-1 in the order met; from then on a tree is a row of n-1 integers.

    frequency of clade c:  f_c = Σ_t w_t [c in tree t]
"""

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.memory import require_memory
from ..._runtime.once import once
from ...numerics.weighted import weighted_quantile
from ...tree import Tree
from ...tree.merges import clade_keys, layout
from .leaf_positions import mean_over_pairs

if TYPE_CHECKING:
    from ..posterior import Posterior

_TREES_IN_CACHE = 64  # whose leaves are gone through together, row by row of a matrix


class CladeTable(NamedTuple):
    """The distinct clades of T trees, in the order met."""

    ids: np.ndarray  # (T, n-1) int32: the clade made by each merge
    keys: np.ndarray  # (K,) uint64
    sizes: np.ndarray  # (K,) number of leaves
    first: np.ndarray  # (K,) where it was first met, as tree · (n-1) + merge


@once
def clade_table(posterior: "Posterior") -> CladeTable:
    """The distinct clades of all trees of a posterior, and which of them each tree has."""
    return enumerate_clades(posterior.draws.children)


def enumerate_clades(children: np.ndarray) -> CladeTable:
    """Number the clades of stacked trees (T, n-1, 2)."""
    from pandas import factorize

    n = children.shape[1] + 1
    keys, sizes = np.empty(children.shape[:2], np.uint64), np.empty(children.shape[:2], np.int32)
    for t, place in enumerate(map(layout, children)):
        keys[t], sizes[t] = clade_keys(place)[:, 0], place.size[n:]
    ids, distinct = factorize(keys.ravel())
    first = np.flatnonzero(np.diff(np.maximum.accumulate(ids), prepend=-1) > 0)
    return CladeTable(ids.astype(np.int32).reshape(keys.shape), distinct, sizes.ravel()[first], first)


def frequencies(table: CladeTable, weights: np.ndarray) -> np.ndarray:
    """(K,) f_c = Σ_t w_t [c in tree t]."""
    return np.bincount(table.ids.ravel(), np.repeat(weights, table.ids.shape[1]), len(table.keys))


def find(table: CladeTable, tree: Tree) -> np.ndarray:
    """(n-1,) the number of each clade of a tree in the table, -1 where no tree has it."""
    from pandas import Index

    return np.asarray(Index(table.keys).get_indexer(tree.clade_keys()[:, 0]))


def time_medians(table: CladeTable, times: np.ndarray, weights: np.ndarray, clades: np.ndarray) -> np.ndarray:
    """(m,) weighted median of each clade's merge time over the trees that have it, NaN where none has."""
    ids = table.ids.ravel()
    order = np.argsort(ids, kind="stable")
    first, end = np.searchsorted(ids[order], [clades, clades + 1])
    medians = np.empty(len(clades))
    for k in range(len(clades)):
        here = order[first[k] : end[k]]
        medians[k] = weighted_quantile(times.ravel()[here], weights[here // times.shape[1]], 0.5)
    return medians


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


def compatible(children: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parents and sizes of leaves, root (n) and those clades (tree · (n-1) + merge) that contradict none before."""
    n = children.shape[1] + 1
    parent, size = [n] * n + [-1], [1] * n + [n]
    place = cache(lambda tree: layout(children[tree]))
    for tree, merge in zip(*np.divmod(where, n - 1), strict=True):
        inside = place(tree).leaves(n + merge).tolist()
        n_leaves, count = len(inside), Counter[int]()  # leaves of the clade under each node
        for node in inside:  # and under nodes that are found to be inside
            above = parent[node]
            count[above] += size[node]
            if count[above] == size[above]:
                inside.append(above)
        around = [node for node, n_shared in count.items() if n_shared < size[node]]
        if len(around) == 1:  # it is made of whole children of one node
            for node in inside:
                if parent[node] == around[0]:
                    parent[node] = len(parent)
            parent.append(around[0])
            size.append(n_leaves)
    return np.array(parent), np.array(size)
