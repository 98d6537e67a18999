"""The array functions that other modules use directly."""

import numpy as np
import pytest
from hypothesis import given

from coaltree.tree import merges
from tests.reference import trees as slow
from tests.strategies import random_tree, trees


def test_layout_gives_nodes_ranges_and_merges_gaps():
    tree = random_tree(40, np.random.default_rng(3))
    place = merges.layout(tree.children)
    for k, clade in enumerate(slow.clades(tree.children)):
        start, size = place.start[tree.n + k], place.size[tree.n + k]
        assert set(place.order[start : start + size]) == clade
    cophenetic = np.array(slow.cophenetic(tree.children, tree.times))
    np.testing.assert_array_equal(tree.times[place.gap], cophenetic[place.order[:-1], place.order[1:]])
    np.testing.assert_array_equal(np.sort(place.gap), np.arange(tree.n - 1))


def test_leaf_keys_do_not_depend_on_the_number_of_leaves():
    np.testing.assert_array_equal(merges.leaf_keys(10)[:4], merges.leaf_keys(4))
    assert merges.leaf_keys(3)[1, 0] == slow.splitmix64(2)


def test_restricted_leaves_out_leaves():
    children, times = np.array([[0, 1], [2, 5], [3, 6], [4, 7]]), np.array([1.0, 2.0, 3.0, 4.0])
    fewer, fewer_times = merges.restricted(children, times, np.array([0, 2, 4]))
    np.testing.assert_array_equal(fewer, [[1, 0], [2, 3]])
    np.testing.assert_array_equal(fewer_times, [2.0, 4.0])
    everyone, same_times = merges.restricted(children, times, np.arange(5))
    np.testing.assert_array_equal(everyone, children)
    np.testing.assert_array_equal(same_times, times)


@pytest.mark.parametrize("n", [2, 3, 17, 64, 200])
def test_cophenetic_of_pairs_is_the_matrix(n):
    tree = random_tree(n, np.random.default_rng(n))
    every = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), axis=-1).reshape(-1, 2)
    np.testing.assert_array_equal(tree.cophenetic(pairs=every).reshape(n, n), tree.cophenetic())
    assert tree.cophenetic(pairs=np.empty((0, 2))).shape == (0,)


@given(trees(min_leaves=8, max_leaves=8), trees(min_leaves=8, max_leaves=8))
def test_clade_keys_are_equal_where_clades_are(a, b):
    keys = [tuple(key) for tree in (a, b) for key in tree.clade_keys().tolist()]
    sets = [clade for tree in (a, b) for clade in tree.clades()]
    for i in range(len(sets)):
        for j in range(len(sets)):
            assert (keys[i] == keys[j]) == (sets[i] == sets[j])


@given(trees())
def test_clade_keys_are_the_xor_of_splitmix64(tree):
    keys = tree.clade_keys()
    assert keys.dtype == np.uint64
    for clade, key in zip(slow.clades(tree.children), keys.tolist(), strict=True):
        expected = [0, 0]
        for leaf in clade:
            for word in range(2):
                expected[word] ^= slow.splitmix64(2 * leaf + word)
        assert key == expected


def test_canonical_keeps_outliers():
    assert merges.canonical(np.array([-1, 5, 5, 2, -1, 0])).tolist() == [-1, 0, 0, 1, -1, 2]
    assert merges.canonical(np.array([5, 5, 2])).tolist() == [0, 0, 1]
    assert merges.canonical(np.array(["-1", "a", "-1"])).tolist() == [0, 1, 0]
