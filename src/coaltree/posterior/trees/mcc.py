"""The maximum clade credibility tree: of the sampled topologies the one with the highest Σ_k log f(clade of merge k).

A node's time is the weighted median of its clade's time over the trees that have the clade, raised where needed to the
times of its children.
"""

import numpy as np

from ..._runtime.jit import jit
from ...tree import Tree, merges, unchecked_tree
from . import clades
from .clades import CladeTable


def maximum_clade_credibility(
    children: np.ndarray, times: np.ndarray, weights: np.ndarray, table: CladeTable, labels: tuple[str, ...]
) -> Tree:
    """Return the tree with the highest Σ_k log f(clade of merge k), at median times."""
    best = most_credible(table, weights)
    median = clades.time_quantiles(table, times, weights, table.ids[best], [0.5])[:, 0]
    pairs = children[best].astype(np.int64)
    pairs, heights = merges.in_order_of_time(pairs, raised(merges.parents(pairs), median))
    return unchecked_tree(pairs, heights, labels)


def most_credible(table: CladeTable, weights: np.ndarray) -> int:
    """Return the number of the tree with the highest Σ_k log f(clade of merge k)."""
    with np.errstate(divide="ignore"):
        log_frequency = np.log(clades.frequencies(table, weights))
    return int(np.argmax(_sum_over_clades(table.ids, log_frequency)))


def raised(parents: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Raise parents to their children's times; inner nodes have larger numbers than their children, the root is -1."""
    n = len(parents) - len(times)
    times = np.array(times)
    for k, above in enumerate(parents[n:]):
        if above >= 0:
            times[above - n] = max(times[above - n], times[k])
    return times


@jit
def _sum_over_clades(ids: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(T,) sums of the values of each tree's clades."""
    total = np.zeros(len(ids))
    for t in range(len(ids)):
        for k in range(ids.shape[1]):
            total[t] += values[ids[t, k]]
    return total
