"""Leaf order: similar leaves stand side by side, in figures, files and the numbers of clusters.

From the root down, each merge puts that side first with which the means of neighbouring clades are closest together.
O(n d) for any tree. SciPy's `optimal_leaf_ordering` takes O(n^3) and does not return the optimum (scipy issue 11227):
the path along our order is shorter.
"""

import numpy as np

from ...model.data.replicates import leaf_means
from ...model.model import Model
from ...tree import merges


def model_values(model: Model) -> np.ndarray:
    """(n, d) values of the leaves as the model has them: transformed, and means of several rows; NaN where missing."""
    values = model.values if model.replicates is None else leaf_means(model.values, model.replicates.leaf)
    return np.asarray(values[model.leaves.distinct.leaf])


def side_by_side(children: np.ndarray, rank: np.ndarray, model: Model) -> np.ndarray:
    """Children (n-1, 2) with sides swapped so that leaves with similar values, all columns alike, are neighbours.

    The smaller side comes first where there is nothing to tell them apart, then by `rank` (n,). Trees without values
    stay as they are.
    """
    if model.X is None:
        return np.array(children, dtype=np.int64)
    place, n, values = merges.layout(children), len(rank), model_values(model)
    is_seen = ~np.isnan(values)
    mean = np.where(is_seen, values, 0.0).sum(axis=0) / np.maximum(is_seen.sum(axis=0), 1)
    values = np.where(is_seen, values - mean, 0.0)
    sd = values.std(axis=0)
    values /= np.where(sd > 0.0, sd, 1.0)
    sums = np.vstack([np.zeros(values.shape[1]), np.cumsum(values[place.order], axis=0)])
    first = rank.tolist()
    for a, b in children.tolist():
        first.append(min(first[a], first[b]))
    before, after = np.full((2, 2 * n - 1), -1)  # what stands beside each node

    def distance(u: int, v: int) -> float:
        ends = place.start[[u, v]]
        mean = (sums[ends + place.size[[u, v]]] - sums[ends]) / place.size[[u, v], None]
        return float(np.linalg.norm(mean[0] - mean[1]))

    ordered = np.array(children, dtype=np.int64)
    for k in range(n - 2, -1, -1):
        a, b = sorted(ordered[k].tolist(), key=lambda c: (place.size[c], first[c]))
        left, right = int(before[n + k]), int(after[n + k])
        gain = 0.0 if left < 0 else distance(left, a) - distance(left, b)
        gain += 0.0 if right < 0 else distance(right, b) - distance(right, a)
        if gain > 1e-9:
            a, b = b, a
        ordered[k] = a, b
        before[a], after[a], before[b], after[b] = left, b, a, right
        if left >= 0:
            after[left] = a
        if right >= 0:
            before[right] = b
    return ordered
