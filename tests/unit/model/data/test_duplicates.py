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
