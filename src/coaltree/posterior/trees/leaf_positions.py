"""Kernels on the order of the leaves of a drawn tree, in which every clade stands side by side.

Between two neighbours stands one merge, the one that joins them: the *gap*. The merge that first joins any two leaves
is the latest of the gaps between them, found in two looks at a table of the latest of 2^l gaps from each place on.
"""

import numpy as np

from ..._runtime.jit import jit
from ...tree import merges

_ROWS_PER_REMOVAL = 512  # of a matrix, after which leaves whose rows are done are taken out


@jit(inline="always")
def exponents(n: int) -> np.ndarray:
    """(n + 1,) floor(log2(length)) for lengths up to n; 0 for 0."""
    exponent = np.zeros(n + 1, np.int64)
    for length in range(2, n + 1):
        exponent[length] = exponent[length // 2] + 1
    return exponent


@jit(inline="always")
def fill_windows(window: np.ndarray) -> None:
    """Fill window (levels, n) from its first row, the gaps: entry (l, x) is the latest of 2^l gaps from x on."""
    n = window.shape[1]
    for level in range(1, len(window)):
        half = 1 << (level - 1)
        for x in range(n - (1 << level)):
            window[level, x] = max(window[level - 1, x], window[level - 1, x + half])


@jit
def latest(window: np.ndarray, exponent: np.ndarray, low: int, high: int) -> int:
    """The latest merge between positions low < high: two windows of 2^l gaps, l = floor(log2(high - low)), cover it."""
    level = exponent[high - low]
    last: int = max(window[level, low], window[level, high - (1 << level)])
    return last


def mean_over_pairs(children: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ_t w_t (value of the merge of tree t that first joins two leaves), condensed, in SciPy's order of pairs.

    `values` (T, n-1) are none above that of the merge around it.
    """
    n_trees, n = len(children), children.shape[1] + 1
    listed, joined = np.empty((n_trees, n), np.int32), np.empty((n_trees, n))
    for t in range(n_trees):
        place = merges.layout(children[t])
        listed[t], joined[t, : n - 1] = place.order, values[t, place.gap]
    return _mean_over_pairs(listed, joined, np.array(weights, dtype=np.float64))


@jit
def _mean_over_pairs(listed: np.ndarray, joined: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means over trees, row by row, of leaves `listed` from left to right, each `joined` to the next by a value.

    Leaves whose rows are done are taken out now and then.
    """
    n_trees, m = listed.shape
    mean, row, at = np.empty(m * (m - 1) // 2), np.empty(m), np.empty((n_trees, m), np.int32)
    left, done = m, 0
    for i in range(m - 1):
        if i % _ROWS_PER_REMOVAL == 0:
            for t in range(n_trees):
                _take_out(i, listed[t, :left], joined[t, :left], at[t])
            left = m - i
        row[i + 1 :] = 0.0
        for t in range(n_trees):
            value = -np.inf
            for x in range(at[t, i] + 1, left):
                value = max(value, joined[t, x - 1])
                row[listed[t, x]] += weights[t] * value
            value = -np.inf
            for x in range(at[t, i] - 1, -1, -1):
                value = max(value, joined[t, x])
                row[listed[t, x]] += weights[t] * value
        for j in range(i + 1, m):
            mean[done] = row[j]
            done += 1
    return mean


@jit(inline="always")
def _take_out(i: int, listed: np.ndarray, joined: np.ndarray, at: np.ndarray) -> None:
    """Leave only leaves from i on, and fill where they stand."""
    n_kept, value = 0, -np.inf
    for x in range(len(listed)):
        if listed[x] >= i:
            if n_kept > 0:
                joined[n_kept - 1] = value
            listed[n_kept], at[listed[x]] = listed[x], n_kept
            n_kept += 1
            value = joined[x]
        else:
            value = max(value, joined[x])
