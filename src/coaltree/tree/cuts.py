"""Clusters of a tree, or of many, that are not its outliers.

Splits are chosen one after the other, from the root down. The j-th makes j + 1 clusters of the tree: it is the latest
merge that was not chosen yet and has at least m_j leaves on both sides (of equal times the higher node), with
m_j = n / (4 (j + 1)) rounded up, or the same number for all. Where no merge is left, m is halved until there is one. As
m only falls, k + 1 clusters always refine k clusters.

k - 1 splits leave k clades, and *side branches*: what hangs on the way to them and is too small to be a cluster. A
clade also sheds its smaller side while its merge is later than the earliest chosen split and the larger side keeps m
leaves: an outlier that joins just below a split is a side branch as well.

A side branch belongs to the cluster that it meets first: where that place holds several, it follows the larger side of
every chosen split (of equal ones the higher node) down to one of them. With m = 1 every merge is a split: the last
k - 1 merges are undone, and there are no side branches.
"""

import math
import warnings
from typing import Literal, NamedTuple

import numpy as np

from .._runtime.jit import jit
from .._runtime.validation import check_count, check_number
from ..errors import ClusterSizeWarning, InputError

MinSize = int | Literal["auto"]  # of a cluster
_PART_OF_MEAN_SIZE = 4  # a cluster has at least a quarter of the mean number of leaves, n / k (`make bench ONLY=cut`)
_ON_THE_WAY, _INSIDE, _SIDE_BRANCH = 0, 1, 2  # what a node is: at or above the core of a clade, within it, or shed


class Cut(NamedTuple):
    """How to cut trees of n leaves: into a number of clusters, or at a time."""

    n_clusters: int | None
    time: float  # NaN with a number of clusters
    min_sizes: np.ndarray  # least number of leaves on both sides of each split (see `cuts`); 1 for a cut at a time
    outliers: bool  # whether outliers are named (-1) rather than given to a cluster

    @property
    def min_size(self) -> int:
        """Least number of leaves on both sides of the last split."""
        return int(self.min_sizes[-1])


def check_cut(
    n: int, n_clusters: int | None = None, time: float | None = None, min_size: MinSize = "auto", outliers: bool = False
) -> Cut:
    """Return how to cut trees of n leaves; `min_size="auto"` is a quarter of n / n_clusters, rounded up."""
    if (n_clusters is None) == (time is None):
        given = "neither" if time is None else "both"
        raise InputError(f"exactly one of n_clusters and time must be given, not {given}.")
    if isinstance(min_size, str) and min_size != "auto":
        raise InputError(f'min_size must be "auto" or a whole number from 1 to {n}, not {min_size!r}.')
    least = None if min_size == "auto" else check_count("min_size", min_size, 1, n)
    if not isinstance(outliers, bool | np.bool_):
        raise InputError(f"outliers must be True or False, not {outliers!r}.")
    if n_clusters is None:
        if outliers or (least or 1) > 1:
            raise InputError("min_size and outliers need n_clusters: a cut at a time has clusters of every size.")
        return Cut(None, check_number("time", time), np.ones(n - 1, dtype=np.int64), False)
    k = check_count("n_clusters", n_clusters, 1, n)
    made = np.arange(min(k, 2), k + 1)  # clusters after each split; of one cluster there is none
    sizes = -(-n // (_PART_OF_MEAN_SIZE * made)) if least is None else np.full(len(made), least)
    return Cut(k, math.nan, sizes, bool(outliers))


def cut_trees(children: np.ndarray, n_splits: np.ndarray, min_sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels (T, n) of stacked trees, each cut by its first `n_splits` splits, and the least size used for each.

    `min_sizes` holds m_j of each split. Clusters are numbered in order of first leaf. A leaf of a side branch that
    belongs to cluster c has the label ~c, which is negative.
    """
    children = np.ascontiguousarray(children, dtype=np.int32).view()
    children.flags.writeable = False  # one type of argument, one compiled kernel
    return _cut_trees(children, np.asarray(n_splits, dtype=np.int64), np.array(min_sizes, dtype=np.int64))


def side_branches(children: np.ndarray, how: Cut) -> np.ndarray:
    """(n,) which leaves of one tree, cut into a number of clusters, are in side branches."""
    assert how.n_clusters is not None
    labels, _ = cut_trees(children[None], np.array([how.n_clusters - 1]), how.min_sizes)
    return np.asarray(labels[0] < 0)


def warn_of_smaller_clusters(asked: int, used: int) -> None:
    """Say that the tree has too few large splits, so that smaller clusters had to be allowed."""
    if used < asked:
        message = (
            f"The tree has too few splits with {asked} leaves on both sides, so clusters of {used} or more leaves were "
            "allowed (min_size was halved)."
        )
        warnings.warn(ClusterSizeWarning(message, asked, used), stacklevel=3)


@jit
def _cut_trees(children: np.ndarray, n_splits: np.ndarray, min_sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n_trees, n = len(children), children.shape[1] + 1
    labels = np.empty((n_trees, n), np.int32)
    used = np.empty(n_trees, np.int64)
    size = np.ones(2 * n - 1, np.int64)
    chosen = np.empty(n - 1, np.bool_)
    holds = np.zeros(2 * n - 1, np.bool_)  # a chosen split, at the node or below it
    largest = np.arange(2 * n - 1)  # the clade at a node or below it that side branches above it belong to
    clade = np.empty(2 * n - 1, np.int64)  # the one that a node belongs to
    role = np.empty(2 * n - 1, np.int8)
    number = np.empty(2 * n - 1, np.int32)
    for t in range(n_trees):
        for k in range(n - 1):
            size[n + k] = size[children[t, k, 0]] + size[children[t, k, 1]]
        m = used[t] = _choose(children[t], size, n_splits[t], min_sizes, chosen)
        for k in range(n - 1):
            a, b = children[t, k, 0], children[t, k, 1]
            holds[n + k] = chosen[k] or holds[a] or holds[b]
            if chosen[k]:
                a_is_larger = size[a] > size[b] or (size[a] == size[b] and a > b)
                largest[n + k] = largest[a] if a_is_larger else largest[b]
            else:
                largest[n + k] = largest[a] if holds[a] else largest[b] if holds[b] else n + k
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
                role[a], role[b] = _ON_THE_WAY, _SIDE_BRANCH
            else:
                clade[a] = clade[b] = clade[v]
                role[a] = role[b] = _SIDE_BRANCH if role[v] == _SIDE_BRANCH else _INSIDE
        number[:] = -1
        count = 0
        for i in range(n):
            c = clade[i]
            if number[c] < 0:
                number[c] = count
                count += 1
            labels[t, i] = ~number[c] if role[i] == _SIDE_BRANCH else number[c]
    return labels, used


@jit
def _choose(children: np.ndarray, size: np.ndarray, n_splits: int, min_sizes: np.ndarray, chosen: np.ndarray) -> int:
    """Mark the first n_splits splits; return the least size that the last of them was chosen with."""
    for k in range(len(children)):
        chosen[k] = False
    k, m = len(children) - 1, len(size)
    for j in range(n_splits):
        if min_sizes[j] < m:
            k, m = len(children) - 1, min_sizes[j]  # from the root again: smaller sides count now
        while chosen[k] or min(size[children[k, 0]], size[children[k, 1]]) < m:
            k -= 1
            if k < 0:
                k, m = len(children) - 1, m // 2
        chosen[k] = True
    return int(min(m, min_sizes[0]))
