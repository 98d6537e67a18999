"""The leaves of a table: which rows are copies, and which are replicates."""

import warnings

import numpy as np
import pandas as pd
import pytest

import coaltree as ct
from coaltree import InputError, Noise
from coaltree.model.data.leaves import find_distinct, read_groups, read_leaves
from coaltree.model.data.table import Table

pytestmark = pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")


def table_of(X):
    return Table(np.asarray(X, dtype=float), tuple(f"r{i}" for i in range(len(X))), None)


def test_leaves_of_copies_are_merged_unless_the_noise_is_fixed():
    X = [[0.0], [1.0], [0.0]]
    assert len(read_leaves(table_of(X), Noise("learn")).kept) == 2
    assert len(read_leaves(table_of(X), Noise(0.1)).kept) == 3
    assert read_leaves(table_of(X), Noise("learn")).places.tolist() == [0, 1, 0]


def test_leaves_of_one_row_may_be_copies_and_replicates_are_not():
    X = [[0.0], [1.0], [0.0], [5.0], [5.0]]
    rows = read_leaves(table_of(X), Noise("learn"), ["a", "b", "c", "d", "d"])
    assert rows.labels == ("a", "b", "c", "d")
    assert rows.distinct.first.tolist() == [0, 1, 3] and rows.distinct.leaf.tolist() == [0, 1, 0, 2]
    assert rows.kept.tolist() == [0, 1, 3, 4] and rows.places.tolist() == [0, 1, 0, 2, 3]
    assert rows.replicates.n == 3


def test_duplicates_are_found_after_centring():
    X = np.array([[0.0, 1.0], [1e-17, 1.0], [-5.0, 2.0], [-7.0, 1.0]])
    distinct = find_distinct(X)
    assert distinct.leaf.tolist() == [0, 0, 1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_distinct(X[1:]).n == 3
        assert find_distinct(np.array([[1.7e308], [-1.7e308], [1.6e308]])).n == 3


def test_duplicates_are_put_back_on_the_trees_at_time_zero():
    distinct = find_distinct(np.array([[1.0], [5.0], [1.0], [2.0], [1.0]]))
    assert distinct.first.tolist() == [0, 1, 3] and distinct.leaf.tolist() == [0, 1, 0, 2, 0]
    children, times = distinct.expand(np.array([[[0, 2], [3, 1]]]), np.array([[1.0, 4.0]]))
    tree = ct.Tree(children[0], times[0])
    np.testing.assert_array_equal(
        tree.cophenetic(), [[0, 4, 0, 1, 0], [4, 0, 4, 4, 4], [0, 4, 0, 1, 0], [1, 4, 1, 0, 1], [0, 4, 0, 1, 0]]
    )


def test_duplicates_with_missing_entries_stay_apart():
    assert find_distinct(np.array([[1.0, np.nan], [1.0, np.nan], [2.0, 0.0], [2.0, 0.0]])).n == 3


def test_read_groups_numbers_leaves_in_order_of_first_sight():
    leaf, labels = read_groups(["b", "a", "b", 3], 4)
    assert leaf.tolist() == [0, 1, 0, 2] and labels == ("b", "a", "3")


@pytest.mark.parametrize("bad", [["a", "b"], "abc", 3, ["a", None, "b"], ["a", pd.NA, "b"], ["a", "", "b"], ["a"] * 3])
def test_read_groups_refuses_bad_groups(bad):
    with pytest.raises(InputError, match="groups"):
        read_groups(bad, 3)
