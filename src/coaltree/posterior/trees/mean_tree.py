"""The mean tree: the one tree that figures, files and clusters are taken from.

For a drawn tree T let D_T(i, j) be the log number of leaves of the smallest clade that holds leaves i and j (0 where
they meet at time 0, as exact duplicates do), and D̄ its posterior mean. The mean tree is the average linkage of D̄ inside
the *extended majority-rule tree*: clades are taken in order of their share of the draws, down to a fifth, each if it
does not contradict those taken before. All clades of more than half of the draws are among them; what they leave open
is resolved by how closely each pair of leaves is related on average (the average consensus of Lapointe & Cucumel 1997).
Sizes, not times: they are free of scale, and one old outlier does not rule them.

Average linkage inside given clades is average linkage of D̄ - c · depth(i, j), depth the number of given clades that
hold both leaves and c more than any D̄: all pairs within a clade come before any pair across its border.

A node's *height* is its mean D̄, raised to those of its children. Its *time* is the posterior mean of the time of the
closest clade of each draw (`transfer`), not of the most recent common ancestor, which one wandering leaf lifts to the
root. Clusters are split off in order of time where the draws are clear about it, with two standard deviations between
the times of two merges, and else in order of height: merges with enough leaves on both sides to part clusters have
their times made increasing in that order (isotonic regression), all others are kept between their children and their
parent.

Above `MAX_EXACT` leaves D̄ is not made for all pairs. A binary tree that has the given clades, and elsewhere the splits
of the draw of highest clade credibility, is parted into groups of leaves, its subtrees; D̄ of a few leaves of every
group gives the tree of the groups, and D̄ of a group's own leaves the tree inside. These groups are one draw's, chance
and all; the tree found is therefore parted again, into large groups that are made anew inside, then into small ones,
until it hardly changes. Where large groups are given clades, that is the exact tree inside them after one pass.
"""

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ...numerics.weighted import pick_trees
from ...tree import Tree, merges, unchecked_tree
from ...tree.cuts import check_cut
from . import clades
from .leaf_positions import mean_over_pairs
from .summary_trees import most_credible, raised
from .transfer_support import transfers

if TYPE_CHECKING:
    from ..posterior import Posterior

MAX_EXACT = 10_000  # leaves, of which all pairs take 400 MB and SciPy as much again
N_DRAWS = 100  # averaged; more change little
_MAX_DRAWN_LEAVES = 20_000_000  # of these draws in all; where they would have more, fewer are averaged, but ten
MIN_SUPPORT = 0.2  # share of the draws that a clade needs to be kept
MAX_CLUSTERS_BY_HEIGHT = 12  # that are split off in order of height: more would bend the times of small clades
_MAX_AT_ONCE = 5000  # leaves of a larger tree of which all pairs are looked at
_MAX_GROUPS = 2500  # that it is parted into
_MAX_PAIRS = 1_000_000_000  # of leaves of these in all, about
_MAX_PASSES = 4  # over a large tree, each parting the one before anew
_SETTLED = 0.99  # share of the clades that a pass keeps, for it to be the last
_CLEARLY_LATER = 2.0  # standard deviations between the times of two merges, from which on these tell their order
_STEP = 1e-9  # by which times that would be equal differ, relatively


def mean_tree(posterior: "Posterior") -> Tree:
    """Return the mean tree of a posterior."""
    n_draws = min(N_DRAWS, max(10, _MAX_DRAWN_LEAVES // posterior.n))
    drawn = Drawn(posterior.children, posterior.times, *pick_trees(posterior.weights, n_draws))
    if len(drawn.draws) == 1:
        return posterior.trees[drawn.draws[0]]
    _require_memory(posterior.n, len(drawn.draws))
    rank = np.empty(posterior.n, dtype=np.int64)  # ties go by name, whatever the order of the rows
    rank[sorted(range(posterior.n), key=posterior.labels.__getitem__)] = np.arange(posterior.n)
    children, heights = _linkage(drawn, _frame(posterior), rank)
    children, heights = merges.in_order_of_time(children, heights)
    tree = unchecked_tree(children, heights, posterior.labels)
    children, times = merges.in_order_of_time(children, _ordered(tree, *_times(tree, drawn)))
    return unchecked_tree(children, times, posterior.labels)


def _require_memory(n, n_draws):
    at_once = n if n <= MAX_EXACT else _MAX_AT_ONCE
    n_bytes = 8 * at_once**2 + (20 * n_draws + 300) * n  # two condensed matrices; draws and their order of leaves
    require_memory(n_bytes, f"The mean tree of {n} leaves", "mcc_tree() needs less")


class Drawn(NamedTuple):
    """Some of the drawn trees."""

    children: np.ndarray  # (all, n-1, 2)
    times: np.ndarray  # (all, n-1)
    draws: np.ndarray  # (T,) which of them
    weights: np.ndarray  # (T,) sum to 1


class Frame(NamedTuple):
    """A binary tree that has all given clades, and others where these leave it open."""

    children: np.ndarray  # (n-1, 2)
    depth: np.ndarray  # (n-1,) how many given clades hold each merge


# The given clades


def _frame(posterior):
    """The extended majority-rule tree, filled in from the draw of highest clade credibility."""
    n, table = posterior.n, posterior.clade_table
    frequency = clades.frequencies(table, posterior.weights)
    given = np.flatnonzero((frequency > MIN_SUPPORT) & (table.sizes < n))
    given = given[np.lexsort((table.first[given], table.sizes[given], -frequency[given].round(9)))]
    parent, size = _compatible(posterior.children, table.first[given])
    by_size = n + np.argsort(size[n:], kind="stable")  # children before parents, the root last
    draw = merges.layout(posterior.children[most_credible(table, posterior.weights)])
    depth, start = np.zeros(len(parent), dtype=np.int64), np.append(draw.start[:n], np.full(len(parent) - n, n))
    np.minimum.at(start, parent[:n], start[:n])
    for v in by_size[:-1].tolist():
        start[parent[v]] = min(start[parent[v]], start[v])
    for v in by_size[-2::-1].tolist():
        depth[v] = depth[parent[v]] + 1

    # In the order of the draw's leaves, siblings stand side by side; those whose gap was merged first are joined first.
    siblings = np.delete(np.arange(len(parent)), n)
    siblings = siblings[np.lexsort((start[siblings], parent[siblings], size[parent[siblings]]))]
    left = np.flatnonzero(parent[siblings[:-1]] == parent[siblings[1:]])
    around = parent[siblings[left]]
    gap = merges.common_ancestors(draw, draw.order[start[np.column_stack([siblings[left], siblings[left + 1]])]])
    in_order = np.lexsort((gap, around, size[around]))
    left, around = left[in_order].tolist(), around[in_order]
    is_last = np.append(around[1:] != around[:-1], True).tolist()
    node = np.arange(len(parent)).tolist()  # of the binary tree
    whole = np.arange(len(siblings)).tolist()  # what a sibling has been joined to
    top: list[int] = [-1] * len(siblings)

    def found(x):
        while whole[x] != x:
            whole[x] = whole[whole[x]]
            x = whole[x]
        return x

    pairs = []
    for k, x in enumerate(left):
        a, b = found(x), found(x + 1)
        pairs.append([top[c] if top[c] >= 0 else node[siblings[c]] for c in (a, b)])
        whole[b], top[a] = a, n + k
        if is_last[k]:
            node[around[k]] = n + k
    return Frame(np.array(pairs), depth[around])


@jit
def _compatible(children, where):
    """Parents and sizes of leaves, root (n) and those clades (tree · (n-1) + merge) that contradict none before."""
    n = children.shape[1] + 1
    parent, size = np.full(n + 1 + len(where), -1, np.int64), np.ones(n + 1 + len(where), np.int64)
    count = np.zeros(len(size), np.int64)  # leaves of the clade in question under each node
    inside, touched = np.empty(2 * n, np.int64), np.empty(2 * n, np.int64)
    parent[:n], size[n] = n, n
    n_nodes = n + 1
    for place in where:
        leaves = clades.leaves_under(children[place // (n - 1)], n + place % (n - 1))
        n_inside, n_touched, done = len(leaves), 0, 0
        for i in range(n_inside):
            inside[i] = leaves[i]
        while done < n_inside:
            above = parent[inside[done]]
            if count[above] == 0:
                touched[n_touched] = above
                n_touched += 1
            count[above] += size[inside[done]]
            if count[above] == size[above]:
                inside[n_inside] = above
                n_inside += 1
            done += 1
        around, n_cut = -1, 0
        for i in range(n_touched):
            if count[touched[i]] < size[touched[i]]:
                around = touched[i]
                n_cut += 1
        if n_cut == 1:  # it is made of whole children of one node
            for i in range(n_inside):
                if parent[inside[i]] == around:
                    parent[inside[i]] = n_nodes
            parent[n_nodes], size[n_nodes] = around, len(leaves)
            n_nodes += 1
        for i in range(n_touched):
            count[touched[i]] = 0
    return parent[:n_nodes], size[:n_nodes]


# What they leave open


def _linkage(drawn, frame, rank):
    """Children (n-1, 2) and heights (n-1,) of the average linkage of D̄ inside the frame."""
    n = len(frame.children) + 1
    if n <= MAX_EXACT:
        return _linked(drawn, frame, rank, [2 * n - 2], {})
    before = np.empty(0, dtype=np.uint64)
    for _ in range(_MAX_PASSES):
        for limit in (
            1,
            min(_MAX_GROUPS, max(1, _MAX_PAIRS // n)),
        ):  # what is between small groups, then inside large ones
            children, heights = _linked(drawn, frame, rank, *_parted(frame.children, limit))
            frame = _as_frame(children, heights, frame)
        clades_now = merges.clade_keys(merges.layout(frame.children))[:, 0]
        if np.isin(clades_now, before).mean() > _SETTLED:
            break
        before = clades_now
    return children, heights


def _as_frame(children, heights, frame):
    """Another tree that has the given clades of a frame, in its place."""
    children, _ = merges.in_order_of_time(children, heights)
    place = merges.layout(children)
    beside = np.column_stack([place.order[:-1], place.order[1:]])
    depth = np.empty(len(children), dtype=np.int64)
    depth[place.gap] = frame.depth[merges.common_ancestors(merges.layout(frame.children), beside)]
    return Frame(children, depth)


def _linked(drawn, frame, rank, small, parted):
    """The tree of linkages of the leaves of `small` subtrees, and of the subtrees that others are parted into."""
    n = len(frame.children) + 1
    place = merges.layout(frame.children)
    leaf_at = place.order[np.lexsort((rank[place.order], _owners(place, small)))]  # by name within each subtree
    pairs, heights = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    node, done = {}, 0
    inside = [leaf_at[place.start[v] : place.start[v] + place.size[v]] for v in small]
    for v, leaves, linked in zip(small, inside, _linkages(drawn, frame, inside), strict=True):
        node[v], done = _put(pairs, heights, done, *linked, leaves)
    for v, groups in reversed(parted.items()):
        chosen, owner = _representatives(groups, place, rank)
        depth = frame.depth.copy()
        for g in groups:  # leaves of a group stay together
            depth[place.gap[place.start[g] : place.start[g] + place.size[g] - 1]] += 1
        (linked,) = _linkages(drawn, Frame(frame.children, depth), [chosen])
        node[v], done = _put(pairs, heights, done, *linked, np.array([node[g] for g in owner]))
    return pairs, heights


def _owners(place, nodes):
    """(n,) which of some nodes, no leaf under two, each position is under; -1 for none."""
    owner = np.full(len(place.order), -1)
    for v in nodes:
        owner[place.start[v] : place.start[v] + place.size[v]] = place.start[v]
    return owner


@jit
def _put(pairs, heights, done, joined, height, ends):
    """Add the merges of one linkage, between nodes `ends` of which equal ones are one; its root, and merges so far."""
    n, m = len(pairs) + 1, len(ends)
    node = np.empty(2 * m - 1, np.int64)
    node[:m] = ends
    for k in range(m - 1):
        a, b = node[joined[k, 0]], node[joined[k, 1]]
        node[m + k] = a
        if a != b:
            pairs[done, 0], pairs[done, 1], heights[done] = a, b, max(height[k], 0.0)
            for c in (a, b):
                if c >= n:
                    heights[done] = max(heights[done], heights[c - n])
            node[m + k] = n + done
            done += 1
    return node[2 * m - 2], done


def _parted(children, limit):
    """Small subtrees, and larger ones with their parts: `_MAX_GROUPS`, or fewer of at most `limit` leaves."""
    n = len(children) + 1
    size = np.append(np.ones(n, dtype=np.int64), _sizes(children).astype(np.int64)).tolist()
    pairs = children.tolist()
    todo, small, parted = [2 * n - 2], [], {}
    for v in todo:
        if size[v] <= _MAX_AT_ONCE:
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


def _representatives(groups, place, rank):
    """At most `_MAX_AT_ONCE` leaves, of each group one and of large groups more, in order; and the group of each."""
    sizes = place.size[groups]
    numbers = 1 + (_MAX_AT_ONCE - len(groups)) * (sizes - 1) // max(int((sizes - 1).sum()), 1)
    numbers = np.minimum(numbers, sizes)  # no leaf stands for its group twice
    chosen, owner = [], []
    for g, number in zip(groups, numbers.tolist(), strict=True):
        leaves = place.order[place.start[g] : place.start[g] + place.size[g]]
        leaves = leaves[np.argsort(rank[leaves])]
        chosen.append(leaves[(2 * np.arange(number) + 1) * len(leaves) // (2 * number)])
        owner += [g] * number
    chosen, owner = np.concatenate(chosen), np.array(owner)
    in_order = np.argsort(rank[chosen])
    return chosen[in_order], owner[in_order].tolist()


def _linkages(drawn, frame, groups):
    """Children and heights of the average linkage of each group of leaves, joined as deep in the frame as can be."""
    from scipy.cluster.hierarchy import linkage

    n = len(frame.children) + 1
    step = np.log(n) + 1.0
    shallow = (frame.depth.max() - frame.depth).astype(np.float64)
    given = mean_over_pairs(frame.children[None], [shallow], np.array([step]), groups)
    values = (np.log(_sizes(drawn.children[t])) * (drawn.times[t] > 0.0) for t in drawn.draws)
    for condensed in mean_over_pairs(drawn.children[drawn.draws], values, drawn.weights, groups):
        condensed += next(given)
        if len(condensed) == 0:  # one leaf
            yield np.empty((0, 2), dtype=np.int64), np.empty(0)
            continue
        Z = linkage(condensed, "average")
        yield Z[:, :2].astype(np.int64), Z[:, 2] - step * np.floor(Z[:, 2] / step + 1e-6)


@jit
def _sizes(children):
    """(n-1,) leaves under each merge."""
    n = len(children) + 1
    found = np.zeros(n - 1)
    for k in range(n - 1):
        for c in children[k]:
            found[k] += 1.0 if c < n else found[c - n]
    return found


# When


def _times(tree, drawn):
    """(n-1,) mean and standard deviation of the time of the closest clade of each draw, NaN where none is close."""
    closest = transfers(tree, drawn.children[drawn.draws], drawn.weights, np.arange(tree.n - 1)).closest
    sums, unit = np.zeros((3, tree.n - 1)), max(float(drawn.times[drawn.draws, -1].max()), 1e-300)
    for t, w, merge in zip(drawn.draws, drawn.weights, closest.T, strict=True):
        is_close = merge >= 0
        sums[:, is_close] += w * (drawn.times[t, merge[is_close]] / unit) ** np.arange(3)[:, None]
    with np.errstate(invalid="ignore"):
        mean, square = sums[1:] / sums[0]
    return unit * mean, unit * np.sqrt(np.maximum(square - mean**2, 0.0))


def _ordered(tree, times, spread):
    """Times that are in order, of a tree whose merges come in order of height."""
    from scipy.optimize import isotonic_regression

    n, heights = tree.n, tree.times
    known = ~np.isnan(times)
    times = np.where(known, times, np.interp(heights, heights[known], times[known]))
    sides = tree.sizes[tree.children].min(axis=1)
    late = raised(tree.parents, times)
    parts = np.flatnonzero(sides >= max(2, check_cut(n, min(MAX_CLUSTERS_BY_HEIGHT, n)).min_size))
    parts = _by_height(parts[np.lexsort((heights[parts], late[parts]))], heights.round(9), late, spread)
    low = np.zeros(2 * n - 1)
    if len(parts):
        step = 1.0 + _STEP * np.arange(len(parts)) / len(parts)  # so that equal ones are in order, too
        times[parts] = isotonic_regression(times[parts]).x * step
        low[n + parts] = times[parts]
    high = np.full(2 * n - 1, np.inf)
    for k, (a, b) in enumerate(tree.children.tolist()):
        low[n + k] = max(low[n + k], low[a], low[b])
    for k in range(n - 2, -1, -1):
        times[k] = min(max(times[k], low[n + k]), high[n + k])
        high[tree.children[k]] = times[k]
    rank = np.argsort(np.argsort(times, kind="stable"))
    return times * (1.0 + _STEP * rank / n)


def _by_height(parts, heights, times, spread):
    """Merges in order of time, but neighbours whose order the draws leave open in order of height."""
    parts = parts.tolist()
    for last in range(1, len(parts)):
        for j in range(last, 0, -1):
            a, b = parts[j - 1], parts[j]
            is_later = times[b] - times[a] > _CLEARLY_LATER * np.hypot(spread[a], spread[b])
            if is_later or heights[a] <= heights[b]:
                break
            parts[j - 1], parts[j] = b, a
    return np.array(parts, dtype=np.int64)
