"""Draws with weights that sum to 1: effective sample size, picking evenly, quantiles, shortest intervals."""

from typing import Any, Literal

import numpy as np

from .._runtime.typing import ArrayLike
from .._runtime.validation import check_count

_SLACK = 1 - 1e-12  # keeps a share such as 0.5 of equal weights from depending on how their sum was rounded


def effective_sample_size(weights: np.ndarray) -> float:
    """1 / Σ w² (Kish)."""
    return float(1.0 / np.square(weights).sum())


def pick_evenly(
    weights: np.ndarray, k: int, offset: float = 0.5, side: Literal["left", "right"] = "left"
) -> np.ndarray:
    """Numbers of k draws, in order, that each stand for a share 1/k of the weight; at most once if weights are equal.

    Draw t is picked as often as the points (i + offset)/k, i = 0 … k-1, fall into its share of [0, 1]: ⌊k w_t⌋ or
    ⌈k w_t⌉ times. `side` says which draw a point on the edge between two belongs to; with side "right", an offset of
    0 never picks a draw without weight.
    """
    if np.ptp(weights) <= 1e-12:
        k = min(k, len(weights))
    points = (offset + np.arange(k)) / k
    return np.minimum(np.searchsorted(np.cumsum(weights), points, side=side), len(weights) - 1)


def pick_trees(weights: np.ndarray, n_trees: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of at most n_trees trees, evenly spread by weight, and their weights."""
    check_count("n_trees", n_trees, 1)
    if len(weights) <= n_trees:
        chosen = np.flatnonzero(weights > 0.0)
        return chosen, weights[chosen]
    chosen, counts = np.unique(pick_evenly(weights, n_trees), return_counts=True)
    return chosen, counts / n_trees


def weighted_quantile(values: np.ndarray, weights: np.ndarray, q: ArrayLike) -> Any:
    """The smallest value with at least a share q of the weight at or below it; NaN values do not count."""
    values, below = _sorted_with_cumulative_weight(values, weights)
    if len(values) == 0:
        return np.full(np.shape(q), np.nan)
    position = np.searchsorted(below, np.asarray(q) * below[-1] * _SLACK)
    return values[np.minimum(position, len(values) - 1)]


def shortest_interval(values: np.ndarray, weights: np.ndarray, share: float) -> np.ndarray:
    """(2,) ends of the shortest interval with at least a share of the weight (of highest density, for one peak)."""
    values, below = _sorted_with_cumulative_weight(values, weights)
    if len(values) == 0:
        return np.full(2, np.nan)
    before = np.append(0.0, below[:-1])
    last = np.searchsorted(below, before + share * below[-1] * _SLACK)
    fits = last < len(values)
    first = np.flatnonzero(fits)[np.argmin(values[last[fits]] - values[fits])]
    return values[[first, last[first]]]


def _sorted_with_cumulative_weight(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values that are not NaN and have weight, in ascending order, and the weight up to each."""
    counts = ~np.isnan(values) & (weights > 0)
    values, weights = values[counts], weights[counts]
    order = np.argsort(values, kind="stable")
    return values[order], np.cumsum(weights[order])
