"""Clusters of at least so many leaves, against their definition by sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy

from coaltree import ClusterSizeWarning, Tree
from coaltree.tree.cuts import check_cut, cut_trees
from tests.reference import summaries
from tests.reference import trees as slow
from tests.strategies import chain, random_tree, trees


def quiet_cut(tree, k, m, outliers=False):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        return tree.cut(k, min_size=m, outliers=outliers)


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


@given(trees(max_leaves=16), st.data())
def test_cut_has_the_clusters_and_side_branches_of_the_definition(tree, data):
    k = data.draw(st.integers(1, tree.n))
    m = data.draw(st.just("auto") | st.integers(1, tree.n))
    sizes = check_cut(tree.n, k, None, m).min_sizes
    _, kept, belongs, least = summaries.clusters(tree.children.tolist(), sizes[: k - 1].tolist())
    labels, used = cut_trees(tree.children[None], np.array([k - 1]), sizes)
    assert used[0] == min(least, sizes[0])
    found = quiet_cut(tree, k, m, outliers=True)
    assert set(np.flatnonzero(found < 0)) == set(belongs)
    assert {frozenset(np.flatnonzero(found == a).tolist()) for a in range(k)} == set(kept)
    everyone = quiet_cut(tree, k, m)
    expected = [belongs.get(i, next((a for a, core in enumerate(kept) if i in core), None)) for i in range(tree.n)]
    assert same_partition(everyone.tolist(), expected)
    assert np.bincount(everyone).min() >= min(least, tree.n)
    np.testing.assert_array_equal(labels[0] < 0, found < 0)


@given(trees(max_leaves=24), st.data())
def test_cut_into_one_cluster_more_refines_the_others(tree, data):
    m = data.draw(st.just("auto") | st.integers(1, tree.n))
    coarse = np.zeros(tree.n, dtype=int)
    for k in range(1, tree.n + 1):
        fine = quiet_cut(tree, k, m)
        assert fine.max() + 1 == k
        assert len(set(zip(coarse.tolist(), fine.tolist(), strict=True))) == k
        coarse = fine


@given(trees(max_leaves=16), st.data())
def test_cut_with_min_size_one_undoes_the_last_merges(tree, data):
    k = data.draw(st.integers(1, tree.n))
    labels, used = cut_trees(tree.children[None], np.array([k - 1]), check_cut(tree.n, k, None, 1).min_sizes)
    np.testing.assert_array_equal(labels[0], tree.cut(k, min_size=1))
    assert used[0] == 1
    np.testing.assert_array_equal(tree.cut(k, min_size=1, outliers=True), labels[0])


@given(trees(max_leaves=16), st.randoms(use_true_random=False), st.data())
def test_cut_does_not_depend_on_leaf_numbers(tree, random, data):
    k, m = data.draw(st.integers(1, tree.n)), data.draw(st.integers(2, tree.n))
    number = np.arange(2 * tree.n - 1)
    shuffled = list(range(tree.n))
    random.shuffle(shuffled)
    number[: tree.n] = shuffled  # leaf i becomes leaf number[i]
    other = Tree(number[tree.children], tree.times)
    for outliers in (False, True):
        a, b = quiet_cut(tree, k, m, outliers), quiet_cut(other, k, m, outliers)[shuffled]
        _, used = cut_trees(tree.children[None], np.array([k - 1]), check_cut(tree.n, k, None, m).min_sizes)
        if used[0] > 1:  # clades of one leaf can tie in every respect
            assert same_partition(a.tolist(), b.tolist())
            np.testing.assert_array_equal(a < 0, b < 0)
    first = [np.flatnonzero(a == cluster)[0] for cluster in range(k)]
    assert first == sorted(first)


def test_cut_makes_no_clusters_of_outliers():
    """Two groups of five, leaf 10 above both, and leaf 11 just below the split, on top of the first group."""
    children = [[0, 1], [12, 2], [13, 3], [14, 4], [5, 6], [16, 7], [17, 8], [18, 9], [15, 11], [19, 20], [21, 10]]
    tree = Tree(children, np.arange(1.0, 12.0))
    np.testing.assert_array_equal(np.bincount(tree.cut(2, min_size=1)), [11, 1])
    np.testing.assert_array_equal(tree.cut(2, min_size=3), [0] * 5 + [1] * 5 + [0, 0])
    np.testing.assert_array_equal(tree.cut(2, min_size=3, outliers=True), [0] * 5 + [1] * 5 + [-1, 0])
    # with a third cluster, {4 … 9} being split as well, leaf 11 joins later than the earliest split
    three = [[0, 1], [12, 2], [3, 4], [5, 6], [15, 7], [8, 9], [16, 17], [13, 14], [19, 11], [20, 18], [21, 10]]
    np.testing.assert_array_equal(
        Tree(three, np.arange(1.0, 12.0)).cut(3, min_size=2, outliers=True)[[10, 11]], [-1, -1]
    )


@pytest.mark.parametrize(("n", "k", "m"), [(20, 3, 2), (7, 3, 1), (150, 3, 13), (8, 2, 1), (9, 2, 2), (4, 4, 1)])
def test_cut_min_size_auto_is_a_quarter_of_the_mean_size(n, k, m):
    assert check_cut(n, k).min_size == m


def test_cut_warns_where_min_size_was_halved():
    tree = chain(9)
    with pytest.warns(ClusterSizeWarning, match="The tree has too few splits with 4 leaves on both sides") as caught:
        labels = tree.cut(2, min_size=4)
    assert (caught[0].message.asked, caught[0].message.min_size) == (4, 1)
    np.testing.assert_array_equal(labels, tree.cut(2, min_size=1))


@pytest.mark.slow
def test_cut_of_a_hundred_thousand_leaves():
    n = 100_000
    tree = random_tree(n, np.random.default_rng(0))
    labels = tree.cut(10)
    assert np.bincount(labels).min() >= n / 40
    found = tree.cut(10, outliers=True)
    np.testing.assert_array_equal(np.unique(found[found >= 0]), np.arange(10))
    with pytest.warns(ClusterSizeWarning):
        np.testing.assert_array_equal(np.bincount(chain(n).cut(2)), [n - 1, 1])


@pytest.fixture
def tree():
    #     ┌───┴──┐        4.0
    #   ┌─┴─┐    │        2.0
    #   │   │  ┌─┴─┐      1.0
    #   a   c  b   d
    return Tree([[1, 3], [0, 2], [5, 4]], [1.0, 2.0, 4.0], labels=["a", "b", "c", "d"])


@given(trees(max_leaves=15))
def test_cut_by_number_undoes_the_last_merges(tree):
    for n_clusters in range(1, tree.n + 1):
        found = tree.cut(n_clusters, min_size=1)
        np.testing.assert_array_equal(found, slow.cut(tree.children, tree.n - n_clusters))
        assert len(np.unique(found)) == n_clusters


@given(trees(max_leaves=15), st.floats(0, 100))
def test_cut_by_time_keeps_together_what_has_met(tree, time):
    for when in (time, *tree.times):
        together = tree.cut(time=when)[:, None] == tree.cut(time=when)
        np.testing.assert_array_equal(together, tree.cophenetic() <= when)


@given(trees(max_leaves=15))
def test_cuts_are_nested(tree):
    for n_clusters in range(2, tree.n + 1):
        fine, coarse = tree.cut(n_clusters, min_size=1), tree.cut(n_clusters - 1, min_size=1)
        assert len(set(zip(fine, coarse, strict=True))) == n_clusters


@given(trees(max_leaves=20, times=st.floats(0.01, 10)))
def test_cuts_agree_with_scipy(tree):
    Z = tree.to_linkage()
    everywhere = hierarchy.cut_tree(Z)
    untied = len(set(tree.times)) == tree.n - 1  # cut_tree takes tied merges in an order of its own
    for n_clusters in range(1, tree.n + 1) if untied else ():
        assert same_partition(tree.cut(n_clusters, min_size=1), everywhere[:, tree.n - n_clusters])
    for time in (0.0, *tree.times, 0.5 * tree.times[-1]):
        assert same_partition(tree.cut(time=time), hierarchy.fcluster(Z, time, criterion="distance"))


def test_cut_at_the_ends(tree):
    np.testing.assert_array_equal(tree.cut(time=-1), [0, 1, 2, 3])
    np.testing.assert_array_equal(tree.cut(time=np.inf), [0, 0, 0, 0])
    np.testing.assert_array_equal(tree.cut(np.int32(2)), [0, 1, 0, 1])
    assert tree.cut(2).dtype == np.int64
    tied = Tree([[0, 1], [2, 3], [4, 5]], [1, 1, 1])
    np.testing.assert_array_equal(tied.cut(2), [0, 0, 1, 1])
    np.testing.assert_array_equal(tied.cut(time=1), [0, 0, 0, 0])
