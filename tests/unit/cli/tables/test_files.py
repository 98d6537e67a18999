"""Files of every kind: separators, headers, sheets, arrays."""

import csv
import datetime
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coaltree import InputError
from coaltree._runtime import archive
from coaltree.cli.tables.reading import TableOptions, read_file


@pytest.mark.parametrize(
    ("text", "index", "columns"),
    [
        ("a,b\n1,2\n3,4\n", ("0", "1"), ("a", "b")),
        ("1,2.5\n3,4\n", ("0", "1"), ("0", "1")),
        ("p,1.5,2\nq,3,4\n", ("p", "q"), ("1", "2")),  # names, but no header
        ("name,0,0.5\np,1.5,2\nq,3,4\n", ("p", "q"), ("0", "0.5")),  # a heading of names says that it is one
        (",0,1\np,1.5,2\nq,3,4\n", ("p", "q"), ("0", "1")),  # as pandas writes
        (",0.5,1.0,2.0\np,1,2,3\nq,4,5,6\n", ("p", "q"), ("0.5", "1.0", "2.0")),  # doses, times
        ("a,b\np,1,2\nq,3,4\n", ("p", "q"), ("a", "b")),  # as R writes
        (",0,1\n0,1,2\n1,3,4\n", ("0", "1"), ("0", "1")),  # as pandas writes whole numbers
        ("name;height\nanna;1.72\nbo;1.8\n", ("anna", "bo"), ("height",)),
        ("id,a\n7,1\n9,2\n", ("7", "9"), ("a",)),
        ("a,b,\n1,2,\n3,4,\n", ("0", "1"), ("a", "b")),  # every line ends in a separator
        ("name,b,\np,2,\nq,4,\n", ("p", "q"), ("b",)),
        ("a\tb\n1\t2\n3\t4\n", ("0", "1"), ("a", "b")),
        ("1.5 2\n 3   4 \n", ("0", "1"), ("0", "1")),
        ("a;b;c,x\np,1\nq,2\n", ("p", "q"), ("x",)),
        ('"a,b";x\n"p,q";1\n"r,s";2\n', ("p,q", "r,s"), ("x",)),
        ('id;","\na;1\n",";2\n', ("a", ","), (",",)),
        ('name,"a,b"\n"p ""q""",1\nr,2\n', ('p "q"', "r"), ("a,b",)),
        ("\ufeffname,a\r\np,1\r\n\r\nq,2\r\n", ("p", "q"), ("a",)),
        ("name,a\np\u2028q,1\nr,2\n", ("p\u2028q", "r"), ("a",)),
        ("name,a\nNA,1\nTrue,2\n", ("NA", "True"), ("a",)),
        ("day,a\n2024-01-01,1\n2024-01-02,2\n", ("2024-01-01", "2024-01-02"), ("a",)),
    ],
)
def test_text_files_have_their_header_and_names_found(table, text, index, columns):
    frame = table(text)
    assert (frame.labels, frame.features) == (index, columns)
    assert frame.values.shape == (len(index), len(columns))
    assert np.isfinite(frame.values).all()


@given(data=st.data(), separator=st.sampled_from(",;\t"))
def test_text_files_are_read_as_csv_wrote_them(read, data, separator):
    letters = st.sampled_from("ab1.\"' -é東\u2028" + separator)  # names with a separator in them are quoted
    words = st.text(letters, min_size=1, max_size=6).map(str.strip).filter(bool)
    n, d = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 3))
    index = data.draw(st.lists(words, min_size=n, max_size=n, unique=True))
    columns = data.draw(st.lists(words, min_size=d + 1, max_size=d + 1, unique=True))
    cells = st.floats(allow_infinity=False)
    values = data.draw(st.lists(st.lists(cells, min_size=d, max_size=d), min_size=n, max_size=n))
    values[0] = [1.0] * d  # a column without values is left out
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("x.tsv" if separator == "\t" else "x.csv")
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, delimiter=separator)
            rows.writerow(columns)
            rows.writerows([name, *map(repr, row)] for name, row in zip(index, values, strict=True))
        frame = read(path, header=True, names=columns[0])
    assert frame.labels == tuple(index)
    assert frame.features == tuple(columns[1:])
    np.testing.assert_array_equal(frame.values, np.array(values, dtype=float))


def test_arrays_of_npy_and_npz(read, tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    frame = read(tmp_path / "x.npy")
    assert (frame.labels, frame.features) == (("0", "1", "2"), ("0", "1"))
    np.testing.assert_array_equal(frame.values, X)
    np.testing.assert_array_equal(read(tmp_path / "x.npy", drop=("0",)).values, X[:, 1:])
    np.savez(tmp_path / "x.npz", X=X, labels=["p", "q", "r"], columns=["a", "b"], other=X + 1)
    frame = read(tmp_path / "x.npz")
    assert (frame.labels, frame.features) == (("p", "q", "r"), ("a", "b"))
    np.testing.assert_array_equal(read(tmp_path / "x.npz", array="other").values, X + 1)


def text(content):
    return lambda path: path.write_bytes(content)


def arrays(**content):
    return lambda path: np.savez(path, **content)


def array(values):
    return lambda path: np.save(path, values, allow_pickle=True)


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("two.npz", arrays(u=np.eye(2), v=np.eye(2)), "contains the arrays u, v; choose one with --array"),
        ("none.npz", arrays(), "contains the arrays ; choose one"),
        ("short.npz", arrays(X=np.eye(2), labels=["a"]), "not a readable .npz file (Shape of passed values"),
        (
            "posterior.npz",
            lambda path: archive.write(path, "coaltree posterior", 1, {"x": np.eye(2)}),
            "is a posterior",
        ),
        ("words.npy", array(np.array([["a"]])), "expected a table of numbers, not an array of shape (1, 1)"),
        ("cube.npy", array(np.zeros((2, 2, 2))), "expected a table of numbers, not an array of shape (2, 2, 2)"),
        (
            "objects.npy",
            array(np.array([{}], dtype=object)),
            "not a readable .npy file (Object arrays cannot be loaded",
        ),
        ("text.npy", text(b"1,2,3,4,5,6"), "not a readable .npy file ("),
        ("text.xlsx", text(b"no"), "not a readable .xlsx file ("),
        ("x.xls", text(b"no"), "x.xls: unsupported file type; expected .csv"),
    ],
)
def test_other_files_are_refused(read, tmp_path, name, write, message):
    write(tmp_path / name)
    with pytest.raises(InputError) as caught:
        read(tmp_path / name)
    assert message in str(caught.value)


def test_parquet_files_with_index_text_and_large_numbers(read, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    pd.DataFrame({"name": ["p", "ü"], "a": [1, None], "kind": ["r", "r"]}).to_parquet(path)
    frame = read(path, drop=("kind",))
    assert (frame.labels, frame.features) == (("p", "ü"), ("a",))
    np.testing.assert_array_equal(frame.values, [[1.0], [np.nan]])
    pd.DataFrame({"a": [1, 2]}, index=["u", "v"]).to_parquet(path)
    assert read(path).labels == ("u", "v")
    pd.DataFrame({"id": [2**60, 2**60 + 1], "a": [1, 2]}).to_parquet(path)
    assert read(path).labels == (str(2**60), str(2**60 + 1))
    pd.DataFrame({"a": [1, 2], "kind": pd.Categorical(["r", None])}).to_parquet(path)
    with pytest.raises(InputError, match=r"column 'kind': .* is not a number; correct it, leave text out with --drop"):
        read(path)


@pytest.mark.parametrize(
    ("suffix", "package", "extra"), [("parquet", "pyarrow", "parquet"), ("xlsx", "openpyxl", "excel")]
)
def test_a_missing_package_is_named_by_its_extra(read, tmp_path, monkeypatch, suffix, package, extra):
    path = tmp_path / f"x.{suffix}"
    path.write_text("")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf'pip install "coaltree\[{extra}\]"'):
        read(path)


@pytest.fixture
def workbook(tmp_path):
    """Write rows to the first sheet of an .xlsx file, and others to a second one."""
    openpyxl = pytest.importorskip("openpyxl")

    def write(*rows):
        book = openpyxl.Workbook()
        book.active.title = "Blatt 1"
        for row in rows:
            book.active.append(row)
        book.create_sheet("other").append([1.5, 2.5])
        book.save(tmp_path / "x.xlsx")
        return tmp_path / "x.xlsx"

    return write


def test_excel_files_have_header_names_and_missing_cells(read, workbook):
    path = workbook(["name", "a", "b", None], ["p", 1, 0.1], [], ["東京", None, "#N/A"], ["r", 2**60, -3])
    source = read(path)
    assert (source.labels, source.features) == (("p", "東京", "r"), ("a", "b"))
    np.testing.assert_array_equal(source.values, [[1, 0.1], [np.nan, np.nan], [2**60, -3]])
    assert read(path, array="other", header=False).values.tolist() == [[1.5, 2.5]]
    description = read_file(path, TableOptions()).description
    day = datetime.date(1970, 1, 3)
    dated = read(workbook(["a", "when", "is"], [1, day, True], [2, None, False]))
    np.testing.assert_array_equal(dated.values, [[1, 2, 1], [2, np.nan, 0]])
    read_with = "read with  sheet 'Blatt 1', header in row 1, 1 empty row skipped, rows named by the column 'name'"
    assert description.endswith(f"{read_with}\n  missing    2 of 6 values")


def test_excel_files_with_decimal_commas_and_hidden_rows(read, workbook):
    openpyxl = pytest.importorskip("openpyxl")
    path = workbook(["a", "b"], [1.5, "2,5"], [1.125, "3"], [2300, "4"])
    assert read(path, decimal=",").values.tolist() == [[1.5, 2.5], [1.125, 3], [2300, 4]]
    assert read(path, columns=("a",)).values.tolist() == [[1.5], [1.125], [2300]]
    book = openpyxl.load_workbook(path)
    book.active.row_dimensions[3].hidden = True
    book.save(path)
    assert "1 row among them hidden in Excel" in read_file(path, TableOptions(decimal=",")).description
