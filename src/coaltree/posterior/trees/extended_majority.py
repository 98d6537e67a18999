"""The extended majority-rule tree.

Clades are kept in order of their share of the draws, down to a fifth, each unless it contradicts one kept before: all
clades of more than half of the draws are among them.
"""

from typing import TYPE_CHECKING

import numpy as np

from . import clades

if TYPE_CHECKING:
    from ..posterior import Posterior

MIN_SUPPORT = 0.2  # share of the draws that a clade needs to be kept


def extended_majority(posterior: "Posterior") -> tuple[np.ndarray, np.ndarray]:
    """Children (n-1, 2) of a binary tree with all kept clades, and (n-1,) how many of these hold each merge."""
    n, table = posterior.n, clades.clade_table(posterior)
    frequency = clades.frequencies(table, posterior.weights)
    kept = np.flatnonzero((frequency > MIN_SUPPORT) & (table.sizes < n))
    kept = kept[np.lexsort((table.first[kept], table.sizes[kept], -frequency[kept].round(9)))]
    above, size = clades.compatible(posterior.draws.children, table.first[kept])
    children_first = np.argsort(size, kind="stable")[:-1].tolist()  # the root, which is last, has no parent
    depth, node = np.zeros(len(size), dtype=np.int64), [*range(n), *(-1 for _ in size[n:])]
    for v in reversed(children_first):
        depth[v] = depth[above[v]] + 1
    pairs, depths = [], []
    for v in children_first:
        parent = above[v]
        if node[parent] >= 0:  # its children are joined one after the other
            pairs.append((node[parent], node[v]))
            depths.append(depth[parent])
        node[parent] = node[v] if node[parent] < 0 else n + len(pairs) - 1
    return np.array(pairs), np.array(depths)
