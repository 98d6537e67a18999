"""Text files: separators, headers, decimal marks."""

import csv
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coaltree.model.data.table import Table


def test_read_text_finds_header_names_and_missing_cells(table):
    frame = table("wine,a,b\nrôsé,1,\n'x y',NA,-2.5e1\n東京,?,3\n")
    assert isinstance(frame, Table)
    assert frame.labels == ("rôsé", "'x y'", "東京")
    assert frame.features == ("a", "b")
    np.testing.assert_array_equal(frame.values, [[1, np.nan], [np.nan, -25], [np.nan, 3]])


@pytest.mark.parametrize(
    ("text", "index", "columns"),
    [
        ("a,b\n1,2\n3,4\n", ("0", "1"), ("a", "b")),
        ("1,2.5\n3,4\n", ("0", "1"), ("0", "1")),
        ("p,1.5,2\nq,3,4\n", ("p", "q"), ("1", "2")),  # names, but no header
        ("name,0,0.5\np,1.5,2\nq,3,4\n", ("p", "q"), ("0", "0.5")),  # a heading of names says that it is one
        (",0,1\np,1.5,2\nq,3,4\n", ("p", "q"), ("0", "1")),  # as pandas writes
        ("a,b\np,1,2\nq,3,4\n", ("p", "q"), ("a", "b")),  # as R writes
        (",0,1\n0,1,2\n1,3,4\n", ("0", "1"), ("0", "1")),  # as pandas writes whole numbers
        ("a,b\n1,1,2\n2,3,4\n", ("1", "2"), ("a", "b")),  # as R writes rows without names
        ("name;height\nanna;1.72\nbo;1.8\n", ("anna", "bo"), ("height",)),
        ("id,a\n7,1\n9,2\n", ("7", "9"), ("a",)),
        ("a\n1\n2\n", ("0", "1"), ("a",)),
        ("a,b,\n1,2,\n3,4,\n", ("0", "1"), ("a", "b")),  # every line ends in a separator
        ("a;b\n1;2\n3;4\n", ("0", "1"), ("a", "b")),
        ("a\tb\n1\t2\n3\t4\n", ("0", "1"), ("a", "b")),
        ("a;b;c,x\np,1\nq,2\n", ("p", "q"), ("x",)),
        ('"a,b";x\n"p,q";1\n"r,s";2\n', ("p,q", "r,s"), ("x",)),
        ('id;","\na;1\n",";2\n', ("a", ","), (",",)),
        ('name,"a,b"\n"p ""q""",1\nr,2\n', ('p "q"', "r"), ("a,b",)),
        ("\ufeffname,a\r\np,1\r\n\r\nq,2\r\n", ("p", "q"), ("a",)),
        ("name,a\np\u2028q,1\nr,2\n", ("p\u2028q", "r"), ("a",)),
    ],
)
def test_read_text_finds_header_and_names(table, text, index, columns):
    frame = table(text)
    assert (frame.labels, frame.features) == (index, columns)
    assert frame.values.shape == (len(index), len(columns))
    assert np.isfinite(frame.values).all()


def test_read_text_takes_separator_and_decimal_mark(table, refused):
    frame = table("name;Höhe;Gewicht\nanna;1,72;63\nbo;1,8;70,5\n", decimal=",")
    assert (frame.labels, frame.features) == (("anna", "bo"), ("Höhe", "Gewicht"))
    np.testing.assert_array_equal(frame.values, [[1.72, 63], [1.8, 70.5]])
    np.testing.assert_array_equal(table("x\n1,5\n2,5\n", decimal=",").values, [[1.5], [2.5]])
    np.testing.assert_array_equal(table("1|2.5\n3|4\n", separator="|").values, [[1, 2.5], [3, 4]])
    np.testing.assert_array_equal(table("1 2.5\n 3   4 \n", "x.txt", separator="space").values, [[1, 2.5], [3, 4]])
    np.testing.assert_array_equal(table("a\tb\n1\t2.5\n", "x.txt", separator="tab").values, [[1, 2.5]])
    assert "one mark such as ; or the word tab or space, not '::'" in refused("1", separator="::")
    assert "--decimal must be a point or a comma, not 'x'" in refused("1", decimal="x")
    assert "--separator and --decimal cannot both be ','" in refused("1", decimal=",", separator=",")


def words(separator):
    """Names; the separator of the file may be among their letters (they are then quoted), the others are not.

    A file such as "1;,\\n1,;\\n" can be read either way.
    """
    letters = st.sampled_from("ab1.\"'\n -é東\u2028" + separator)
    return st.text(letters, min_size=1, max_size=6).map(str.strip).filter(bool)


numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(data=st.data(), separator=st.sampled_from(",;\t"))
def test_read_text_reads_what_csv_writes(read, data, separator):
    n, d = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 3))
    index = data.draw(st.lists(words(separator), min_size=n, max_size=n, unique=True))
    columns = data.draw(st.lists(words(separator), min_size=d + 1, max_size=d + 1, unique=True))
    values = data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("x.tsv" if separator == "\t" else "x.csv")
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, delimiter=separator)
            rows.writerow(columns)
            rows.writerows(
                [name, *("" if value is None else repr(value) for value in row)]
                for name, row in zip(index, values, strict=True)
            )
        frame = read(path, header=True, names=columns[0], multiline=True)
    assert frame.labels == tuple(index)
    assert frame.features == tuple(columns[1:])
    np.testing.assert_array_equal(frame.values, np.array(values, dtype=float))


def test_read_text_takes_line_breaks_in_cells_where_they_are_allowed(table, refused):
    text = 'name,x\n"a\nb",1.5\nc,2.5\n'
    assert "line 2: a quote opens here and its cell goes on to line 3" in refused(text)
    assert table(text, multiline=True).labels == ("a\nb", "c")
