"""Squared distances between lineages: rows in a pool that all particles of a run share.

Every pair (i, j) belongs to the row of its younger node: leaf i owns its distances to leaves 0 … i-1, a merged node
those to all lineages alive when it was made, in order of age. So a row never changes once it is written. Its smallest
entries are kept sorted beside it; those whose partner has merged since are skipped, so that their last one stays a
bound on all others.

The row of a merged node lies in a slot, shared by copies of a particle, and free again when its node has merged in all
of them. Each row is shorter than those before it, so a free slot fits the next row, and the first n/2 merges need the
most: 3n²/8 numbers, 3n² bytes, for each particle that shares nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ..._runtime.typing import Int
from ...model.process.diffusion import squared_distances
from ...model.process.whitened import Problem

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


def leaf_distances(problem: Problem) -> np.ndarray:
    """Return the squared distances (n, n) of a `Problem`'s rows."""
    n = problem.n
    require_memory(8 * n * n, f"the distance matrix of {n} rows", 'use sampler="regraft", which needs none')
    return squared_distances(problem.W)


def make_pool(leaf_eps: np.ndarray, n_particles: int, n_near: int) -> RowPool:
    """Reserve the rows of all particles. The system hands out memory as it is written, so unused rows cost nothing."""
    n = len(leaf_eps)
    longest_rows = np.maximum(n - np.arange((n + 1) // 2 + 1), 0)  # at most n/2 merged nodes are alive
    slots = n + n_particles * ((n + 1) // 2 + 2)
    entries = np.empty(n_particles * longest_rows.sum() + 1)
    offset, users, free = np.empty(slots, np.int64), np.zeros(slots, np.int32), np.empty(slots, np.int32)
    near_eps, near_node = np.empty((slots, n_near)), np.empty((slots, n_near), np.int32)
    near_eps[:n], near_node[:n] = math.inf, 0
    _find_nearest_leaves(leaf_eps, near_eps, near_node)
    return RowPool(leaf_eps, entries, offset, users, near_eps, near_node, free, np.array([0, n, 0], np.int64))


@jit
def _find_nearest_leaves(eps: np.ndarray, near_eps: np.ndarray, near_node: np.ndarray) -> None:
    """Write each leaf's nearest older leaves, ascending; inf where there are fewer."""
    for i in range(eps.shape[0]):
        worst = math.inf
        for j in range(i):
            if eps[i, j] < worst:
                insert_nearest(near_eps[i], near_node[i], eps[i, j], j)
                worst = near_eps[i, -1]


@jit(inline="always")
def insert_nearest(near_eps: np.ndarray, near_node: np.ndarray, eps: float, node: Int) -> None:
    """Insert into ascending entries of fixed number, dropping the last; call only if eps < near_eps[-1]."""
    k = near_eps.size - 1
    while k > 0 and near_eps[k - 1] > eps:
        near_eps[k] = near_eps[k - 1]
        near_node[k] = near_node[k - 1]
        k -= 1
    near_eps[k] = eps
    near_node[k] = node


@jit
def take_slot(pool: RowPool, length: Int) -> np.int32:
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


@jit
def give_back(pool: RowPool, slot: Int) -> None:
    """Release a slot for one particle; it is free when no particle holds it."""
    pool.users[slot] -= 1
    if pool.users[slot] == 0:
        pool.free[pool.counts[_FREE]] = slot
        pool.counts[_FREE] += 1
