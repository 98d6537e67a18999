"""Intervals of the times of the clades of a tree.

The times of a clade are those of the closest clade of each draw (`transfer_support`): the same one, or one with a few
leaves moved. Quantiles of a level need 2 / (1 - level) draws that have one, so that each tail holds one (20 for 90 %);
weighted draws count as (Σ w)² / Σ w². Where the ends of an interval are below those of a merge below, they are raised
to them, as the times of the mean tree are.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...numerics.weighted import shortest_interval, weighted_quantile
from ...tree import Tree
from .consensus import raised
from .transfer_support import draws_for, transfers_of_draws

if TYPE_CHECKING:
    from ..posterior import Posterior


def intervals(posterior: "Posterior", tree: Tree, level: float) -> np.ndarray:
    """Equal-tailed intervals (n-1, 2) of the times of a tree's clades; NaN where too few draws have a close one."""
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    return _summaries(posterior, tree, level, lambda times, w: weighted_quantile(times, w, tails), 2)


def heights(posterior: "Posterior", tree: Tree, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Medians (n-1,) and shortest intervals (n-1, 2) of the same times, NaN where there are too few draws."""

    def both(times: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.append(weighted_quantile(times, weights, 0.5), shortest_interval(times, weights, level))

    summary = _summaries(posterior, tree, level, both, 3)
    return summary[:, 0], summary[:, 1:]


def _summaries(
    posterior: "Posterior",
    tree: Tree,
    level: float,
    summary: Callable[[np.ndarray, np.ndarray], np.ndarray],
    width: int,
) -> np.ndarray:
    """(n-1, width) summary of the times of each clade and their weights, no less than those of the clades inside."""
    draws, weights = draws_for(posterior, tree)
    times, answer = posterior.draws.times[draws], np.full((tree.n - 1, width), np.nan)
    for k, merge in enumerate(transfers_of_draws(posterior, tree).closest):
        close = np.flatnonzero(merge >= 0)
        w = weights[close]
        if len(w) and w.sum() ** 2 >= 2 / (1 - level) * (1 - 1e-9) * np.square(w).sum():  # a draw for each tail
            answer[k] = summary(times[close, merge[close]], w)
    parents = tree.parents
    lifted = np.column_stack([raised(parents, column) for column in np.nan_to_num(answer).T])
    return np.where(np.isnan(answer), np.nan, lifted)
