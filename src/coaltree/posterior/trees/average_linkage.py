"""Average linkage of the mean log clade size D̄ (see `mean_tree`) inside kept clades.

Average linkage inside kept clades is average linkage of D̄ - c · depth(i, j), depth the number of kept clades that hold
both leaves and c more than any D̄: all pairs within a clade come before any pair across its border. A kept clade of
two others is made of these in any case: large ones are linked one by one, and of pairs across only the mean is made.

Above `MAX_EXACT` leaves D̄ is not made for all pairs. A binary tree that has the kept clades, and elsewhere the splits
of the draw of highest clade credibility, is parted into groups of leaves, its subtrees; D̄ of a few leaves of every
group gives the tree of the groups, and D̄ of a group's own leaves the tree inside. These groups are one draw's, chance
and all; the tree found is therefore parted again, into large groups that are made anew inside, then into small ones,
until it hardly changes. Where large groups are kept clades, that is the exact tree inside them after one pass.
"""

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ...tree import merges
from ...tree.merges import Layout
from .extended_majority import Frame
from .leaf_positions import mean_over_pairs

MAX_EXACT = 10_000  # leaves, of which all pairs take 400 MB and SciPy as much again
MAX_AT_ONCE = 5000  # leaves of a larger tree of which all pairs are looked at
_MAX_GROUPS = 2500  # that it is parted into
_MAX_PAIRS = 1_000_000_000  # of leaves of these in all, about
_MIN_SPLIT, _MAX_SPLITS = 500, 20  # leaves of kept clades that are split for this, and how many of them
_MAX_PASSES = 4  # over a large tree, each parting the one before anew
_MIN_SHARED_CLADES = 0.99  # share of the clades that the last pass keeps


class DrawnTrees(NamedTuple):
    """Drawn trees, as far as their topology goes."""

    children: np.ndarray  # (T, n-1, 2)
    log_sizes: np.ndarray  # (T, n-1) log number of leaves under each merge, 0 at time 0
    weights: np.ndarray  # (T,) sum to 1


def average_linkage(draws: DrawnTrees, frame: Frame, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Children (n-1, 2) and heights (n-1,) of the average linkage of D̄ inside the frame; `rank` (n,) decides ties."""
    n = len(frame.children) + 1
    if n <= MAX_EXACT:
        return _link_exactly(draws, frame, rank)
    before = np.empty(0, dtype=np.uint64)
    largest = min(_MAX_GROUPS, max(1, _MAX_PAIRS // n))
    for _ in range(_MAX_PASSES):
        for limit in (1, largest):  # what is between small groups, then inside large ones
            children, heights = _link_parts(draws, frame, rank, *_parted(frame.children, limit))
            frame = _as_frame(children, heights, frame)
        keys = merges.clade_keys(merges.layout(frame.children))[:, 0]
        if np.isin(keys, before).mean() > _MIN_SHARED_CLADES:
            break
        before = keys
    return children, heights


def _link_exactly(draws: DrawnTrees, frame: Frame, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Link the leaves inside large kept clades, and then these."""
    n, place = len(frame.children) + 1, merges.layout(frame.children)
    groups, splits = _split_at_kept_clades(frame, place.size)
    groups.sort(key=lambda v: int(rank[place.leaves(v)].min()))
    inside = [_leaves_by_name(place, v, rank) for v in groups]
    children, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    node, made, done = {}, {}, 0  # made: what SciPy would number first
    for v, leaves, linkage in zip(groups, inside, _linkages(draws, frame, inside), strict=True):
        node[v], done = _add_merges(children, heights, done, *linkage, leaves)
        made[v] = (float(linkage[1][-1]), 0) if len(leaves) > 1 else (-1.0, int(rank[v]))
    for v, mean in zip(splits[::-1], _means_across(draws, frame, inside, splits[::-1]), strict=True):
        ends = np.array([node[c] for c in sorted(frame.children[v - n].tolist(), key=made.__getitem__)])
        node[v], done = _add_merges(children, heights, done, np.array([[0, 1]]), np.array([mean]), ends)
        made[v] = mean, 0
    return children, heights


def _split_at_kept_clades(frame: Frame, size: np.ndarray) -> tuple[list[int], list[int]]:
    """Groups of leaves, nodes of the frame, and the large kept clades of two others above them, the root first."""
    n, root = len(frame.children) + 1, 2 * len(frame.children)
    groups: list[int] = []
    splits: list[int] = []
    heap = [(-int(size[root]), root)]
    while heap:
        _, v = heapq.heappop(heap)
        pair = frame.children[v - n].tolist() if size[v] > _MIN_SPLIT and len(splits) < _MAX_SPLITS else []
        if pair and all(c < n or frame.depth[c - n] > frame.depth[v - n] for c in pair):
            splits.append(v)
            for c in pair:
                heapq.heappush(heap, (-int(size[c]), c))
        else:
            groups.append(v)
    return groups, splits


def _means_across(draws: DrawnTrees, frame: Frame, groups: list[np.ndarray], splits: list[int]) -> list[float]:
    """Mean D̄ of the pairs of leaves on both sides of each split, whose sides are made of the groups of leaves.

    Of a drawn tree the sum over pairs of two groups is Σ_k D(k) (a_k b_k' + b_k a_k'), with a_k and a_k' leaves of one
    group, b_k and b_k' of the other on the two sides of merge k.
    """
    if not splits:
        return []
    n, place = len(frame.children) + 1, merges.layout(frame.children)
    members = np.zeros((len(groups), n), bool)
    for g, leaves in enumerate(groups):
        members[g, leaves] = True
    total = np.zeros((len(groups), len(groups)))
    for pairs, log_sizes, weight in zip(draws.children, draws.log_sizes, draws.weights, strict=True):
        counts = merges.layout(pairs).shared(members).astype(np.float64)
        total += (counts[pairs[:, 0]] * (weight * log_sizes)[:, None]).T @ counts[pairs[:, 1]]
    sides = place.shared(members)[frame.children[np.array(splits) - n]]  # (splits, 2, groups)
    sums = np.einsum("sg,gh,sh->s", sides[:, 0] > 0, total + total.T, sides[:, 1] > 0)
    means: list[float] = (sums / sides.sum(axis=2).prod(axis=1)).tolist()
    return means


def _link_parts(
    draws: DrawnTrees, frame: Frame, rank: np.ndarray, small: Sequence[int], parted: dict[int, list[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Link the leaves of `small` subtrees, and then the subtrees that others are `parted` into."""
    n = len(frame.children) + 1
    place = merges.layout(frame.children)
    children, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    node, done = {}, 0
    inside = [_leaves_by_name(place, v, rank) for v in small]
    for v, leaves, linkage in zip(small, inside, _linkages(draws, frame, inside), strict=True):
        node[v], done = _add_merges(children, heights, done, *linkage, leaves)
    for v, groups in reversed(parted.items()):
        leaves, owners = _representatives(groups, place, rank)
        depth = frame.depth.copy()
        for g in groups:  # leaves of a group stay together
            depth[place.gap[place.start[g] : place.start[g] + place.size[g] - 1]] += 1
        (linkage,) = _linkages(draws, Frame(frame.children, depth), [leaves])
        node[v], done = _add_merges(children, heights, done, *linkage, np.array([node[g] for g in owners]))
    return children, heights


def _linkages(draws: DrawnTrees, frame: Frame, groups: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield children and heights of the average linkage of each group of leaves, those deep in the frame first."""
    from scipy.cluster.hierarchy import linkage

    step = np.log(len(frame.children) + 1) + 1.0
    shallow = (frame.depth.max() - frame.depth).astype(np.float64)
    penalties = mean_over_pairs(frame.children[None], [shallow], np.array([step]), groups)
    means = mean_over_pairs(draws.children, draws.log_sizes, draws.weights, groups)
    for condensed, penalty in zip(means, penalties, strict=True):
        if len(condensed) == 0:  # one leaf
            yield np.empty((0, 2), dtype=np.int64), np.empty(0)
            continue
        condensed += penalty
        Z = linkage(condensed, "average")
        yield Z[:, :2].astype(np.int64), Z[:, 2] - step * np.floor(Z[:, 2] / step + 1e-6)


def _add_merges(
    children: np.ndarray, heights: np.ndarray, done: int, joined: np.ndarray, height: np.ndarray, ends: np.ndarray
) -> tuple[int, int]:
    """Add the merges of one linkage, between nodes `ends` of which equal ones are one; its root, and merges so far."""
    n, node = len(children) + 1, ends.tolist()
    for (i, j), own in zip(joined.tolist(), height.tolist(), strict=True):
        a, b = node[i], node[j]
        if a != b:
            children[done], heights[done] = (a, b), max(own, 0.0, *(heights[c - n] for c in (a, b) if c >= n))
            a, done = n + done, done + 1
        node.append(a)
    return node[-1], done


# More leaves than can be linked at once


def _parted(children: np.ndarray, limit: int) -> tuple[list[int], dict[int, list[int]]]:
    """Small subtrees, and larger ones with their parts: `_MAX_GROUPS`, or fewer of at most `limit` leaves."""
    n, pairs = len(children) + 1, children.tolist()
    size = merges.layout(children).size.tolist()
    todo, small, parted = [2 * n - 2], [], {}
    for v in todo:
        if size[v] <= MAX_AT_ONCE:
            small.append(v)
            continue
        heap = [(-size[v], v)]
        while len(heap) < _MAX_GROUPS and heap[0][0] < -limit:
            _, largest = heapq.heappop(heap)
            for c in pairs[largest - n]:
                heapq.heappush(heap, (-size[c], c))
        parted[v] = [v for _, v in heap]
        todo += parted[v]
    return small, parted


def _representatives(groups: list[int], place: Layout, rank: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """At most `MAX_AT_ONCE` leaves, of each group one and of large groups more, in order; and the group of each."""
    sizes = place.size[groups]
    numbers = 1 + (MAX_AT_ONCE - len(groups)) * (sizes - 1) // max(int((sizes - 1).sum()), 1)
    numbers = np.minimum(numbers, sizes)  # no leaf stands for its group twice
    chosen = []
    for g, number in zip(groups, numbers.tolist(), strict=True):
        leaves = _leaves_by_name(place, g, rank)
        chosen.append(leaves[(2 * np.arange(number) + 1) * len(leaves) // (2 * number)])
    leaves = np.concatenate(chosen)
    by_name = np.argsort(rank[leaves])
    return leaves[by_name], np.repeat(groups, numbers)[by_name].tolist()


def _leaves_by_name(place: Layout, node: int, rank: np.ndarray) -> np.ndarray:
    """The leaves under a node in order of rank."""
    leaves = place.leaves(node)
    return leaves[np.argsort(rank[leaves])]


def _as_frame(children: np.ndarray, heights: np.ndarray, frame: Frame) -> Frame:
    """Another tree that has the kept clades of a frame, in its place."""
    children, _ = merges.in_order_of_time(children, heights)
    place = merges.layout(children)
    neighbours = np.column_stack([place.order[:-1], place.order[1:]])
    depth = np.empty(len(children), dtype=np.int64)
    depth[place.gap] = frame.depth[merges.common_ancestors(merges.layout(frame.children), neighbours)]
    return Frame(children, depth)
