"""The mean tree: the one tree that figures, files and clusters are taken from.

For a drawn tree T let D_T(i, j) be the log number of leaves of the smallest clade that holds leaves i and j (0 where
they meet at time 0, as exact duplicates do), and D̄ its posterior mean. The mean tree is made in three steps.

1. *Clades.* Those of the extended majority-rule tree are kept (`extended_majority`): clades are taken in order of their
   share of the draws, down to a fifth, each if it does not contradict those taken before. All clades of more than half
   of the draws are among them.
2. *The rest* is the average linkage of D̄ inside these clades (`average_linkage`): how closely each pair of leaves is
   related on average decides (the average consensus of Lapointe & Cucumel 1997). Sizes, not times: they are free of
   scale, and one old outlier does not rule them. A node's *height* is its mean D̄, raised to those of its children.
3. *Times.* A node's time is the posterior mean of the time of the closest clade of each draw (`transfer_support`), not
   of the most recent common ancestor, which one wandering leaf lifts to the root.

Times are then put in order. Clusters are split off in order of time where the draws are clear about it, with two
standard deviations between the times of two merges, and else in order of height: merges with enough leaves on both
sides to part clusters have their times made increasing in that order (isotonic regression), all others are kept between
their children and their parent.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ...numerics.weighted import pick_trees
from ...tree import Tree, merges, unchecked_tree
from ...tree.cut import name_rank
from ...tree.cuts import check_cut
from .average_linkage import MAX_AT_ONCE, MAX_EXACT, DrawnTrees, average_linkage
from .consensus import raised
from .extended_majority import extended_majority
from .stacked import read_only
from .transfer_support import transfers

if TYPE_CHECKING:
    from ..posterior import Posterior


class MeanTree(Tree):
    """A mean tree: a tree that knows D̄, by which it is cut.

    The heights of its merges are the mean D̄ between their two sides, and leaves that are in no clade of a cut join the
    cluster with the least mean D̄ to them. It keeps the draws that D̄ was taken over, also in files; a copy with other
    labels, or one read from text, is a plain tree.
    """

    __slots__ = ("_draws", "_heights")
    _heights: np.ndarray
    _draws: DrawnTrees

    def __init__(
        self, children: np.ndarray, times: np.ndarray, labels: tuple[str, ...], heights: np.ndarray, draws: DrawnTrees
    ) -> None:
        super().__init__(children, times, labels)
        self._heights, self._draws = read_only(heights), draws

    @property
    def heights(self) -> np.ndarray:
        """(n-1,) the mean D̄ between the two sides of each merge, at least that of the merges below. Read-only."""
        return self._heights

    def _joined(self, cluster: np.ndarray, rank: np.ndarray) -> np.ndarray:
        alone = np.flatnonzero(cluster < 0)
        nodes, size = np.unique(cluster[cluster >= 0], return_counts=True)
        in_order = np.lexsort(([rank[cluster == node].min() for node in nodes], -size))  # of equally close ones
        if len(alone) == 0 or len(nodes) == 1:
            return np.full_like(cluster, nodes[0]) if len(nodes) == 1 else cluster
        mean = np.empty((len(alone), len(nodes)))
        for column, c in enumerate(in_order.tolist()):
            mean[:, column] = _sum_of_d(*self._draws, cluster == nodes[c])[alone] / size[c]
        joined = cluster.copy()
        joined[alone] = nodes[in_order][mean.round(9).argmin(axis=1)]
        return joined

    def __reduce__(self) -> tuple[Any, ...]:
        return MeanTree, (self._children, self._times, self._labels, self._heights, self._draws)


MAX_DRAWS = 100  # averaged; more change little
MIN_DRAWS = 10
MAX_DRAWN_LEAVES = 20_000_000  # of these draws in all; where they would have more, fewer draws are averaged
MAX_CLUSTERS_BY_HEIGHT = 12  # that are split off in order of height: more would bend the times of small clades
_CLEARLY_LATER = 2.0  # standard deviations between the times of two merges, from which on these tell their order
_STEP = 1e-9  # by which times that would be equal differ, relatively


def mean_tree(posterior: "Posterior") -> Tree:
    """Return the mean tree of a posterior."""
    n, labels = posterior.n, posterior.labels
    n_draws = min(MAX_DRAWS, max(MIN_DRAWS, MAX_DRAWN_LEAVES // n))
    picked, weights = pick_trees(posterior.weights, n_draws)
    at_once = n if n <= MAX_EXACT else MAX_AT_ONCE
    n_bytes = 8 * at_once**2 + (36 * len(picked) + 300) * n  # two condensed matrices; draws and their order of leaves
    require_memory(n_bytes, f"The mean tree of {n} leaves", "mcc_tree() needs less")
    table, times = posterior.clade_table, posterior.times[picked]
    draws = DrawnTrees(posterior.children[picked], np.log(table.sizes[table.ids[picked]]) * (times > 0.0), weights)
    if len(picked) == 1:
        return MeanTree(draws.children[0], times[0], labels, draws.log_sizes[0], draws)
    children, heights = average_linkage(draws, extended_majority(posterior), name_rank(labels))
    tree = unchecked_tree(*merges.in_order_of_time(children, heights), labels)
    mean, sd = _closest_times(tree, draws, times)
    raised_times = _in_order(tree, mean, sd)
    children, times = merges.in_order_of_time(tree.children, raised_times)
    return MeanTree(children, times, labels, tree.times[np.argsort(raised_times, kind="stable")], draws)


def _closest_times(tree: Tree, draws: DrawnTrees, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n-1,) mean and standard deviation of the time of the closest clade of each draw, NaN where none is close."""
    closest = transfers(tree, draws.children, draws.weights, np.arange(tree.n - 1)).closest
    sums, unit = np.zeros((3, tree.n - 1)), max(float(times[:, -1].max()), 1e-300)
    for w, drawn, merge in zip(draws.weights, times, closest.T, strict=True):
        is_close = merge >= 0
        sums[:, is_close] += w * (drawn[merge[is_close]] / unit) ** np.arange(3)[:, None]
    with np.errstate(invalid="ignore"):
        mean, square = sums[1:] / sums[0]
    return unit * mean, unit * np.sqrt(np.maximum(square - mean**2, 0.0))


def _in_order(tree: Tree, times: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """(n-1,) increasing times for a tree whose merges come in order of height; NaN is interpolated."""
    from scipy.optimize import isotonic_regression

    n, heights = tree.n, tree.times
    is_known = ~np.isnan(times)
    times = np.where(is_known, times, np.interp(heights, heights[is_known], times[is_known]))
    late = raised(tree.parents, times)
    min_size = max(2, check_cut(n, min(MAX_CLUSTERS_BY_HEIGHT, n)).min_size)
    splits = np.flatnonzero(tree.sizes[tree.children].min(axis=1) >= min_size)
    splits = _by_time_or_height(splits[np.lexsort((heights[splits], late[splits]))], late, sd, heights.round(9))
    low, high = np.zeros(2 * n - 1), np.full(2 * n - 1, np.inf)
    if len(splits):
        step = 1.0 + _STEP * np.arange(len(splits)) / len(splits)  # so that equal ones are in order, too
        low[n + splits] = times[splits] = isotonic_regression(times[splits]).x * step
    for k, (a, b) in enumerate(tree.children.tolist()):
        low[n + k] = max(low[n + k], low[a], low[b])
    for k in range(n - 2, -1, -1):
        times[k] = min(max(times[k], low[n + k]), high[n + k])
        high[tree.children[k]] = times[k]
    rank = np.argsort(np.argsort(times, kind="stable"))
    return times * (1.0 + _STEP * rank / n)


def _by_time_or_height(splits: np.ndarray, times: np.ndarray, sd: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Merges in order of time, but neighbours whose order the draws leave open in order of height."""
    order = splits.tolist()
    for last in range(1, len(order)):
        for j in range(last, 0, -1):
            a, b = order[j - 1], order[j]
            is_later = times[b] - times[a] > _CLEARLY_LATER * np.hypot(sd[a], sd[b])
            if is_later or heights[a] <= heights[b]:
                break
            order[j - 1], order[j] = b, a
    return np.array(order, dtype=np.int64)


@jit
def _sum_of_d(children: np.ndarray, log_sizes: np.ndarray, weights: np.ndarray, is_in: np.ndarray) -> np.ndarray:
    """(n,) Σ_t w_t Σ_x D_t(i, x) over the leaves x of one set, for every leaf i outside of it.

    Below a merge, what is on its other side adds D of the merge for each leaf of the set.
    """
    n = len(is_in)
    total = np.zeros(n)
    count, beside = np.empty(2 * n - 1, np.int64), np.zeros(2 * n - 1)
    for i in range(n):
        count[i] = is_in[i]
    for t in range(len(weights)):
        for k in range(n - 1):
            count[n + k] = count[children[t, k, 0]] + count[children[t, k, 1]]
        for k in range(n - 2, -1, -1):
            a, b = children[t, k, 0], children[t, k, 1]
            beside[a] = beside[n + k] + log_sizes[t, k] * count[b]
            beside[b] = beside[n + k] + log_sizes[t, k] * count[a]
        for i in range(n):
            total[i] += weights[t] * beside[i]
    return total
