"""The pool of distance rows that all particles of a run share.

The row of a merged node lies in a slot: its distances to all lineages that were alive when it was made, in order of
age, and a short list of the smallest of them. Slots are counted: a particle copied by resampling shares the rows of its
ancestor, and a slot is free again when its node has merged in every particle that held it. Each row is shorter than
those before it, so a free slot fits the next row, and the first n/2 merges need the most: 3n²/8 numbers, 3n² bytes, for
each particle that shares nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from .pairs import list_nearest_leaves

_FREE, _MADE, _USED = 0, 1, 2  # in `counts`


class RowPool(NamedTuple):
    """Distance rows in slots: slot i < n is that of leaf i, the others are counted and reused."""

    leaf_eps: np.ndarray  # (n, n) distances between leaves, symmetric
    entries: np.ndarray  # the rows of merged nodes, end to end
    offset: np.ndarray  # where a slot begins in them
    users: np.ndarray  # how many particles hold it
    near_eps: np.ndarray  # (slots, K) the smallest entries of the row when it was written, ascending, or inf
    near_node: np.ndarray  # whose they are
    free: np.ndarray  # a stack of free slots
    counts: np.ndarray  # [free slots, slots ever made, entries used]


def make_pool(leaf_eps: np.ndarray, n_particles: int, n_near: int) -> RowPool:
    """Reserve the rows of all particles. The system hands out memory as it is written, so unused rows cost nothing."""
    n = len(leaf_eps)
    longest_rows = np.maximum(n - np.arange((n + 1) // 2 + 1), 0)  # alive are never more than n/2 merged nodes
    slots = n + n_particles * ((n + 1) // 2 + 2)
    near_eps, near_node = np.empty((slots, n_near)), np.empty((slots, n_near), dtype=np.int32)
    near_eps[:n], near_node[:n] = math.inf, 0
    list_nearest_leaves(leaf_eps, near_eps, near_node)
    return RowPool(
        leaf_eps,
        np.empty(n_particles * longest_rows.sum() + 1),
        np.empty(slots, dtype=np.int64),
        np.zeros(slots, dtype=np.int32),
        near_eps,
        near_node,
        np.empty(slots, dtype=np.int32),
        np.array([0, n, 0], dtype=np.int64),
    )


@jit(allocates=False)
def take_slot(pool, length):
    """Return a slot for a row of `length` entries, no more than any row before it had."""
    if pool.counts[_FREE] > 0:
        pool.counts[_FREE] -= 1
        slot = pool.free[pool.counts[_FREE]]
    else:
        slot = np.int32(pool.counts[_MADE])
        pool.counts[_MADE] += 1
        pool.offset[slot] = pool.counts[_USED]
        pool.counts[_USED] += length
    pool.users[slot] = 1
    return slot


@jit(allocates=False)
def give_back(pool, slot):
    """Note that one particle less holds a slot; it is free when nobody does."""
    pool.users[slot] -= 1
    if pool.users[slot] == 0:
        pool.free[pool.counts[_FREE]] = slot
        pool.counts[_FREE] += 1
