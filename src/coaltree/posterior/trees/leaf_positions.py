"""Kernels on the order of the leaves of a drawn tree, in which every clade stands side by side.

Between two neighbours stands one merge, the one that joins them: the *gap*. The merge that first joins any two leaves
is the latest of the gaps between them, found in two looks at a table of the latest of 2^l gaps from each place on.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ...tree.merges import place_nodes

_ROWS_PER_REMOVAL = 512  # of a matrix, after which leaves whose rows are done are taken out


@jit
def exponents(n: int) -> np.ndarray:
    """(n + 1,) floor(log2(length)) for lengths up to n; 0 for 0."""
    exponent = np.zeros(n + 1, np.int64)
    for length in range(2, n + 1):
        exponent[length] = exponent[length // 2] + 1
    return exponent


@jit
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
    found: int = max(window[level, low], window[level, high - (1 << level)])
    return found


def mean_over_pairs(
    children: np.ndarray, values: Iterable[np.ndarray], weights: np.ndarray, groups: Sequence[np.ndarray]
) -> Iterator[np.ndarray]:
    """Yield Σ_t w_t (value of the merge of tree t that first joins two leaves) of the pairs of leaves of each group.

    A condensed matrix (m (m - 1) / 2,) for each group of m leaves, in SciPy's order of pairs. `values` are (n-1,) of
    each tree, none above that of the merge around it; no leaf is in two groups.
    """
    n = children.shape[1] + 1
    first = np.cumsum([0] + [len(leaves) for leaves in groups])
    where = _Groups(np.full(n, -1, np.int64), np.zeros(n, np.int64), first)
    for g, leaves in enumerate(groups):
        where.group[leaves], where.number[leaves] = g, np.arange(len(leaves))
    listed, joined = np.empty((len(children), first[-1]), np.int32), np.empty((len(children), first[-1]))
    for t, of_tree in enumerate(values):
        _list_by_group(np.ascontiguousarray(children[t], dtype=np.int32), of_tree, where, listed[t], joined[t])
    for low, high in itertools.pairwise(first.tolist()):
        yield _mean_over_pairs(listed[:, low:high].copy(), joined[:, low:high].copy(), weights)


class _Groups(NamedTuple):
    """Groups of leaves."""

    group: np.ndarray  # (n,) of each leaf, -1 for none
    number: np.ndarray  # (n,) of each leaf in its group
    first: np.ndarray  # (groups + 1,) where each begins, one after the other


@jit
def _list_by_group(
    children: np.ndarray, values: np.ndarray, groups: _Groups, listed: np.ndarray, joined: np.ndarray
) -> None:
    """Fill the leaves of each group from left to right, and the value of the merge that joins each to the next."""
    n, first = len(groups.group), groups.first
    size, start, gap = np.empty(2 * n - 1, np.int64), np.empty(2 * n - 1, np.int64), np.empty(n - 1, np.int64)
    place_nodes(children, size, start, gap)
    order, last, filled = np.empty(n, np.int64), np.empty(len(first), np.int64), first.copy()
    for i in range(n):
        order[start[i]] = i
    where, highest, height = np.empty(n, np.int64), np.empty(n), 0  # gaps that no higher one has come after
    for a in range(n):
        if a > 0:
            value = values[gap[a - 1]]
            while height > 0 and highest[height - 1] <= value:
                height -= 1
            where[height], highest[height] = a, value
            height += 1
        g = groups.group[order[a]]
        if g < 0:
            continue
        x = filled[g]
        listed[x] = groups.number[order[a]]
        if x > first[g]:
            low, high = 0, height - 1
            while low < high:
                middle = (low + high) // 2
                if where[middle] > last[g]:
                    high = middle
                else:
                    low = middle + 1
            joined[x - 1] = highest[low]
        filled[g], last[g] = x + 1, a


@jit
def _mean_over_pairs(listed: np.ndarray, joined: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Condensed means over trees, row by row; leaves whose rows are done are taken out now and then."""
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


@jit
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
