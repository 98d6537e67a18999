"""Clusters of a tree, or of many, that are not its outliers.

Given k and a least size m, a merge is a *true split* if both its sides have at least m leaves. The k - 1 latest true
splits (of equal times the higher node) leave k clades of at least m leaves each, and *strays*: the leaves that hang on
the way to them. A clade also sheds its smaller side as strays while its merge is later than the earliest chosen split
and the larger side keeps m leaves: an outlier that joins just below a split is one as well.

A stray belongs to the clade that it merges with first, the largest where it merges with several at once (of equal ones
the higher node). Where a tree has fewer than k - 1 true splits, m is halved until it has. With m = 1 every merge is a
true split: the last k - 1 merges are undone, and there are no strays.
"""

import warnings

import numpy as np

from .._runtime.jit import jit
from ..errors import ClusterSizeWarning

_ON_THE_WAY, _INSIDE, _STRAY = 0, 1, 2  # what a node is: at or above the core of a clade, within it, or shed


def cut_trees(children: np.ndarray, n_splits: np.ndarray, min_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels (T, n) of stacked trees, each cut by its `n_splits` latest true splits, and the least size used for each.

    Clusters are numbered in order of first leaf. A stray of cluster c has the label ~c, which is negative.
    """
    children = np.ascontiguousarray(children, dtype=np.int32).view()
    children.flags.writeable = False  # one type of argument, one compiled kernel
    return _cut_trees(children, np.asarray(n_splits, dtype=np.int64), min_size)


def warn_of_smaller_clusters(asked: int, used: int, whose: str) -> None:
    """Say that `whose` ("the tree has", …) too few true splits, so that smaller clusters had to be allowed."""
    if used < asked:
        message = (
            f"{whose} too few splits with {asked} leaves on both sides, so clusters of {used} or more were allowed "
            "(min_size was halved)."
        )
        warnings.warn(ClusterSizeWarning(message, asked, used), stacklevel=3)


@jit
def _cut_trees(children, n_splits, min_size):
    n_trees, n = len(children), children.shape[1] + 1
    labels = np.empty((n_trees, n), np.int32)
    used = np.empty(n_trees, np.int64)
    size = np.ones(2 * n - 1, np.int64)
    chosen = np.empty(n - 1, np.bool_)
    holds = np.zeros(2 * n - 1, np.bool_)  # a chosen split, at the node or below it
    largest = np.arange(2 * n - 1)  # of the k clades, the largest at a node or below it
    clade = np.empty(2 * n - 1, np.int64)  # the one that a node belongs to
    role = np.empty(2 * n - 1, np.int8)
    number = np.empty(2 * n - 1, np.int32)
    for t in range(n_trees):
        for k in range(n - 1):
            size[n + k] = size[children[t, k, 0]] + size[children[t, k, 1]]
        m = min_size
        while _choose(children[t], size, n_splits[t], m, chosen) < n_splits[t]:
            m //= 2
        used[t] = m
        for k in range(n - 1):
            a, b = children[t, k, 0], children[t, k, 1]
            holds[n + k] = chosen[k] or holds[a] or holds[b]
            c, d = largest[a], largest[b]
            if chosen[k]:
                largest[n + k] = c if size[c] > size[d] or (size[c] == size[d] and c > d) else d
            else:
                largest[n + k] = c if holds[a] else d if holds[b] else n + k
        earliest = 0
        while earliest < n - 1 and not chosen[earliest]:
            earliest += 1
        clade[2 * n - 2], role[2 * n - 2] = 2 * n - 2, _ON_THE_WAY
        for k in range(n - 2, -1, -1):
            v = n + k
            a, b = children[t, k, 0], children[t, k, 1]
            if size[a] < size[b] or (holds[b] and not holds[a]):
                a, b = b, a
            if chosen[k]:
                clade[a], clade[b] = a, b
                role[a] = role[b] = _ON_THE_WAY
            elif holds[v] or (role[v] == _ON_THE_WAY and k > earliest and size[a] >= m):
                clade[a] = clade[b] = largest[v] if holds[v] else clade[v]
                role[a], role[b] = _ON_THE_WAY, _STRAY
            else:
                clade[a] = clade[b] = clade[v]
                role[a] = role[b] = _STRAY if role[v] == _STRAY else _INSIDE
        number[:] = -1
        count = 0
        for i in range(n):
            c = clade[i]
            if number[c] < 0:
                number[c] = count
                count += 1
            labels[t, i] = ~number[c] if role[i] == _STRAY else number[c]
    return labels, used


@jit
def _choose(children, size, n_splits, min_size, chosen):
    """Mark the n_splits latest merges with at least min_size leaves on both sides; return how many there are."""
    found = 0
    for k in range(len(children) - 1, -1, -1):
        a, b = children[k, 0], children[k, 1]
        chosen[k] = found < n_splits and size[a] >= min_size and size[b] >= min_size
        found += chosen[k]
    return found
