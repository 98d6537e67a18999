"""The search for nearest rows against sorting all distances."""

import numpy as np
import pytest

from coaltree.model.data.neighbor_graph import NeighborGraph
from coaltree.samplers.regraft import nearest as search
from coaltree.samplers.regraft.nearest import nearest, nearest_in_graph
from tests.reference.neighbors import by_sorting, recall


@pytest.fixture
def in_cells(monkeypatch):
    """Few rows, searched as many are."""
    monkeypatch.setattr(search, "_EXACT_UP_TO", 0)
    monkeypatch.setattr(search, "_FEWEST", 400)


def test_queries_apart_from_points():
    rng = np.random.default_rng(2)
    queries, points = rng.normal(size=(30, 4)), rng.normal(size=(50, 4))
    found = nearest(queries, points, 5, np.arange(100, 150))
    np.testing.assert_array_equal(found - 100, by_sorting(queries, points, 5))


def test_cells_find_nearly_all(in_cells):
    W = np.random.default_rng(4).normal(size=(4000, 6))
    found = nearest(W, W, 8, np.arange(4000))
    exact = by_sorting(W[:200], W, 9)[:, 1:]
    assert recall(found[:200], exact) > 0.97  # 0.99
    assert not np.any(found == np.arange(4000)[:, None])
    tiny = nearest(1e-100 * W, 1e-100 * W, 8, np.arange(4000))
    assert np.mean(tiny == found) > 0.999  # scaled, but for the last bit


def test_without_a_look_at_friends_less_is_found(in_cells, monkeypatch):
    W = np.random.default_rng(4).normal(size=(4000, 6))
    exact = by_sorting(W[:200], W, 9)[:, 1:]
    found = recall(nearest(W, W, 8, np.arange(4000))[:200], exact)
    monkeypatch.setattr(search, "_among_friends", lambda order, points, found: found)
    assert recall(nearest(W, W, 8, np.arange(4000))[:200], exact) < found


def test_cells_find_the_nearest_of_a_sample_and_of_other_rows(in_cells):
    rng = np.random.default_rng(5)
    W = rng.normal(size=(3000, 5))
    sample = np.sort(rng.permutation(3000)[:900])
    found = nearest(W, W[sample], 6, sample)
    apart = np.square(W[:100, None] - W[sample][None]).sum(axis=2)
    apart[np.arange(100)[:, None] == sample] = np.inf
    assert recall(found[:100], sample[np.argsort(apart, axis=1)[:, :6]]) > 0.97
    others = nearest(W[:50] + 0.1, W, 4, np.arange(3000, 6000)) - 3000
    assert recall(others, by_sorting(W[:50] + 0.1, W, 4)) > 0.97


def test_clusters_far_apart_keep_their_finest_scale_in_cells(in_cells):
    rng = np.random.default_rng(6)
    centres = 1e3 * rng.normal(size=(20, 3))
    inside = 1e-6 * rng.normal(size=(20, 100, 3))
    W = (centres[:, None] + inside).reshape(2000, 3)
    found = nearest(W, W, 4, np.arange(2000))
    assert np.all(found // 100 == np.arange(2000)[:, None] // 100)
    assert recall(found[:100], by_sorting(inside[0], inside[0], 5)[:, 1:]) > 0.95


def test_equal_rows_and_empty_columns_do_no_harm(in_cells):
    found = nearest(np.zeros((300, 3)), np.zeros((300, 3)), 4, np.arange(300))
    assert np.all((found >= 0) & (found != np.arange(300)[:, None]))
    assert nearest(np.zeros((300, 0)), np.zeros((300, 0)), 4, np.arange(300)).shape == (300, 4)
    few = nearest(np.arange(3.0)[:, None], np.arange(3.0)[:, None], 4, np.arange(3))
    np.testing.assert_array_equal(few, [[1, 2, -1, -1], [0, 2, -1, -1], [1, 0, -1, -1]])


def test_threads_change_nothing(in_cells, monkeypatch):
    W = np.random.default_rng(7).normal(size=(3000, 5))
    monkeypatch.setattr(search, "_QUERIES_A_BLOCK", 100)
    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr(search, "allowed_threads", lambda n_threads=n_threads: n_threads)
        found.append(nearest(W, W, 5, np.arange(3000)))
    np.testing.assert_array_equal(*found)


def test_neighbors_of_a_graph_are_ranked():
    points = np.array([[0.0], [3.0], [1.0], [2.5]])
    graph = NeighborGraph(np.array([0, 3, 4, 6, 7]), np.array([1, 2, 3, 0, 0, 3, 0], np.int32))
    np.testing.assert_array_equal(nearest_in_graph(points, 2, graph), [[2, 3], [0, -1], [0, 3], [0, -1]])
