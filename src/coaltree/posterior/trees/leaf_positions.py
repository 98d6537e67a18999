"""Means over trees of what joins two leaves, row by row of the matrix of pairs.

In the order of a tree's leaves every clade stands side by side. Between two neighbours stands one merge, the one that
joins them; the merge that first joins any two leaves is the latest of those between them.
"""

import numpy as np

from ..._runtime.jit import jit
from ...tree.merges import layout


def mean_over_pairs(children: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ_t w_t (value of the merge of tree t that first joins two leaves), condensed, in SciPy's order of pairs.

    `values` (T, n-1) are none above that of the merge around it.
    """
    n_trees, n = len(children), children.shape[1] + 1
    (order, start), joined = np.empty((2, n_trees, n), np.int32), np.empty((n_trees, n - 1))
    for t, place in enumerate(map(layout, children)):
        order[t], start[t], joined[t] = place.order, place.start[:n], values[t, place.gap]
    return _mean_over_pairs(order, start, joined, np.array(weights, dtype=np.float64))


@jit
def _mean_over_pairs(order: np.ndarray, start: np.ndarray, joined: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means over trees of leaves in this order, each `joined` to the next by a value; leaf i stands at start[t, i]."""
    n_trees, n = order.shape
    mean, row, done = np.empty(n * (n - 1) // 2), np.empty(n), 0
    for i in range(n - 1):
        row[:] = 0.0
        for t in range(n_trees):
            value = -np.inf
            for x in range(start[t, i] + 1, n):
                value = max(value, joined[t, x - 1])
                row[order[t, x]] += weights[t] * value
            value = -np.inf
            for x in range(start[t, i] - 1, -1, -1):
                value = max(value, joined[t, x])
                row[order[t, x]] += weights[t] * value
        for j in range(i + 1, n):
            mean[done] = row[j]
            done += 1
    return mean
