"""The array functions that other modules use directly."""

import numpy as np

from coaltree.tree import merges
from tests.reference import trees as slow
from tests.strategies import random_tree


def test_a_node_covers_a_range_of_the_order_and_a_gap_belongs_to_one_merge():
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


def test_leaves_can_be_left_out():
    children, times = np.array([[0, 1], [2, 5], [3, 6], [4, 7]]), np.array([1.0, 2.0, 3.0, 4.0])
    fewer, fewer_times = merges.restricted(children, times, np.array([0, 2, 4]))
    np.testing.assert_array_equal(fewer, [[1, 0], [2, 3]])
    np.testing.assert_array_equal(fewer_times, [2.0, 4.0])
    everyone, same_times = merges.restricted(children, times, np.arange(5))
    np.testing.assert_array_equal(everyone, children)
    np.testing.assert_array_equal(same_times, times)


def test_canonical_keeps_outliers():
    assert merges.canonical(np.array([-1, 5, 5, 2, -1, 0])).tolist() == [-1, 0, 0, 1, -1, 2]
    assert merges.canonical(np.array([5, 5, 2])).tolist() == [0, 0, 1]
    assert merges.canonical(np.array(["-1", "a", "-1"])).tolist() == [0, 1, 0]
