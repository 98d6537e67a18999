"""When the clades of a tree came to be, with intervals that rest on enough draws.

The quantiles of a level need 2 / (1 - level) draws, so that each tail holds one (20 for 90 %). A clade in fewer trees
is looked for in all of them as the closest clade there (`transfer`), which is the same one with a few leaves moved; if
these are too few as well, there is no interval. Weighted draws count as (Σ w)² / Σ w².
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..numerics.weighted import pick_trees, weighted_quantile
from ..tree import Tree
from . import clades
from .transfer import transfers

if TYPE_CHECKING:
    from .posterior import Posterior


_CLOSEST_BYTES = 2e8  # of the closest merges that are kept; where all trees would need more, some are asked
_FEWEST_ASKED = 100


class Intervals(NamedTuple):
    """Intervals of times and where they are from."""

    interval: np.ndarray  # (n-1, 2), NaN where there is none
    basis: np.ndarray  # (n-1,) "exact", "closest" or "none"


def intervals(posterior: "Posterior", tree: Tree, level: float) -> Intervals:
    """Equal-tailed intervals of the times of the clades of a tree whose leaves are the posterior's."""
    table, weights = posterior.clade_table, posterior.weights
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    needed = 2 / (1 - level) * (1 - 1e-9)
    found = clades.find(table, tree.clade_keys())
    total, squares = (np.append(clades.weigh(table.ids, w, len(table.keys)), 0.0)[found] for w in (weights, weights**2))
    enough = (total**2 >= needed * squares) & (total > 0)
    interval = np.full((tree.n - 1, 2), np.nan)
    interval[enough] = clades.time_quantiles(table, posterior.times, weights, found[enough], tails.tolist())
    basis = np.where(enough, "exact", "none").astype("<U7")
    rare = np.flatnonzero(~enough)
    if len(rare) == 0:
        return Intervals(interval, basis)
    asked, weights = pick_trees(weights, max(_FEWEST_ASKED, int(_CLOSEST_BYTES / (4 * len(rare)))))
    closest = transfers(tree, posterior.children[asked], weights, rare).closest
    for k, merge in zip(rare, closest, strict=True):
        close = np.flatnonzero(merge >= 0)
        w = weights[close]
        if w.sum() ** 2 >= needed * np.square(w).sum() > 0:
            interval[k] = weighted_quantile(posterior.times[asked[close], merge[close]], w, tails)
            basis[k] = "closest"
    return Intervals(interval, basis)
