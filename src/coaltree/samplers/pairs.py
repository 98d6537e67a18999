"""Squared distances between lineages, and the short lists that tell which of them are small.

Every pair (i, j) belongs to the row of its younger node: leaf i owns its distances to leaves 0 … i-1, a merged node
those to all lineages that were alive when it was made, in order of age. So a row never changes once it is written:
later merges only add rows, and particles can share them. Of each row a few of the smallest entries are kept sorted
beside it; entries whose partner has merged since are skipped, so both the list and its last entry (a floor under
everything that is not in it) stay valid bounds for ever.
"""

import math
from typing import NamedTuple

import numpy as np

from .._jit import jit
from ..diffusion import squared_distances
from ..memory import require_memory

class LeafPairs(NamedTuple):
    """Distances between leaves, shared by all particles."""

    eps: np.ndarray  # (n, n)
    near_eps: np.ndarray  # (n, K) the smallest of eps[i, :i], ascending, inf where there are fewer
    near_log: np.ndarray  # their logarithms
    near_node: np.ndarray  # whose they are


def leaf_pairs(problem, n_near):
    """Compute the distances of a `Problem`, or take those it has, and list each row's `n_near` nearest older leaves."""
    n = problem.n
    if problem.eps is not None:
        eps = np.ascontiguousarray(problem.eps, dtype=float)
    else:
        require_memory(8 * n * n, f"the distance matrix of {n} rows", 'use sampler="regraft", which needs none')
        eps = squared_distances(problem.W)
    near_eps = np.full((n, n_near), np.inf)
    near_node = np.zeros((n, n_near), dtype=np.int32)
    _list_nearest_leaves(eps, near_eps, near_node)
    with np.errstate(divide="ignore"):
        return LeafPairs(eps, near_eps, np.log(near_eps), near_node)


@jit
def insert_nearest(near_eps, near_node, eps, node):
    """Put (eps, node) into an ascending list of fixed length, dropping its last; call only if eps < near_eps[-1]."""
    k = near_eps.size - 1
    while k > 0 and near_eps[k - 1] > eps:
        near_eps[k] = near_eps[k - 1]
        near_node[k] = near_node[k - 1]
        k -= 1
    near_eps[k] = eps
    near_node[k] = node


@jit
def _list_nearest_leaves(eps, near_eps, near_node):
    for i in range(eps.shape[0]):
        worst = math.inf
        for j in range(i):
            if eps[i, j] < worst:
                insert_nearest(near_eps[i], near_node[i], eps[i, j], j)
                worst = near_eps[i, -1]
