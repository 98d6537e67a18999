"""The maximum clade credibility tree: of the sampled topologies the one with the highest Σ_k log f(clade of merge k).

A node's time is the weighted median of its clade's time over the trees that have the clade, raised where needed to the
times of its children.
"""

from typing import TYPE_CHECKING

import numpy as np

from ...tree import Tree, merges, unchecked_tree
from . import clades
from .clades import CladeTable

if TYPE_CHECKING:
    from ..posterior import Posterior


def mcc_tree(posterior: "Posterior") -> Tree:
    """Return the tree with the highest Σ_k log f(clade of merge k), at median times."""
    table, weights = posterior.clade_table, posterior.weights
    best = most_credible(table, weights)
    median = clades.time_quantiles(table, posterior.times, weights, table.ids[best], [0.5])[:, 0]
    pairs = posterior.children[best].astype(np.int64)
    return unchecked_tree(*merges.in_order_of_time(pairs, raised(merges.parents(pairs), median)), posterior.labels)


def most_credible(table: CladeTable, weights: np.ndarray) -> int:
    """Return the number of the tree with the highest Σ_k log f(clade of merge k)."""
    with np.errstate(divide="ignore"):
        log_frequency = np.log(clades.frequencies(table, weights))
    return int(np.argmax(np.cumsum(log_frequency[table.ids], axis=1)[:, -1]))  # one after the other: equal trees tie


def raised(parents: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Raise parents to their children's times; inner nodes have larger numbers than their children, the root is -1."""
    n = len(parents) - len(times)
    times = np.array(times)
    for k, above in enumerate(parents[n:]):
        if above >= 0:
            times[above - n] = max(times[above - n], times[k])
    return times
