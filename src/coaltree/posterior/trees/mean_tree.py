"""The mean tree: the one tree that figures, files and clusters are taken from.

For a drawn tree T let D_T(i, j) be the log number of leaves of the smallest clade that holds leaves i and j (0 where
they meet at time 0, as exact duplicates do), and D̄ its posterior mean. The mean tree is made in four steps.

1. *Clades.* Those of the extended majority-rule tree are kept (`extended_majority`): clades are taken in order of their
   share of the draws, down to a fifth, each if it does not contradict those taken before. All clades of more than half
   of the draws are among them.
2. *The rest* is the average linkage of D̄ inside these clades (`average_linkage`): how closely each pair of leaves is
   related on average decides (the average consensus of Lapointe & Cucumel 1997). Sizes, not times: they are free of
   scale, and one old outlier does not rule them. A node's *height* is its mean D̄, raised to those of its children.
3. *Order.* Of the two sides of a merge that comes first which puts similar leaves side by side (`leaf_order`).
4. *Times.* A node's time is the posterior mean of the time of the closest clade of each draw (`transfer_support`), not
   of the most recent common ancestor, which one wandering leaf lifts to the root. A parent below a child is raised to
   it, and so is its interval (`node_times`).

Above 10,000 leaves it is the tree of maximum clade credibility, and is cut by times.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ..._runtime.once import once
from ...numerics.weighted import pick_trees
from ...tree import Tree, merges, unchecked_tree
from ...tree.cut import name_rank
from .clades import clade_table
from .consensus import mcc_tree, raised
from .extended_majority import extended_majority
from .leaf_order import side_by_side
from .leaf_positions import mean_over_pairs
from .stacked import read_only
from .transfer_support import transfers

if TYPE_CHECKING:
    from ..posterior import Posterior


class DrawnTrees(NamedTuple):
    """Drawn trees, as far as their topology goes."""

    children: np.ndarray  # (T, n-1, 2)
    log_sizes: np.ndarray  # (T, n-1) log number of leaves under each merge, 0 at time 0
    weights: np.ndarray  # (T,) sum to 1


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
        if len(alone) == 0:
            return cluster
        nodes, size = np.unique(cluster[cluster >= 0], return_counts=True)
        in_order = np.lexsort(([rank[cluster == node].min() for node in nodes], -size))  # of equally close ones
        means = [_sum_of_d(*self._draws, cluster == nodes[c])[alone] / size[c] for c in in_order]
        joined = cluster.copy()
        joined[alone] = nodes[in_order][np.round(means, 9).argmin(axis=0)]
        return joined

    def __reduce__(self) -> tuple[Any, ...]:
        return MeanTree, (self._children, self._times, self._labels, self._heights, self._draws)


MAX_DRAWS = 100  # averaged; more change little
MAX_LINKED = 10_000  # leaves, of which all pairs take 400 MB and SciPy as much again


@once
def mean_tree(posterior: "Posterior") -> Tree:
    """Return the mean tree of a posterior."""
    n, labels = posterior.n, posterior.labels
    if n > MAX_LINKED:
        return mcc_tree(posterior)
    picked, weights = pick_trees(posterior.weights, MAX_DRAWS)
    require_memory((36 * len(picked) + 300 + 8 * n) * n, f"The mean tree of {n} leaves", "mcc_tree() needs less")
    table, times = clade_table(posterior), posterior.draws.times[picked]
    draws = DrawnTrees(
        posterior.draws.children[picked], np.log(table.sizes[table.ids[picked]]) * (times > 0.0), weights
    )
    if len(picked) == 1:
        children, heights, mean = draws.children[0], draws.log_sizes[0], times[0]
    else:
        children, heights = average_linkage(draws, *extended_majority(posterior), name_rank(labels))
        children, heights = merges.in_order_of_time(children, heights)
        tree = unchecked_tree(children, heights, labels)
        mean = raised(tree.parents, _mean_times(tree, draws, times))
        heights = heights[np.argsort(mean, kind="stable")]
        children, mean = merges.in_order_of_time(children, mean)
    children = side_by_side(children, name_rank(labels), posterior.model)
    return MeanTree(children, mean, labels, heights, draws)


def average_linkage(
    draws: DrawnTrees, frame: np.ndarray, depth: np.ndarray, rank: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Children (n-1, 2) and heights (n-1,) of the average linkage of D̄ inside a frame; `rank` (n,) decides ties.

    The frame has the kept clades: children (n-1, 2) of a tree, and (n-1,) how many kept clades hold each merge.

    It is average linkage of D̄ - c · depth(i, j), depth the number of kept clades that hold both leaves and c more than
    any D̄: all pairs within a clade come before any pair across its border. A height is the mean D̄ between the two
    sides, raised to those of the merges below.
    """
    from scipy.cluster.hierarchy import linkage

    n, step = len(rank), np.log(len(rank)) + 1.0
    number = np.append(rank, np.arange(n, 2 * n - 1))  # SciPy breaks ties by number
    shallow = (depth.max() - depth).astype(np.float64)
    Z = linkage(
        mean_over_pairs(
            number[np.concatenate([draws.children, frame[None]])],
            np.concatenate([draws.log_sizes, shallow[None]]),
            np.append(draws.weights, step),
        ),
        "average",
    )
    heights = Z[:, 2] - step * np.floor(Z[:, 2] / step + 1e-6)
    children = np.append(np.argsort(rank), np.arange(n, 2 * n - 1))[Z[:, :2].astype(np.int64)]
    for k, (a, b) in enumerate(children.tolist()):
        heights[k] = max(heights[k], 0.0, *(heights[c - n] for c in (a, b) if c >= n))
    return children, heights


def _mean_times(tree: Tree, draws: DrawnTrees, times: np.ndarray) -> np.ndarray:
    """(n-1,) the mean time of the closest clade of each draw.

    The times of `tree` are heights: where no draw has a close clade, the mean is interpolated between those with the
    next heights.
    """
    closest = transfers(tree, draws.children, draws.weights).closest
    weight = np.where(closest >= 0, draws.weights, 0.0)
    total = weight.sum(axis=1)
    is_known = total > 0.0
    mean = (weight * times[np.arange(len(times)), closest]).sum(axis=1) / np.where(is_known, total, 1.0)
    return np.asarray(np.where(is_known, mean, np.interp(tree.times, tree.times[is_known], mean[is_known])))


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
