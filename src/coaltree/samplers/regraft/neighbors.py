"""Nearest leaves, at several densities: the lists from which local regrafting takes its candidates.

Level 0 lists for each row its nearest rows; level j its nearest among a random n / 4^j of them. A subtree high in
the tree holds all of a leaf's nearest rows; among a sample about as large as the number of lineages alive, the
nearest ones belong to the lineages around it.

Lists are made from the whitened data and chance alone, never from a tree, so that candidate sets stay independent of
where a subtree was.
"""

import numpy as np

from ...model.data.neighbor_graph import NeighborGraph
from .nearest import nearest, nearest_in_graph

_SMALLEST_LEVEL = 32


def neighbor_lists(
    W: np.ndarray, n_neighbors: int, rng: np.random.Generator, graph: NeighborGraph | None = None
) -> np.ndarray:
    """Lists (levels, n, n_neighbors) int32 of nearest rows, nearest first; -1 where there are fewer.

    Exact up to 20,000 rows; above, more than 95 of 100 are found where rows have structure (`nearest`). With a
    `graph` level 0 has its neighbours, ranked; the others are still searched, among a quarter of the rows or fewer.
    """
    W = np.ascontiguousarray(W, dtype=np.float64)
    n = len(W)
    k = min(n_neighbors, n - 1)
    order = rng.permutation(n)
    sizes = [n]
    while sizes[-1] // 4 >= _SMALLEST_LEVEL:
        sizes.append(sizes[-1] // 4)
    lists = np.full((len(sizes), n, k), -1, np.int32)
    centred = W - W.mean(axis=0)
    for level, size in enumerate(sizes):
        if level == 0 and graph is not None:
            lists[level] = nearest_in_graph(centred, k, graph)
            continue
        sample = np.sort(order[:size])
        lists[level] = nearest(centred, centred if size == n else centred[sample], k, sample)
    return lists
