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
root. Clusters are split off in order of height, of equal heights in order of time: merges with enough leaves on both
sides to part clusters have their times made increasing in that order (isotonic regression), all others are kept between
their children and their parent.

Above `MAX_EXACT` leaves D̄ is not made for all pairs. A binary tree that has the given clades, and elsewhere the splits
of the draw of highest clade credibility, is parted into groups of leaves, its subtrees; D̄ of a few leaves of every
group gives the tree of the groups, and D̄ of a group's own leaves the tree inside.
"""

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._runtime.jit import jit
from ..numerics.weighted import pick_trees
from ..tree import Tree, merges, unchecked_tree
from ..tree.merges import check_cut
from . import clades
from .leaf_positions import mean_over_pairs
from .summary_trees import most_credible, raised
from .transfer import transfers

if TYPE_CHECKING:
    from .posterior import Posterior

MAX_EXACT = 5000  # leaves, of which all pairs fit into 100 MB
N_DRAWS = 100  # averaged; more change little
MIN_SUPPORT = 0.2  # share of the draws that a clade needs to be kept
MAX_CLUSTERS = 12  # that are split off in order of height: more would bend the times of small clades
_GROUPS = 2500  # that a larger tree is parted into
_PAIRS_AT_ONCE = 2**24
_CLOSEST_BYTES = 2e8  # of the closest clades of the draws; where all draws would need more, some are asked
_STEP = 1e-9  # by which times that would be equal differ, relatively


def mean_tree(posterior: "Posterior") -> Tree:
    """Return the mean tree of a posterior."""
    n = posterior.n
    by_name = np.array(sorted(range(n), key=posterior.labels.__getitem__))  # ties go by name, whatever the rows' order
    rank = np.arange(2 * n - 1)
    rank[by_name] = np.arange(n)
    draws, weights = pick_trees(posterior.weights, N_DRAWS)
    drawn = Drawn(rank[posterior.children[draws]], posterior.times[draws], weights)
    frame = _frame(posterior, rank)
    children, heights = _linkage(drawn, frame)
    children, heights = merges.in_order_of_time(children, heights)
    tree = unchecked_tree(children, heights, tuple(sorted(posterior.labels)))
    times = _times(tree, drawn)
    children, times = merges.in_order_of_time(children, _ordered(tree, times))
    leaf = np.append(by_name, np.arange(n, 2 * n - 1))
    return unchecked_tree(leaf[children], times, posterior.labels)


class Drawn(NamedTuple):
    """Some of the drawn trees, with leaves numbered in order of their names."""

    children: np.ndarray  # (T, n-1, 2)
    times: np.ndarray  # (T, n-1)
    weights: np.ndarray  # (T,) sum to 1


class Frame(NamedTuple):
    """A binary tree that has all given clades, and others where these leave it open."""

    children: np.ndarray  # (n-1, 2)
    depth: np.ndarray  # (n-1,) how many given clades hold each merge


# The given clades


def _frame(posterior, rank):
    """The extended majority-rule tree, filled in from the draw of highest clade credibility."""
    n, table = posterior.n, posterior.clade_table
    frequency = clades.frequencies(table, posterior.weights)
    given = np.flatnonzero((frequency > MIN_SUPPORT) & (table.sizes < n))
    given = given[np.lexsort((table.first[given], table.sizes[given], -frequency[given].round(9)))]
    parent, size = _compatible(posterior.children, table.first[given])
    by_size = n + np.argsort(size[n:], kind="stable")  # children before parents, the root last
    depth, some_leaf = np.zeros(len(parent), dtype=np.int64), np.arange(len(parent))
    some_leaf[parent[:n]] = np.arange(n)
    for v in by_size[:-1].tolist():
        some_leaf[parent[v]] = some_leaf[v]
    for v in by_size[-2::-1].tolist():
        depth[v] = depth[parent[v]] + 1

    # In the order of the draw's leaves, siblings stand side by side; those whose gap was merged first are joined first.
    draw = merges.layout(posterior.children[most_credible(table, posterior.weights)])
    siblings = np.delete(np.arange(len(parent)), n)
    siblings = siblings[np.lexsort((draw.start[some_leaf[siblings]], parent[siblings], size[parent[siblings]]))]
    left = np.flatnonzero(parent[siblings[:-1]] == parent[siblings[1:]])
    around = parent[siblings[left]]
    gap = merges.common_ancestors(draw, some_leaf[np.column_stack([siblings[left], siblings[left + 1]])])
    in_order = np.lexsort((gap, around, size[around]))
    left, around = left[in_order].tolist(), around[in_order]
    is_last = np.append(around[1:] != around[:-1], True).tolist()
    node = np.append(rank[:n], np.zeros(len(parent) - n, dtype=np.int64)).tolist()  # of the binary tree
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


def _linkage(drawn, frame):
    """Children (n-1, 2) and heights (n-1,) of the average linkage of D̄ inside the frame."""
    n = len(frame.children) + 1
    place = merges.layout(frame.children)
    small, parted = _parted(frame.children, place.size)
    leaves_of = {v: np.sort(place.order[place.start[v] : place.start[v] + place.size[v]]) for v in small}
    pairs, heights, node = [], [], {}

    def add(v, joined, height, ends):
        """Put the merges of one linkage into the tree; `ends` are the nodes that it starts from, equal ones joined."""
        ends = list(ends)
        for (a, b), h in zip(joined.tolist(), height.tolist(), strict=True):
            if ends[a] == ends[b]:
                ends.append(ends[a])
                continue
            pairs.append([ends[a], ends[b]])
            heights.append(max(h, *(heights[c - n] for c in pairs[-1] if c >= n), 0.0))
            ends.append(n + len(heights) - 1)
        node[v] = ends[-1]

    for some in _chunks(small, place.size):
        linkages = _linkages(drawn, frame.children, frame.depth, [leaves_of[v] for v in some])
        for v, linked in zip(some, linkages, strict=True):
            add(v, *linked, leaves_of[v])
    for v, groups in reversed(parted.items()):
        chosen, owner = _representatives(groups, place)
        depth = frame.depth.copy()
        for g in groups:  # leaves of a group stay together
            inside = place.gap[place.start[g] : place.start[g] + place.size[g] - 1]
            depth[inside] += 1
        (linked,) = _linkages(drawn, frame.children, depth, [chosen])
        add(v, *linked, [node[g] for g in owner])
    return np.array(pairs), np.array(heights)


def _parted(children, size):
    """Subtrees of the frame that are small, and those that are not, each with the subtrees that it is parted into."""
    n = len(children) + 1
    todo, small, parted = [2 * n - 2], [], {}
    for v in todo:
        if size[v] <= MAX_EXACT and (v == 2 * n - 2 or size[v] <= n // 2):
            small.append(v)
            continue
        heap = [(-size[v], v)]
        while len(heap) < _GROUPS and heap[0][0] < -1:
            _, largest = heapq.heappop(heap)
            for c in children[largest - n].tolist():
                heapq.heappush(heap, (-size[c], c))
        parted[v] = [v for _, v in heap]
        todo += parted[v]
    return small, parted


def _chunks(nodes, size):
    """Lists of nodes whose pairs of leaves fit into memory together."""
    chunk, total = [], 0
    for v in nodes:
        chunk.append(v)
        total += int(size[v]) ** 2 // 2
        if total > _PAIRS_AT_ONCE:
            yield chunk
            chunk, total = [], 0
    if chunk:
        yield chunk


def _representatives(groups, place):
    """At most `MAX_EXACT` leaves, of each group one and of large groups more, in order; and the group of each."""
    sizes = place.size[groups]
    numbers = 1 + (MAX_EXACT - len(groups)) * (sizes - 1) // max(int((sizes - 1).sum()), 1)
    numbers = np.minimum(numbers, sizes)  # no leaf stands for its group twice
    chosen, owner = [], []
    for g, number in zip(groups, numbers.tolist(), strict=True):
        leaves = np.sort(place.order[place.start[g] : place.start[g] + place.size[g]])
        chosen.append(leaves[(2 * np.arange(number) + 1) * len(leaves) // (2 * number)])
        owner += [g] * number
    chosen, owner = np.concatenate(chosen), np.array(owner)
    in_order = np.argsort(chosen)
    return chosen[in_order], owner[in_order].tolist()


def _linkages(drawn, frame, depth, groups):
    """Children and heights of the average linkage of each group of leaves, joined as deep in the frame as can be."""
    from scipy.cluster.hierarchy import linkage

    n = len(frame) + 1
    step, deepest = np.log(n) + 1.0, int(depth.max())
    mean = mean_over_pairs(frame[None], deepest - depth[None], np.array([step]), groups)
    at_once = max(1, _PAIRS_AT_ONCE // n)
    for t in range(0, len(drawn.times), at_once):
        some = slice(t, t + at_once)
        values = np.log(_sizes(drawn.children[some])) * (drawn.times[some] > 0.0)
        of_some = mean_over_pairs(drawn.children[some], values, drawn.weights[some], groups)
        for total, more in zip(mean, of_some, strict=True):
            total += more
    for condensed in mean:
        if len(condensed) == 0:  # one leaf
            yield np.empty((0, 2), dtype=np.int64), np.empty(0)
            continue
        Z = linkage(condensed, "average")
        yield Z[:, :2].astype(np.int64), Z[:, 2] - step * np.floor(Z[:, 2] / step + 1e-6)


@jit
def _sizes(children):
    """(T, n-1) leaves under each merge."""
    n_trees, n = len(children), children.shape[1] + 1
    found = np.empty((n_trees, n - 1))
    for t in range(n_trees):
        for k in range(n - 1):
            found[t, k] = 0.0
            for c in children[t, k]:
                found[t, k] += 1.0 if c < n else found[t, c - n]
    return found


# When


def _times(tree, drawn):
    """(n-1,) mean time of the closest clade of each draw, NaN where none is close."""
    every = np.arange(tree.n - 1)
    enough = max(1, int(_CLOSEST_BYTES / (4 * tree.n)))
    draws, weights = pick_trees(drawn.weights, enough)
    closest = transfers(tree, drawn.children[draws], weights, every).closest
    total, weight = np.zeros(tree.n - 1), np.zeros(tree.n - 1)
    for t, w, merge in zip(draws, weights, closest.T, strict=True):
        is_close = merge >= 0
        total[is_close] += w * drawn.times[t, merge[is_close]]
        weight[is_close] += w
    with np.errstate(invalid="ignore"):
        return total / weight


def _ordered(tree, times):
    """Times of a tree in order of height, such that merges that can part clusters are in that order as well."""
    from scipy.optimize import isotonic_regression

    n, heights = tree.n, tree.times
    known = ~np.isnan(times)
    times = np.where(known, times, np.interp(heights, heights[known], times[known]))
    sides = tree.sizes[tree.children].min(axis=1)
    in_order = np.lexsort((raised(tree.parents, times), heights.round(9)))  # equal heights go by time, not by rounding
    parts = in_order[sides[in_order] >= max(2, check_cut(n, min(MAX_CLUSTERS, n)).min_size)]
    low = np.zeros(2 * n - 1)
    if len(parts):
        times[parts] = isotonic_regression(times[parts]).x
        low[n + parts] = times[parts]
    high = np.full(2 * n - 1, np.inf)
    for k, (a, b) in enumerate(tree.children.tolist()):
        low[n + k] = max(low[n + k], low[a], low[b])
    for k in range(n - 2, -1, -1):
        times[k] = min(max(times[k], low[n + k]), high[n + k])
        high[tree.children[k]] = times[k]
    return times * (1.0 + _STEP * np.argsort(in_order) / n)  # so that equal ones are in order, too
