"""Times of the clades of a tree, with intervals that rest on enough draws.

The quantiles of a level need 2 / (1 - level) draws, so that each tail holds one (20 for 90 %). A clade in fewer trees
is looked for in all of them as the closest clade there (`transfer_support`), which is the same one with a few leaves
moved; if these are too few as well, there is no interval. Weighted draws count as (Σ w)² / Σ w².
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...numerics.weighted import pick_trees, shortest_interval, weighted_quantile
from ...tree import Tree
from . import clades
from .transfer_support import Transfers, transfers

if TYPE_CHECKING:
    from ..posterior import Posterior

_MAX_CLOSEST_BYTES = 2e8  # of the closest merges that are kept; where all trees would need more, some are asked
_MIN_TREES_ASKED = 100


def intervals(posterior: "Posterior", tree: Tree, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Equal-tailed intervals (n-1, 2) of the times of a tree's clades, and (n-1,) "exact", "closest" or "none".

    That says where an interval is from; it is NaN where there is none.
    """
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    return _summaries(posterior, tree, level, lambda times, w: weighted_quantile(times, w, tails), 2)


def heights(posterior: "Posterior", tree: Tree, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Medians (n-1,) and shortest intervals (n-1, 2) of the same times, NaN where there are too few draws."""

    def both(times: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.append(weighted_quantile(times, weights, 0.5), shortest_interval(times, weights, level))

    found, _ = _summaries(posterior, tree, level, both, 3)
    return found[:, 0], found[:, 1:]


def transfers_of_draws(posterior: "Posterior", tree: Tree) -> Transfers:
    """Look for a tree's clades in all draws; the closest ones are kept of all merges, or of none of a large tree."""
    merges = np.arange(tree.n - 1 if _is_kept(posterior, tree) else 0)
    return transfers(tree, posterior.children, posterior.weights, merges)


def _is_kept(posterior: "Posterior", tree: Tree) -> bool:
    """Whether the closest clades of all draws are few enough to be kept."""
    return 4 * (tree.n - 1) * len(posterior) <= _MAX_CLOSEST_BYTES


def enough_draws(total: np.ndarray, squares: np.ndarray, level: float) -> np.ndarray:
    """Whether draws with this Σ w and Σ w² count as 2 / (1 - level), so that each tail of an interval holds one."""
    return np.asarray((total**2 >= 2 / (1 - level) * (1 - 1e-9) * squares) & (squares > 0))


def _summaries(
    posterior: "Posterior",
    tree: Tree,
    level: float,
    summary: Callable[[np.ndarray, np.ndarray], np.ndarray],
    width: int,
) -> tuple[np.ndarray, np.ndarray]:
    """(n-1, width) summary of each clade's times and their weights, and (n-1,) where these are from."""
    table, weights = posterior.clade_table, posterior.weights
    found = clades.find(table, tree.clade_keys())
    total, squares = (np.append(clades.frequencies(table, w), 0.0)[found] for w in (weights, weights**2))
    enough = enough_draws(total, squares, level)
    answer = np.full((tree.n - 1, width), np.nan)
    for k, times in zip(np.flatnonzero(enough), clades.clade_times(table, posterior.times, found[enough]), strict=True):
        answer[k] = summary(times, weights)
    basis = np.where(enough, "exact", "none").astype("<U7")
    rare = np.flatnonzero(~enough)
    if len(rare) == 0:
        return answer, basis
    asked = np.arange(len(posterior))
    if _is_kept(posterior, tree):
        closest = posterior.transfers(tree).closest[rare]
    else:
        asked, weights = pick_trees(weights, max(_MIN_TREES_ASKED, int(_MAX_CLOSEST_BYTES / (4 * len(rare)))))
        closest = transfers(tree, posterior.children[asked], weights, rare).closest
    for k, merge in zip(rare, closest, strict=True):
        close = np.flatnonzero(merge >= 0)
        w = weights[close]
        if enough_draws(w.sum(), np.square(w).sum(), level):
            answer[k] = summary(posterior.times[asked[close], merge[close]], w)
            basis[k] = "closest"
    return answer, basis
