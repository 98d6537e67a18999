"""The search for nearest rows, and neighbour graphs, against sorting all distances."""

import numpy as np
import pytest

from coaltree.samplers.regraft import nearest as search
from coaltree.samplers.regraft.nearest import nearest, neighbor_graphs
from tests.reference.neighbors import by_sorting, recall


@pytest.fixture
def in_cells(monkeypatch):
    """Few rows, searched as many are."""
    monkeypatch.setattr(search, "_MAX_EXACT_PAIRS", 0)
    monkeypatch.setattr(search, "_MIN_SEEN", 600)


def test_nearest_of_queries_apart_from_points():
    rng = np.random.default_rng(2)
    queries, points = rng.normal(size=(30, 4)), rng.normal(size=(50, 4))
    found = nearest(queries, points, 5, np.arange(100, 150))
    np.testing.assert_array_equal(found - 100, by_sorting(queries, points, 5))


def test_nearest_in_cells_finds_nearly_all(in_cells):
    W = np.random.default_rng(4).normal(size=(4000, 6))
    found = nearest(W, W, 8, np.arange(4000))
    exact = by_sorting(W[:200], W, 9)[:, 1:]
    assert recall(found[:200], exact) > 0.97  # 0.99
    assert not np.any(found == np.arange(4000)[:, None])
    tiny = nearest(1e-100 * W, 1e-100 * W, 8, np.arange(4000))
    assert np.mean(tiny == found) > 0.999  # scaled, but for the last bit


def test_nearest_in_cells_finds_less_without_neighbors_of_neighbors(in_cells, monkeypatch):
    W = np.random.default_rng(4).normal(size=(4000, 6))
    exact = by_sorting(W[:200], W, 9)[:, 1:]
    found = recall(nearest(W, W, 8, np.arange(4000))[:200], exact)
    monkeypatch.setattr(search, "_ask_neighbors", lambda points, near: near)
    assert recall(nearest(W, W, 8, np.arange(4000))[:200], exact) < found


def test_nearest_in_cells_of_a_sample_and_of_other_rows(in_cells):
    rng = np.random.default_rng(5)
    W = rng.normal(size=(3000, 5))
    sample = np.sort(rng.permutation(3000)[:900])
    found = nearest(W, W[sample], 6, sample)
    apart = np.square(W[:100, None] - W[sample][None]).sum(axis=2)
    apart[np.arange(100)[:, None] == sample] = np.inf
    assert recall(found[:100], sample[np.argsort(apart, axis=1)[:, :6]]) > 0.97
    others = nearest(W[:50] + 0.1, W, 4, np.arange(3000, 6000)) - 3000
    assert recall(others, by_sorting(W[:50] + 0.1, W, 4)) > 0.97


def test_nearest_in_cells_keeps_the_finest_scale_of_clusters_far_apart(in_cells):
    rng = np.random.default_rng(6)
    centres = 1e3 * rng.normal(size=(20, 3))
    inside = 1e-6 * rng.normal(size=(20, 100, 3))
    W = (centres[:, None] + inside).reshape(2000, 3)
    found = nearest(W, W, 4, np.arange(2000))
    assert np.all(found // 100 == np.arange(2000)[:, None] // 100)
    assert recall(found[:100], by_sorting(inside[0], inside[0], 5)[:, 1:]) > 0.95


def test_nearest_in_cells_of_equal_rows_and_no_columns(in_cells):
    found = nearest(np.zeros((300, 3)), np.zeros((300, 3)), 4, np.arange(300))
    assert np.all((found >= 0) & (found != np.arange(300)[:, None]))
    assert nearest(np.zeros((300, 0)), np.zeros((300, 0)), 4, np.arange(300)).shape == (300, 4)
    few = nearest(np.arange(3.0)[:, None], np.arange(3.0)[:, None], 4, np.arange(3))
    np.testing.assert_array_equal(few, [[1, 2, -1, -1], [0, 2, -1, -1], [1, 0, -1, -1]])


def test_nearest_does_not_depend_on_threads(in_cells, monkeypatch):
    W = np.random.default_rng(7).normal(size=(3000, 5))
    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr(search, "allowed_threads", lambda n_threads=n_threads: n_threads)
        found.append(nearest(W, W, 5, np.arange(3000)))
    np.testing.assert_array_equal(*found)


def test_neighbor_graphs_have_the_nearest_of_all_and_of_samples():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(700, 5))
    levels = neighbor_graphs(W, 6, rng)
    assert levels.shape == (3, 700, 6)  # of 700, 175 and 43 rows
    np.testing.assert_array_equal(levels[0], by_sorting(W, W, 7)[:, 1:])
    for level, size in ((1, 175), (2, 43)):
        members = np.unique(levels[level])
        assert len(members) <= size
        assert not np.any(levels[level] == np.arange(700)[:, None])
        apart = np.square(W[:, None] - W[members][None]).sum(axis=2)
        apart[members, np.arange(len(members))] = np.inf
        np.testing.assert_array_equal(levels[level], members[np.argsort(apart, axis=1)[:, :6]])


def test_neighbor_graphs_of_few_rows():
    levels = neighbor_graphs(np.array([[0.0], [1.0], [5.0]]), 8, np.random.default_rng(0))
    np.testing.assert_array_equal(levels[0], [[1, 2], [0, 2], [1, 0]])
    assert neighbor_graphs(np.zeros((4, 0)), 2, np.random.default_rng(0)).shape == (1, 4, 2)


def test_neighbor_graphs_keep_the_finest_scale_beside_large_coordinates():
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(20, 3)) * 1e3
    W = np.repeat(centres, 10, axis=0) + 1e-6 * rng.normal(size=(200, 3))
    levels = neighbor_graphs(W, 4, rng)
    for i in range(200):
        group = np.arange(i // 10 * 10, i // 10 * 10 + 10)
        inside = W[group] - centres[i // 10]
        order = group[np.argsort(np.square(inside - inside[i % 10]).sum(axis=1))]
        assert set(levels[0, i]) <= set(group)
        assert levels[0, i, 0] in order[1:3]
