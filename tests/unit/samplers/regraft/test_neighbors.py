"""Neighbour lists against sorting all distances."""

import numpy as np

from coaltree.samplers.regraft.neighbors import neighbor_lists
from tests.reference.neighbors import by_sorting


def test_lists_hold_the_nearest_of_all_and_of_samples():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(700, 5))
    lists = neighbor_lists(W, 6, rng)
    assert lists.shape == (3, 700, 6)  # of 700, 175 and 43 rows
    np.testing.assert_array_equal(lists[0], by_sorting(W, W, 7)[:, 1:])
    for level, size in ((1, 175), (2, 43)):
        members = np.unique(lists[level])
        assert len(members) <= size
        assert not np.any(lists[level] == np.arange(700)[:, None])
        apart = np.square(W[:, None] - W[members][None]).sum(axis=2)
        apart[members, np.arange(len(members))] = np.inf
        np.testing.assert_array_equal(lists[level], members[np.argsort(apart, axis=1)[:, :6]])


def test_few_rows():
    lists = neighbor_lists(np.array([[0.0], [1.0], [5.0]]), 8, np.random.default_rng(0))
    np.testing.assert_array_equal(lists[0], [[1, 2], [0, 2], [1, 0]])
    assert neighbor_lists(np.zeros((4, 0)), 2, np.random.default_rng(0)).shape == (1, 4, 2)


def test_the_finest_scale_is_not_lost_beside_large_coordinates():
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(20, 3)) * 1e3
    W = np.repeat(centres, 10, axis=0) + 1e-6 * rng.normal(size=(200, 3))
    lists = neighbor_lists(W, 4, rng)
    for i in range(200):
        group = np.arange(i // 10 * 10, i // 10 * 10 + 10)
        inside = W[group] - centres[i // 10]
        order = group[np.argsort(np.square(inside - inside[i % 10]).sum(axis=1))]
        assert set(lists[0, i]) <= set(group)
        assert lists[0, i, 0] in order[1:3]
