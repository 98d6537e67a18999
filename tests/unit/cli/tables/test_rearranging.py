"""Rows and columns that change places or are left out."""

import numpy as np
import pytest

from coaltree import InputError
from coaltree.cli.tables.reading import read_file
from coaltree.cli.tables.rearranging import TableOptions, describe

TEXT = "name,x,y,z,kind\na,1,2,,k\nb,3,4,,l\nc,,,,k\nd,5,6,,l\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(TEXT)
    return path


def test_transpose_makes_columns_of_the_file_rows(file):
    found = read_file(file, TableOptions(drop=("kind", "z"), transpose=True))
    assert found.table.labels == ("x", "y") and found.table.features == ("a", "b", "c", "d")
    np.testing.assert_array_equal(found.table.values, [[1, 3, np.nan, 5], [2, 4, np.nan, 6]])
    assert "x.csv: 2 rows, 4 columns" in found.description and "  transposed columns of the file" in found.description
    with pytest.raises(InputError, match="which --transpose makes columns"):
        read_file(file, TableOptions(label=("kind",), drop=("z",), transpose=True))


def test_drop_empty_leaves_out_rows_and_columns_without_values(file):
    found = read_file(file, TableOptions(label=("kind",), drop_empty=True))
    assert found.table.labels == ("a", "b", "d") and found.table.features == ("x", "y")
    assert found.annotations == {"kind": ["k", "l", "l"]}
    assert "dropped: 1 row (c), 1 column (z)" in found.description
    assert (
        "dropped"
        not in read_file(file, TableOptions(columns=("x", "y"), exclude_row=("c",), drop_empty=True)).description
    )


def test_excluded_rows_are_left_out_with_what_belongs_to_them(file):
    found = read_file(file, TableOptions(groups="kind", exclude_row=("c", "a")))
    assert found.table.labels == ("b", "d") and found.groups == ["l", "l"]
    assert "  excluded   c, a" in found.description
    with pytest.raises(InputError, match=r"there is no row 'q' \(--exclude-row\); the rows are a, b, c, d"):
        read_file(file, TableOptions(drop=("kind",), exclude_row=("q",)))
    with pytest.raises(InputError, match="no rows or no columns are left"):
        read_file(file, TableOptions(columns=("z",), names="name", drop_empty=True))


def test_description_has_the_first_row(file):
    table = read_file(file, TableOptions(drop=("kind",))).table
    assert describe(table) == "4 rows, 3 columns\n  columns    x, y, z\n  first row  a: 1, 2, –"
