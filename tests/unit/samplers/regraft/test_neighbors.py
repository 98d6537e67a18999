"""Neighbour lists against sorting all distances."""

import sys

import numpy as np
import pytest

from coaltree.errors import CoaltreeWarning
from coaltree.samplers.regraft import neighbors
from coaltree.samplers.regraft.neighbors import nearest, neighbor_lists


def by_sorting(queries, points, k):
    distances = np.square(queries[:, None] - points[None]).sum(axis=2)
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


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


def test_queries_apart_from_points():
    rng = np.random.default_rng(2)
    queries, points = rng.normal(size=(30, 4)), rng.normal(size=(50, 4))
    found = nearest(queries, points, 5, np.arange(100, 150))
    np.testing.assert_array_equal(found - 100, by_sorting(queries, points, 5))


def test_many_rows_without_faiss_are_searched_exactly_with_a_warning(monkeypatch):
    monkeypatch.setattr(neighbors, "_EXACT_UP_TO", 10)
    monkeypatch.setitem(sys.modules, "faiss", None)
    W = np.random.default_rng(3).normal(size=(60, 3))
    with pytest.warns(CoaltreeWarning, match="faiss"):
        lists = neighbor_lists(W, 3, np.random.default_rng(0))
    np.testing.assert_array_equal(lists[0], by_sorting(W, W, 4)[:, 1:])


def test_many_rows_with_faiss(monkeypatch):
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    monkeypatch.setattr(neighbors, "_EXACT_UP_TO", 1000)
    W = np.random.default_rng(4).normal(size=(5000, 6))
    lists = neighbor_lists(W, 8, np.random.default_rng(0))
    exact = by_sorting(W[:200], W, 9)[:, 1:]
    recall = np.mean([len(set(a) & set(b)) / 8 for a, b in zip(lists[0, :200], exact, strict=True)])
    assert recall > 0.9
    tiny = neighbor_lists(1e-100 * W, 8, np.random.default_rng(0))
    assert np.mean(tiny[0, :200, 0] == exact[:, 0]) > 0.9
    assert not np.any(lists[0] == np.arange(5000)[:, None])
