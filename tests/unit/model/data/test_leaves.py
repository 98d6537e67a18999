"""The leaves of a table: which rows are copies, which are replicates, and which have no values."""

import numpy as np
import pytest

import coaltree as ct
from coaltree import InputError, Noise
from coaltree.model.data.duplicates import Distinct
from coaltree.model.data.leaves import EMPTY_ROWS, read_leaves, without_empty_rows
from coaltree.model.data.table import Table


def table_of(X):
    return Table(np.asarray(X, dtype=float), tuple(f"r{i}" for i in range(len(X))), None)


def test_leaves_of_copies_are_merged_unless_the_noise_is_fixed():
    X = [[0.0], [1.0], [0.0]]
    assert len(read_leaves(table_of(X), Noise("learn"), quiet=True).kept) == 2
    assert len(read_leaves(table_of(X), Noise(0.1), quiet=True).kept) == 3
    assert read_leaves(table_of(X), Noise("learn"), quiet=True).places.tolist() == [0, 1, 0]


def test_leaves_of_one_row_may_be_copies_and_replicates_are_not():
    X = [[0.0], [1.0], [0.0], [5.0], [5.0]]
    rows = read_leaves(table_of(X), Noise("learn"), ["a", "b", "c", "d", "d"], quiet=True)
    assert rows.labels == ("a", "b", "c", "d")
    assert rows.distinct.first.tolist() == [0, 1, 3] and rows.distinct.group.tolist() == [0, 1, 0, 2]
    assert rows.kept.tolist() == [0, 1, 3, 4] and rows.places.tolist() == [0, 1, 0, 2, 3]
    assert rows.replicates.n == 3
    assert isinstance(rows.distinct, Distinct)


@pytest.mark.parametrize(
    ("settings", "words"),
    [({"groups": ["a", "a", "b"]}, "noise"), ({"errors": [1.0, 2.0, 1.0]}, "errors")],
)
def test_leaves_with_groups_or_errors_need_a_noise(settings, words):
    with pytest.raises(InputError, match=words):
        ct.fit([[0.0], [1.0], [2.0]], noise=0.0, progress=False, **settings)


NAMES = ("a", "b", "c", "d", "e")


def table(*empty):
    values = np.arange(10.0).reshape(5, 2)
    values[list(empty)] = np.nan
    return Table(values, NAMES, ("x", "y"))


def test_without_empty_rows_nothing_changes():
    whole = table()
    found, *rest = without_empty_rows(whole, None, None)
    assert found is whole and rest == [None, None, {}]


def test_empty_rows_take_along_what_belongs_to_them():
    with pytest.warns(ct.CoaltreeWarning, match="2 rows .* 'a', 'd'"):
        found, _, errors, about = without_empty_rows(table(0, 3), None, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.labels == ("b", "c", "e") and found.features == ("x", "y")
    np.testing.assert_array_equal(found.values, [[2.0, 3.0], [4.0, 5.0], [8.0, 9.0]])
    np.testing.assert_array_equal(errors, [2.0, 3.0, 5.0])
    assert about == {EMPTY_ROWS: {"names": ["a", "d"], "places": [0, 3]}}


def test_a_group_is_gone_only_with_all_its_rows():
    with pytest.warns(ct.CoaltreeWarning, match="1 row with missing values only is left out of the tree: 'b'"):
        _, groups, _, about = without_empty_rows(table(1), ["p", "p", "q", "q", "r"], None)
    assert groups == ["p", "q", "q", "r"] and about == {}
    with pytest.warns(ct.CoaltreeWarning):
        *_, about = without_empty_rows(table(0, 1), ["p", "p", "q", "q", "r"], None)
    assert about == {EMPTY_ROWS: {"names": ["p"], "places": [0]}}


def test_one_row_with_values_is_too_few():
    with pytest.raises(ct.InputError, match="at least 2 rows with values; 4 of 5"):
        without_empty_rows(table(0, 1, 2, 3), None, None)
