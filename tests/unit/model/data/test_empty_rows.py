"""Rows with missing values only: what goes with the others, and what is remembered."""

import numpy as np
import pytest
from scipy import sparse

import coaltree as ct
from coaltree.model.data.empty_rows import EMPTY_ROWS, RowInputs, without_empty_rows
from coaltree.model.data.table import Table

NAMES = ("a", "b", "c", "d", "e")


def table(*empty):
    values = np.arange(10.0).reshape(5, 2)
    values[list(empty)] = np.nan
    return Table(values, NAMES, ("x", "y"))


def test_without_empty_rows_nothing_changes():
    given = RowInputs(table())
    assert without_empty_rows(given) == (given, {})


def test_empty_rows_take_along_what_belongs_to_them():
    neighbors = sparse.csr_array(np.arange(25.0).reshape(5, 5))
    given = RowInputs(table(0, 3), None, [1.0, 2.0, 3.0, 4.0, 5.0], neighbors)
    with pytest.warns(ct.CoaltreeWarning, match="2 rows .* 'a', 'd'"):
        found, about = without_empty_rows(given)
    assert found.table.labels == ("b", "c", "e") and found.table.features == ("x", "y")
    np.testing.assert_array_equal(found.table.values, [[2.0, 3.0], [4.0, 5.0], [8.0, 9.0]])
    np.testing.assert_array_equal(found.errors, [2.0, 3.0, 5.0])
    np.testing.assert_array_equal(found.neighbors.toarray(), neighbors.toarray()[np.ix_([1, 2, 4], [1, 2, 4])])
    assert about == {EMPTY_ROWS: {"names": ["a", "d"], "places": [0, 3]}}


def test_a_group_is_gone_only_with_all_its_rows():
    with pytest.warns(ct.CoaltreeWarning, match="1 row with missing values only is left out of the tree: 'b'"):
        found, about = without_empty_rows(RowInputs(table(1), ["p", "p", "q", "q", "r"]))
    assert found.groups == ["p", "q", "q", "r"] and about == {}
    with pytest.warns(ct.CoaltreeWarning):
        found, about = without_empty_rows(RowInputs(table(0, 1), ["p", "p", "q", "q", "r"]))
    assert about == {EMPTY_ROWS: {"names": ["p"], "places": [0]}}


def test_one_row_with_values_is_too_few():
    with pytest.raises(ct.InputError, match="at least 2 rows with values; 4 of 5"):
        without_empty_rows(RowInputs(table(0, 1, 2, 3)))
