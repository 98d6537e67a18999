"""Squared distances between lineages, and the short lists that tell which of them are small.

Every pair (i, j) belongs to the row of its younger node: leaf i owns its distances to leaves 0 … i-1, a merged node
those to all lineages that were alive when it was made, in order of age. So a row never changes once it is written:
later merges only add rows, and particles can share them. Of each row a few of the smallest entries are kept sorted
beside it; entries whose partner has merged since are skipped, so both the list and its last entry (a floor under
everything that is not in it) stay valid bounds for ever.
"""

import math

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ...model.process.diffusion import squared_distances
from ...model.process.whitened import Problem


def leaf_distances(problem: Problem) -> np.ndarray:
    """Return the squared distances (n, n) of a `Problem`, computed where it has only vectors."""
    if problem.eps is not None:
        return np.ascontiguousarray(problem.eps, dtype=float)
    n = problem.n
    require_memory(8 * n * n, f"the distance matrix of {n} rows", 'use sampler="regraft", which needs none')
    assert problem.W is not None
    return squared_distances(problem.W)


@jit(allocates=False)
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
def list_nearest_leaves(eps, near_eps, near_node):
    """List each leaf's nearest older leaves, ascending; inf where there are fewer."""
    for i in range(eps.shape[0]):
        worst = math.inf
        for j in range(i):
            if eps[i, j] < worst:
                insert_nearest(near_eps[i], near_node[i], eps[i, j], j)
                worst = near_eps[i, -1]
