"""Neighbours that a user gives: what is read, and what is refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import kneighbors_graph

from coaltree.errors import InputError
from coaltree.model.data.leaves import read_rows
from coaltree.model.data.neighbor_graph import read_neighbor_graph
from coaltree.model.data.table import read_table
from coaltree.model.process.noise import as_noise

X = np.random.default_rng(0).normal(size=(30, 3))


def read(neighbors, X=X, groups=None):
    rows = read_rows(read_table(X), as_noise("learn"), groups, quiet=True)
    return read_neighbor_graph(neighbors, rows, len(X))


def lists_of(graph):
    return [set(graph.member[first:last].tolist()) for first, last in zip(graph.start, graph.start[1:], strict=False)]


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("as_kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_neighbor_graph_edges_hold_in_both_directions_whatever_they_weigh(mode, as_kind):
    given = kneighbors_graph(X, 4, mode=mode)
    dense = given.toarray() > 0
    expected = [set(np.flatnonzero(row).tolist()) for row in dense | dense.T]
    assert lists_of(read(as_kind(given))) == expected


def test_neighbor_graph_ignores_loops_and_counts_entries_of_zero():
    given = kneighbors_graph(X, 4, include_self=True, mode="distance")  # stores 0 for each row itself
    assert all(i not in near for i, near in enumerate(lists_of(read(given))))
    given.data[:] = 0.0
    assert lists_of(read(given)) == lists_of(read(kneighbors_graph(X, 4, include_self=True)))


def test_neighbor_graph_gives_copies_one_node():
    twice = np.concatenate([X, X[:1]])
    given = sparse.lil_array((31, 31))
    for i in range(30):
        for j in range(1, 5):
            given[i, (i + j) % 30] = 1.0
    given[30, 15] = 1.0
    lists = lists_of(read(given.tocsr(), twice))
    assert len(lists) == 30 and 15 in lists[0] and 0 in lists[15]


@pytest.mark.parametrize(
    ("neighbors", "says"),
    [
        (np.eye(30), "sparse matrix"),
        (sparse.eye_array(29), "each of 30 rows"),
        (sparse.eye_array(30), r"0 neighbour\(s\) of row '0'"),
        (-kneighbors_graph(X, 4), "negative"),
        (np.nan * kneighbors_graph(X, 4), "missing"),
        (kneighbors_graph(X, 4).astype(complex), "numbers"),
    ],
)
def test_neighbor_graph_refuses_bad_input(neighbors, says):
    with pytest.raises(InputError, match=says):
        read(neighbors)


def test_neighbor_graph_refuses_groups():
    with pytest.raises(InputError, match="groups"):
        read(kneighbors_graph(X, 4), groups=np.arange(30) // 2)
