"""Tables in files: what is found by looking, what is said, and what is refused with its place."""

import csv
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coaltree import InputError
from coaltree.cli.tables.reading import TableOptions, read_file
from coaltree.model.data.table import Table


def read(path, **options):
    return read_file(path, TableOptions(**options)).table


@pytest.fixture
def table(tmp_path):
    """Write text (or bytes) to a file and read it as a table."""

    def write_and_read(text, name="data.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read(path, **options)

    return write_and_read


def refused(table, *args, **options):
    with pytest.raises(InputError) as info:
        table(*args, **options)
    message = str(info.value)
    assert "\n" not in message
    return message


def test_header_names_and_missing_cells(table):
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
def test_header_and_index_are_found(table, text, index, columns):
    frame = table(text)
    assert (frame.labels, frame.features) == (index, columns)
    assert frame.values.shape == (len(index), len(columns))
    assert np.isfinite(frame.values).all()


def test_what_is_said_counts_more_than_what_is_found(table):
    text = "name,code,kind,a,b\np,10,x,1,2\nq,11,x,3,4\n"
    assert table(text, drop=("kind",)).features == ("code", "a", "b")
    frame = table(text, names="code", columns=("b", "a"))
    assert (frame.labels, frame.features) == (("10", "11"), ("b", "a"))
    np.testing.assert_array_equal(frame.values, [[2, 1], [4, 3]])
    frame = table(text, drop=("name", "kind", "code"))
    assert (frame.labels, frame.features) == (("0", "1"), ("a", "b"))
    assert table("1,2\n3,4\n", header=True).features == ("1", "2")
    assert table("1,2\n3,4\n", header=False).values.tolist() == [[1, 2], [3, 4]]
    assert table("gene,2019,2020\np,1,2\nq,3,4\n", header=True).features == ("2019", "2020")
    assert table("gene,2019,2020\np,1,2\nq,3,4\n", header=False).labels == ("gene", "p", "q")
    assert table("2020-01-01,2.5\n2020-01-02,3.5\n", names="0").labels == ("2020-01-01", "2020-01-02")
    assert "column '0' contains text" in refused(table, "a,b\nc,d\n1,2\n", header=False, columns=("0",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n3,tall\n5,6\n", "data.csv, line 3, column 'b': 'tall' is not a number; correct it, or leave"),
        ("a,b\n1,2\n3,x\n5,y\n7,8\n9,8\n", "line 3, column 'b': 'x' is not a number (one of 2 such cells)"),
        ("a,b\n1,2\n3,inf\n5,6\n", "line 3, column 'b': 'inf' is not a number; values must be finite"),
        ("a,b\n1,2\n3,1_0\n4,5\n", "'1_0' is not a number"),
        ("a;b\n1,5;2\n3,5;4\n", "line 2, column 'a': '1,5' is not a number (one of 2 such cells); give --decimal ,"),
        (
            "a,kind\n1,red\n2,red\n",
            "column 'kind' contains text ('red' in line 2); leave it out with --drop kind, or",
        ),
        ("a,k 1\n1,red\n2,blue\n", "leave it out with --drop 'k 1', or use 'k 1' as row names with --names 'k 1'."),
        (
            "a,k,m\n1,r,s\n2,r,s\n",
            "columns k, m contain text ('r' in line 2); leave them out with --drop k --drop m, or",
        ),
        (
            "kind,a\nred,1\nred,2\n",
            "column 'kind' contains text ('red' in line 2); leave it out with --drop kind, or",
        ),
        ("name,a\np,1\nq,2\np,3\n", "but 'p' is in line 2 and again in line 4; make the names unique"),
        ("name,a\np,1\n,2\n", "line 3: the row has no name in column 'name'"),
        ("a,b\n1,2\n3\n", "line 3: the header has 2 cells, but this line has 1."),
        ("1.5,2\n3,4,5\n", "line 2: line 1 has 2 cells, but this line has 3."),
        ("a,a\n1,2\n", "2 columns are called 'a'"),
        ("a,b\n", "a header but no rows"),
        ("\n\n", "is empty"),
        (b"a,b\n1,2\n\xff,3\n", "line 3: not UTF-8 text"),
        (b"a,b\n1,\0\n", "zero bytes"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(table, text, said):
    assert said in refused(table, text)


GERMAN = "name;Höhe;Gewicht\nanna;1,72;63\nbo;1,8;70,5\n"


def test_marks_may_be_said(table):
    frame = table(GERMAN, decimal=",")
    assert (frame.labels, frame.features) == (("anna", "bo"), ("Höhe", "Gewicht"))
    np.testing.assert_array_equal(frame.values, [[1.72, 63], [1.8, 70.5]])
    np.testing.assert_array_equal(table("x\n1,5\n2,5\n", decimal=",").values, [[1.5], [2.5]])
    np.testing.assert_array_equal(table("1|2.5\n3|4\n", separator="|").values, [[1, 2.5], [3, 4]])
    np.testing.assert_array_equal(table("1 2.5\n 3   4 \n", "x.txt", separator="space").values, [[1, 2.5], [3, 4]])
    np.testing.assert_array_equal(table("a\tb\n1\t2.5\n", "x.txt", separator="tab").values, [[1, 2.5]])
    assert "one mark such as ; or the word tab or space, not '::'" in refused(table, "1", separator="::")
    assert "--decimal must be a point or a comma, not 'x'" in refused(table, "1", decimal="x")
    assert "--separator and --decimal cannot both be ','" in refused(table, "1", decimal=",", separator=",")


def test_it_says_how_the_file_was_read(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(GERMAN, encoding="utf-8")
    assert read_file(path, TableOptions(decimal=",")).description.splitlines() == [
        "x.csv: 2 rows, 2 columns",
        "  columns    Höhe, Gewicht",
        "  first row  anna: 1.72, 63",
        "  read with  separator ';', header in line 1, rows named by the column 'name'",
    ]
    path.write_text("\n".join(["1.5\t?" + "\t7" * 7] * 3), encoding="utf-8")
    assert read_file(path, TableOptions()).description.splitlines() == [
        "x.csv: 3 rows, 9 columns",
        "  columns    0, 1, 2, 3, 4, 5 and 3 more",
        "  first row  0: 1.5, –, 7, 7, 7, 7 and 3 more",
        "  read with  separator tab, no header, rows named by their number, from 0",
    ]


def test_unknown_names_are_refused_with_the_known_ones(table):
    text = "a,b\n1,2\n3,4\n"
    assert "there is no column 'c' (--drop); the columns are a, b." in refused(table, text, drop=("c",))
    assert "there is no column 'c' (--columns)" in refused(table, text, columns=("c",))
    assert "there is no column 'c' (--names)" in refused(table, text, names="c")
    assert "no column of numbers is left" in refused(table, text, drop=("a", "b"))


def test_other_files_are_refused(table, tmp_path):
    assert "data.xls: unsupported file type; expected .csv" in refused(table, "x", "data.xls")
    assert "not a readable NumPy file" in refused(table, "x", "data.npy")
    assert "not a readable NumPy file" in refused(table, "x", "data.npz")
    with pytest.raises(InputError, match="file not found"):
        read(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)


def test_arrays(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.save(tmp_path / "x.npy", X)
    frame = read(tmp_path / "x.npy")
    assert (frame.labels, frame.features) == (("0", "1", "2"), ("0", "1"))
    np.testing.assert_array_equal(frame.values, X)
    np.testing.assert_array_equal(read(tmp_path / "x.npy", drop=("0",)).values, X[:, 1:])

    np.savez(tmp_path / "x.npz", X=X, labels=["p", "q", "r"], columns=["a", "b"], other=X + 1)
    frame = read(tmp_path / "x.npz")
    assert (frame.labels, frame.features) == (("p", "q", "r"), ("a", "b"))
    np.testing.assert_array_equal(read(tmp_path / "x.npz", array="other").values, X + 1)

    np.savez(tmp_path / "two.npz", u=X, v=X)
    with pytest.raises(InputError, match="contains the arrays u, v; choose one with --array"):
        read(tmp_path / "two.npz")
    for name, array in {"text": np.array([["a"]]), "cube": np.zeros((2, 2, 2))}.items():
        np.save(tmp_path / f"{name}.npy", array)
        with pytest.raises(InputError, match="expected a table of numbers, not an array of shape"):
            read(tmp_path / f"{name}.npy")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not a readable NumPy file"):
        read(tmp_path / "objects.npy")


def test_a_posterior_is_not_a_table(tmp_path):
    from coaltree._runtime.archive import write

    write(tmp_path / "posterior.npz", "coaltree posterior", 1, {"x": np.zeros((2, 2))})
    with pytest.raises(InputError, match="is a posterior or a checkpoint"):
        read(tmp_path / "posterior.npz")


def test_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    pandas.DataFrame({"name": ["p", "ü"], "a": [1, None], "kind": ["r", "r"]}).to_parquet(path)
    with pytest.raises(
        InputError,
        match=r"column 'kind' contains text .*; leave it out with --drop kind, or",
    ):
        read(path)
    frame = read(path, drop=("kind",))
    assert (frame.labels, frame.features) == (("p", "ü"), ("a",))
    np.testing.assert_array_equal(frame.values, [[1.0], [np.nan]])
    pandas.DataFrame({"a": [1, 2]}, index=["u", "v"]).to_parquet(path)
    assert read(path).labels == ("u", "v")
    kinds = pandas.Categorical(["r", None]), pandas.to_datetime(["2020-01-01", None])
    for kind in kinds:  # which pandas does not turn into text where a value is missing
        pandas.DataFrame({"a": [1, 2], "kind": kind}).to_parquet(path)
        with pytest.raises(
            InputError,
            match=r"column 'kind' contains text .*; leave it out with --drop kind, or",
        ):
            read(path)
    pandas.DataFrame({"a": [1, 2]}, index=pandas.MultiIndex.from_tuples([(1, 2), (1, 3)])).to_parquet(path)
    assert read(path).labels == ("(1, 2)", "(1, 3)")
    pandas.DataFrame({"id": [2**60, 2**60 + 1], "a": [1, 2]}).to_parquet(path)
    assert read(path).labels == (str(2**60), str(2**60 + 1))
    path.write_text("no")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read(path)


def test_parquet_without_its_packages_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "x.parquet").write_text("")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r'pip install "coaltree\[parquet\]"'):
        read(tmp_path / "x.parquet")


def words(separator):
    """Names; the separator of the file may be among their letters (they are then quoted), the others are not.

    A file such as "1;,\\n1,;\\n" can be read either way.
    """
    letters = st.sampled_from("ab1.\"'\n -é東\u2028" + separator)
    return st.text(letters, min_size=1, max_size=6).map(str.strip).filter(bool)


numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(data=st.data(), separator=st.sampled_from(",;\t"))
def test_whatever_is_written_is_read_again(data, separator):
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
        frame = read(path, header=True, names=columns[0])
    assert frame.labels == tuple(index)
    assert frame.features == tuple(columns[1:])
    np.testing.assert_array_equal(frame.values, np.array(values, dtype=float))


def test_float32_stays_what_it_is(tmp_path):
    X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    np.save(tmp_path / "single.npy", X)
    found = read(tmp_path / "single.npy")
    assert found.values.dtype == np.float32 and found.values.flags.c_contiguous
    np.testing.assert_array_equal(found.values, X)
    np.savez(tmp_path / "whole.npz", X=(10 * X).astype(np.int16))
    assert read(tmp_path / "whole.npz").values.dtype == np.float64


def test_parquet_of_float32_stays_what_it_is(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(np.float32([[1.5, np.nan], [0.1, 2.0]]), columns=["a", "b"])
    frame.to_parquet(tmp_path / "single.parquet")
    frame.astype({"a": np.float64}).to_parquet(tmp_path / "mixed.parquet")
    assert read(tmp_path / "single.parquet").values.dtype == np.float32
    assert read(tmp_path / "mixed.parquet").values.dtype == np.float64
