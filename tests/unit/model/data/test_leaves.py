"""The leaves of a table: which rows are copies, which are replicates."""

import numpy as np
import pytest

import coaltree as ct
from coaltree import InputError, Noise
from coaltree.model.data.duplicates import Distinct
from coaltree.model.data.leaves import read_rows
from coaltree.model.data.table import Table


def table_of(X):
    return Table(np.asarray(X, dtype=float), tuple(f"r{i}" for i in range(len(X))), None)


def test_leaves_of_copies_are_merged_unless_the_noise_is_fixed():
    X = [[0.0], [1.0], [0.0]]
    assert len(read_rows(table_of(X), Noise("learn"), quiet=True).kept) == 2
    assert len(read_rows(table_of(X), Noise(0.1), quiet=True).kept) == 3
    assert read_rows(table_of(X), Noise("learn"), quiet=True).places.tolist() == [0, 1, 0]


def test_leaves_of_one_row_may_be_copies_and_replicates_are_not():
    X = [[0.0], [1.0], [0.0], [5.0], [5.0]]
    rows = read_rows(table_of(X), Noise("learn"), ["a", "b", "c", "d", "d"], quiet=True)
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
