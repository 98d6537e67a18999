"""Kernels on the order of the leaves of a drawn tree, in which every clade stands side by side.

Between two neighbours stands one merge, the one that joins them: the *gap*. The merge that first joins any two leaves
is the latest of the gaps between them, found in two looks at a table of the latest of 2^l gaps from each place on.
"""

import numpy as np

from .._runtime.jit import jit


@jit
def place(children, size, start, gap):
    """Fill the sizes of a tree's nodes, their first positions from left to right, and the merge in each gap."""
    n = len(gap) + 1
    size[:n] = 1
    for k in range(n - 1):
        size[n + k] = size[children[k, 0]] + size[children[k, 1]]
    start[2 * n - 2] = 0
    for k in range(n - 2, -1, -1):
        left, right = children[k, 0], children[k, 1]
        start[left] = start[n + k]
        start[right] = start[n + k] + size[left]
        gap[start[right] - 1] = k


@jit
def exponents(n):
    """(n + 1,) floor(log2(length)) for lengths up to n; 0 for 0."""
    exponent = np.zeros(n + 1, np.int64)
    for length in range(2, n + 1):
        exponent[length] = exponent[length // 2] + 1
    return exponent


@jit
def fill_windows(window):
    """Fill window (levels, n) from its first row, the gaps: entry (l, x) is the latest of 2^l gaps from x on."""
    n = window.shape[1]
    for level in range(1, len(window)):
        half = 1 << (level - 1)
        for x in range(n - (1 << level)):
            window[level, x] = max(window[level - 1, x], window[level - 1, x + half])


@jit
def latest(window, exponent, low, high):
    """The latest merge between positions low < high: two windows of 2^l gaps, l = floor(log2(high - low)), cover it."""
    level = exponent[high - low]
    return max(window[level, low], window[level, high - (1 << level)])


def mean_over_pairs(
    children: np.ndarray, values: np.ndarray, weights: np.ndarray, groups: list[np.ndarray]
) -> list[np.ndarray]:
    """Σ_t w_t (value of the merge of tree t that first joins two leaves), for the pairs of leaves of each group.

    One condensed matrix (m (m - 1) / 2,) for each group of m leaves, in SciPy's order of pairs. `values` is (T, n-1);
    no leaf is in two groups.
    """
    n = children.shape[1] + 1
    group, local = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    for g, leaves in enumerate(groups):
        group[leaves], local[leaves] = g, np.arange(len(leaves))
    m = np.array([len(leaves) for leaves in groups], dtype=np.int64)
    ends = np.cumsum(m * (m - 1) // 2)
    total = np.zeros(ends[-1])
    kinds = ((children, np.int32), (values, np.float64), (weights, np.float64))
    drawn = [np.ascontiguousarray(array, dtype=dtype).view() for array, dtype in kinds]
    for array in drawn:
        array.flags.writeable = False  # one type of argument, one compiled kernel
    _add_over_pairs(total, *drawn, group, local, m)
    return np.split(total, ends[:-1])


@jit
def _add_over_pairs(total, children, values, weights, group, local, sizes):
    n, n_groups = len(group), len(sizes)
    size, start = np.empty(2 * n - 1, np.int64), np.empty(2 * n - 1, np.int64)
    exponent = exponents(n)
    is_whole = n_groups == 1 and sizes[0] == n
    window = np.empty((1 if is_whole else exponent[n] + 1, n), np.int32)
    first = np.zeros(n_groups + 1, np.int64)  # where each group stands in what follows
    for g in range(n_groups):
        first[g + 1] = first[g] + sizes[g]
    order, filled = np.empty(n, np.int64), np.empty(n_groups, np.int64)
    listed, at, gap = np.empty(first[-1], np.int64), np.empty(first[-1], np.int64), np.empty(n, np.int64)
    for t in range(len(children)):
        place(children[t], size, start, window[0, : n - 1])
        if not is_whole:
            fill_windows(window)
        for i in range(n):
            order[start[i]] = i
        for g in range(n_groups):
            filled[g] = first[g]
        for a in range(n):
            g = group[order[a]]
            if g >= 0:
                listed[filled[g]], at[filled[g]] = local[order[a]], a
                filled[g] += 1
        offset = 0
        for g in range(n_groups):
            low, m = first[g], sizes[g]
            for x in range(low, low + m - 1):
                gap[x - low] = latest(window, exponent, at[x], at[x + 1])
            for x in range(m - 1):
                i, joined = listed[low + x], 0
                for y in range(x + 1, m):
                    j = listed[low + y]
                    joined = max(joined, gap[y - 1])
                    a, b = min(i, j), max(i, j)
                    total[offset + a * m - a * (a + 1) // 2 + b - a - 1] += weights[t] * values[t, joined]
            offset += m * (m - 1) // 2
