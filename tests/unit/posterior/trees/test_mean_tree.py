"""The mean tree against its definition by sets and loops, and what it must always be."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.posterior.trees import mean_tree as module
from coaltree.posterior.trees.extended_majority import MIN_SUPPORT
from coaltree.posterior.trees.mean_tree import DrawnTrees, average_linkage
from coaltree.tree.cut import name_rank
from tests.posteriors import leaf_sets, listed, random_posterior, renumbered, stacked, times_of
from tests.reference import cut as cut_by_sets
from tests.reference import summaries
from tests.strategies import any_times, chain, labels, plain_times, random_tree, trees

ordinary_times = st.just(0.0) | st.floats(1e-6, 1e6)  # half of which is no rounding error
TOLERANCE = 1e-9  # below this two numbers may be equal but for rounding


def definition(post):
    """Given clades, D̄, {clade: height} and the margin of the slow transcription, with the draws that are averaged."""
    every = listed(post)
    shares = summaries.systematic(post.weights.tolist(), module.MAX_DRAWS)
    drawn, weights = [every[t] for t in shares], list(shares.values())
    kept = summaries.extended_majority(every, post.weights.tolist(), MIN_SUPPORT)
    mean = summaries.mean_log_sizes(drawn, weights)
    height, margin = summaries.linked_inside(kept, post.n, mean)
    return kept, mean, height, margin, drawn, weights


@st.composite
def posteriors(draw, max_leaves=8, times=plain_times):
    """Any trees, the same one again and again among them, with any weights; times may be equal or 0."""
    n = draw(st.integers(2, max_leaves))
    some = draw(st.lists(trees(min_leaves=n, max_leaves=n, times=times), min_size=1, max_size=4))
    drawn = draw(st.lists(st.sampled_from(some), min_size=1, max_size=8))
    weights = draw(st.none() | st.lists(st.floats(-3.0, 3.0), min_size=len(drawn), max_size=len(drawn)))
    return stacked(drawn, log_weights=weights)


# Against the definition


@pytest.mark.parametrize("zeros", [0, 5])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("n", "n_trees"), [(2, 5), (3, 12), (5, 12), (8, 12), (8, 150), (12, 30), (12, 240), (16, 40)])
def test_mean_tree_is_that_of_the_definition(n, n_trees, weighted, zeros):
    """More than 100 trees are resampled systematically; the shares of clades are those of all trees.

    In every other tree some merges may be at time 0.
    """
    compared = 0
    for seed in range(4):
        post = random_posterior(seed, n=n, n_trees=n_trees, weighted=weighted)
        times = post.draws.times.copy()
        times[::2, : min(zeros, n - 2)] = 0.0
        post = posterior_of_trees(post.draws.children, times, log_weights=post.draws.log_weights)
        _, _, height, margin, drawn, weights = definition(post)
        if margin < TOLERANCE:
            continue
        tree = post.mean_tree()
        assert set(leaf_sets(tree)) == set(height)
        expected = summaries.mean_tree_times(height, drawn, weights)
        np.testing.assert_allclose(tree.times, [expected[clade] for clade in leaf_sets(tree)], rtol=2e-9)
        compared += 1
    assert compared >= 2


@given(posteriors())
def test_mean_tree_keeps_clades_and_joins_the_closest_sets(post):
    """Where several sets are equally close, any two of them may be joined."""
    given, mean, height, margin, _, _ = definition(post)
    found = set(leaf_sets(post.mean_tree()))
    assert found >= set(given)
    if margin > TOLERANCE:
        assert found == set(height)
    for around in [*given, frozenset(range(post.n))]:
        smaller = [clade for clade in given if clade < around]
        inside = [clade for clade in found if clade <= around and not any(clade <= other for other in smaller)]
        joined = {clade: summaries.sides_of(clade, found) for clade in inside}
        parts = {side for sides in joined.values() for side in sides} - set(inside)
        for clade in sorted(inside, key=lambda c: (round(summaries.between(*joined[c], mean), 9), len(c))):
            apart = [summaries.between(a, b, mean) for a in parts for b in parts if min(a) < min(b)]
            assert summaries.between(*joined[clade], mean) <= min(apart) + TOLERANCE
            parts = parts - set(joined[clade]) | {clade}
        assert parts == {around}


@given(posteriors(max_leaves=12, times=ordinary_times))
def test_mean_tree_times_are_in_order_and_within_those_of_the_trees(post):
    tree = post.mean_tree()
    assert (np.diff(tree.times) >= 0).all()
    counts = post.weights > 0
    assert post.draws.times[counts].min() * (1 - 1e-12) <= tree.times[0]
    assert tree.times[-1] <= post.draws.times[counts].max() * (1 + 2e-9)


@pytest.mark.parametrize("n_topologies", [1, 4], ids=["clear", "vague"])
def test_mean_tree_has_no_time_outside_its_own_interval(n_topologies):
    """Where waiting times vary by a fifth from draw to draw, means lie between quantiles."""
    rng = np.random.default_rng(0)
    shapes = [random_tree(30, rng) for _ in range(n_topologies)]
    drawn = [shapes[rng.integers(n_topologies)] for _ in range(200)]
    waits = np.array([np.diff(tree.times, prepend=0.0) * np.exp(0.2 * rng.normal(size=29)) for tree in drawn])
    post = posterior_of_trees(np.stack([tree.children for tree in drawn]), np.cumsum(waits, axis=1))
    tree = post.mean_tree()
    low, high = post.node_times(tree).T
    known = np.isfinite(low)
    assert known.sum() > 15
    assert np.all((low <= tree.times) & (tree.times <= high) | ~known)
    assert np.all(low[known] <= high[known])


@given(posteriors(max_leaves=12, times=any_times))
def test_mean_tree_is_valid_whatever_the_times(post):
    tree = post.mean_tree()
    assert ct.Tree(tree.children, tree.times, tree.labels) == tree


# Whose names, which order of the rows


@given(posteriors(max_leaves=10), st.data())
def test_mean_tree_does_not_depend_on_the_order_of_the_rows(post, data):
    """Bit for bit, where sets are equally close, too."""
    names = data.draw(st.lists(labels, min_size=post.n, max_size=post.n, unique=True))
    number = data.draw(st.permutations(range(post.n)))
    one = renumbered(post, np.arange(post.n), names).mean_tree()
    other = renumbered(post, number, [names[number.index(i)] for i in range(post.n)]).mean_tree()
    assert times_of(one) == times_of(other)


# Special posteriors


@given(trees(max_leaves=16, times=any_times))
def test_mean_tree_of_one_tree_is_itself(tree):
    assert stacked([tree]).mean_tree() == tree


@pytest.mark.parametrize("make", [chain, lambda n: random_tree(n, np.random.default_rng(0))])
def test_mean_tree_times_are_means_where_all_trees_have_one_topology_and_one_order(make):
    """In which larger clades are later: the order of heights, which is that of sizes, is then that of times."""
    rng = np.random.default_rng(1)
    tree = make(40)
    in_order = np.argsort(tree.sizes[40:], kind="stable")
    number = np.arange(79)
    number[40 + in_order] = np.arange(40, 79)
    children = number[tree.children[in_order]]
    times = np.cumsum(rng.exponential(size=(30, 39)), axis=1)
    post = posterior_of_trees([children] * 30, times, log_weights=rng.normal(size=30))
    found = post.mean_tree()
    assert set(leaf_sets(found)) == set(leaf_sets(tree))
    mean = dict(zip(summaries.clades(children.tolist()), post.weights @ times, strict=True))
    np.testing.assert_allclose(found.times, [mean[clade] for clade in leaf_sets(found)], rtol=2e-9)


def test_mean_tree_joins_duplicates_at_time_0():
    """Leaves 0 … 3 are copies that meet in another order in each tree, and so are 4 and 5."""
    rng = np.random.default_rng(0)
    n, drawn = 14, []
    for _ in range(30):
        pairs, copies = [[4, 5]], list(range(4))
        for k in range(3):
            rng.shuffle(copies)
            pairs.append([copies.pop(), copies.pop()])
            copies.append(n + 1 + k)
        above = random_tree(n - 4, rng)
        node = np.concatenate([[n, n + 3], np.arange(6, n), n + 4 + np.arange(n - 5)])
        drawn.append(ct.Tree(np.concatenate([pairs, node[above.children]]), np.append(np.zeros(4), above.times)))
    post = stacked(drawn)
    tree = post.mean_tree()
    np.testing.assert_array_equal(tree.times == 0.0, np.arange(n - 1) < 4)
    assert {frozenset({4, 5}), frozenset(range(4))} <= set(leaf_sets(tree)[:4])


@pytest.mark.parametrize(("n", "n_trees"), [(9, 12), (20, 150)])
def test_mean_tree_is_cut_by_mean_log_sizes(n, n_trees):
    """Heights are D̄ between two sides, rows in none join the cluster with the least D̄; also from a pickle."""
    joined = 0
    for seed in range(4):
        post = random_posterior(seed, n=n, n_trees=n_trees)
        _, mean, height, margin, _, _ = definition(post)
        tree = post.mean_tree()
        sets = leaf_sets(tree)
        if margin < TOLERANCE:
            continue
        np.testing.assert_allclose(tree.heights, [height[clade] for clade in sets], atol=1e-9)
        again = pickle.loads(pickle.dumps(tree))
        assert again == tree
        rank = name_rank(tree.labels).tolist()
        for k in range(1, n + 1):
            cut, named = tree.cut(k), tree.cut(k, outliers=True)
            clusters = {frozenset(np.flatnonzero(named == c).tolist()) for c in range(k)}
            expected = cut_by_sets.joined(clusters, lambda i, j, mean=mean: mean[min(i, j), max(i, j)], rank)
            assert {frozenset(np.flatnonzero(cut == c).tolist()) for c in range(k)} == expected
            joined += int((named < 0).sum())
            np.testing.assert_array_equal(post.cut(k), cut)
            np.testing.assert_array_equal(post.cut(k, outliers=True), named)
            np.testing.assert_array_equal(again.cut(k), cut)
            if n < 10:
                assert clusters == cut_by_sets.best_cuts(tree.children.tolist(), tree.heights.tolist(), rank)[k - 1]
    assert joined > 0


def test_mean_tree_of_a_chain_of_thousands_of_leaves():
    for n in (3000, 10_001):
        tree = chain(n)
        post = stacked([tree, chain(n, times=2 * tree.times)])
        found = post.mean_tree()
        np.testing.assert_array_equal(found.clade_keys(), tree.clade_keys())
        if n > module.MAX_LINKED:
            assert found is post.mcc_tree()
        else:
            np.testing.assert_allclose(found.times, 1.5 * tree.times, rtol=2e-9)


# Average linkage inside kept clades


def of_posterior(seed, n=12):
    post = random_posterior(seed, n=n, n_trees=20, weighted=False)
    sizes = np.array([tree.sizes[n:] for tree in post.trees])
    return post, DrawnTrees(post.draws.children, np.log(sizes), post.weights)


@pytest.mark.parametrize("seed", range(3))
def test_average_linkage_without_kept_clades_is_scipys(seed):
    post, draws = of_posterior(seed)
    depth = np.zeros(11, dtype=np.int64)  # no kept clade
    children, heights = average_linkage(draws, post.draws.children[0], depth, np.arange(12))
    mean = np.average([tree.cophenetic() for tree in with_sizes_as_times(post)], axis=0)
    Z = linkage(mean[np.triu_indices(12, 1)], "average")
    np.testing.assert_array_equal(children, Z[:, :2])
    np.testing.assert_allclose(heights, Z[:, 2], rtol=1e-12)


def test_average_linkage_has_all_clades_of_a_full_frame():
    """Which may contradict all draws; heights are then raised to those of the merges below."""
    _, draws = of_posterior(5)
    other = random_posterior(77, n=12).trees[0]
    depth = np.empty(11, dtype=np.int64)
    for k in range(10, -1, -1):
        above = other.parents[12 + k]
        depth[k] = 0 if above < 0 else depth[above - 12] + 1
    children, heights = average_linkage(draws, other.children, depth, np.random.default_rng(0).permutation(12))
    sets = summaries.clades(children.tolist())
    assert set(sets) == set(summaries.clades(other.children.tolist()))
    assert all(heights[a] <= heights[b] for a, one in enumerate(sets) for b, two in enumerate(sets) if one < two)


def with_sizes_as_times(post):
    for tree in post.trees:
        yield type(tree).from_linkage(
            np.column_stack([tree.children, np.log(tree.sizes[post.n :]), tree.sizes[post.n :]])
        )
