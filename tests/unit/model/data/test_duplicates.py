"""Rows that are the same, or nearly so."""

import warnings

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.data.duplicates import find_distinct


def test_duplicates_are_found_after_centring():
    X = np.array([[0.0, 1.0], [1e-17, 1.0], [-5.0, 2.0], [-7.0, 1.0]])
    with pytest.warns(ct.CoaltreeWarning, match="merged at time 0"):
        distinct = find_distinct(X)
    assert distinct.group.tolist() == [0, 0, 1, 2]
    assert find_distinct(X, has_density=True).n_copies == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_distinct(X[1:]).n_copies == 0
        assert find_distinct(np.array([[1.7e308], [-1.7e308], [1.6e308]])).n_copies == 0


def test_duplicates_are_put_back_on_the_trees_at_time_zero():
    distinct = find_distinct(np.array([[1.0], [5.0], [1.0], [2.0], [1.0]]), quiet=True)
    assert distinct.first.tolist() == [0, 1, 3] and distinct.group.tolist() == [0, 1, 0, 2, 0]
    children, times = distinct.expand(np.array([[[0, 2], [3, 1]]]), np.array([[1.0, 4.0]]))
    tree = ct.Tree(children[0], times[0])
    np.testing.assert_array_equal(
        tree.cophenetic(), [[0, 4, 0, 1, 0], [4, 0, 4, 4, 4], [0, 4, 0, 1, 0], [1, 4, 1, 0, 1], [0, 4, 0, 1, 0]]
    )


def test_duplicates_with_missing_entries_stay_apart():
    assert find_distinct(np.array([[1.0, np.nan], [1.0, np.nan], [2.0, 0.0], [2.0, 0.0]]), quiet=True).n_copies == 1
