"""Parquet, Excel and NumPy files; of sparse matrices, nothing that a file claims is believed."""

import datetime
import sys

import numpy as np
import pytest
from scipy import sparse

from coaltree import InputError
from coaltree.cli.tables.binary_files import read_sparse_matrix
from coaltree.cli.tables.reading import TableOptions, read_file

DENSE = np.array([[0, 2, 0, 1], [3, 0, 0, 0], [0, 0, 0, 4], [5, 0, 6, 0]], float)


def test_read_arrays_of_npy_and_npz(read, tmp_path):
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
    (tmp_path / "text.npy").write_text("1,2,3,4,5,6")
    with pytest.raises(InputError, match=r"not a readable NumPy file \(the magic string is not correct"):
        read(tmp_path / "text.npy")
    np.savez(tmp_path / "none.npz")
    with pytest.raises(InputError, match="contains no arrays"):
        read(tmp_path / "none.npz")


def test_read_arrays_refuses_a_posterior(read, tmp_path):
    from coaltree._runtime.archive import write

    write(tmp_path / "posterior.npz", "coaltree posterior", 1, {"x": np.zeros((2, 2))})
    with pytest.raises(InputError, match="is a posterior or a checkpoint"):
        read(tmp_path / "posterior.npz")


def test_read_arrays_keeps_float32(read, tmp_path):
    X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    np.save(tmp_path / "single.npy", X)
    found = read(tmp_path / "single.npy")
    assert found.values.dtype == np.float32 and found.values.flags.c_contiguous
    np.testing.assert_array_equal(found.values, X)
    np.savez(tmp_path / "whole.npz", X=(10 * X).astype(np.int16))
    assert read(tmp_path / "whole.npz").values.dtype == np.float64


def test_read_parquet_with_index_text_and_large_numbers(read, tmp_path):
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


def test_read_parquet_takes_labels_of_any_type(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"a": [1.5, 2.5], "x": [1.0, np.nan], "y": np.float32([0.1, 2])})
    frame["z"] = pandas.array([2**60 + 1, None], dtype="Int64")
    frame.to_parquet(tmp_path / "x.parquet")
    found = read_file(tmp_path / "x.parquet", TableOptions(label=("x", "y", "z")))
    assert found.annotations == {"x": ["1", ""], "y": ["0.1", "2"], "z": [str(2**60 + 1), ""]}


def test_read_parquet_keeps_float32(read, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(np.float32([[1.5, np.nan], [0.1, 2.0]]), columns=["a", "b"])
    frame.to_parquet(tmp_path / "single.parquet")
    frame.astype({"a": np.float64}).to_parquet(tmp_path / "mixed.parquet")
    assert read(tmp_path / "single.parquet").values.dtype == np.float32
    assert read(tmp_path / "mixed.parquet").values.dtype == np.float64


def test_read_parquet_without_its_package_names_the_extra(read, tmp_path, monkeypatch):
    (tmp_path / "x.parquet").write_text("")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r'pip install "coaltree\[parquet\]"'):
        read(tmp_path / "x.parquet")


@pytest.fixture
def workbook(tmp_path):
    """Write rows to the first sheet of an .xlsx file, and others to a second one."""
    openpyxl = pytest.importorskip("openpyxl")

    def write(*rows, name="Blatt 1"):
        book = openpyxl.Workbook()
        book.active.title = name
        for row in rows:
            book.active.append(row)
        book.create_sheet("other").append([1.5, 2.5])
        book.save(tmp_path / "x.xlsx")
        return tmp_path / "x.xlsx"

    return write


def test_read_excel_takes_header_names_and_missing_cells(read, workbook):
    path = workbook(["name", "a", "b", None], ["p", 1, 0.1], [], ["東京", None, "#N/A"], ["r", 2**60, -3])
    found = read(path)
    assert (found.labels, found.features) == (("p", "東京", "r"), ("a", "b"))
    np.testing.assert_array_equal(found.values, [[1, 0.1], [np.nan, np.nan], [2**60, -3]])
    assert read(path, array="other", header=False).values.tolist() == [[1.5, 2.5]]
    description = read_file(path, TableOptions()).description
    read_with = "read with  sheet 'Blatt 1', header in row 1, 1 empty row skipped, rows named by the column 'name'"
    assert description.endswith(f"{read_with}\n  missing    2 of 6 values")


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ([["a", "b"], [1, 2], [3, "tall"], [5, 6]], {}, "x.xlsx, row 3, column 'b': 'tall' is not a number"),
        ([["a", "b"], [1, 2], [3, "#DIV/0!"], [5, 6]], {}, "row 3, column 'b': '#DIV/0!' is not a number"),
        (
            [["a", "d"], [1, datetime.date(2020, 1, 2)], [2, None]],
            {},
            "column 'd' contains text ('2020-01-02 00",
        ),
        ([["a", "b"], [1, 2]], {"array": "none"}, "there is no sheet 'none' (--sheet); the sheets are Blatt 1, other."),
        ([[1, 2], [3, 4]], {}, "row 1: its numbers (1, 2) may be names of columns or a row of data"),
        ([["a", "b"], [1, 2], [3, "=A2+1"]], {}, "x.xlsx, cell B3: the formula has no stored result"),
        ([], {}, "the file is empty"),
    ],
)
def test_read_excel_refuses_with_the_place(read, workbook, rows, options, said):
    path = workbook(*rows)
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert said in str(caught.value)


def test_read_excel_passes_over_hidden_sheets(read, workbook):
    openpyxl = pytest.importorskip("openpyxl")
    path = workbook(["a", "b"], [1, 2], [3, 4])
    book = openpyxl.load_workbook(path)
    book["Blatt 1"].sheet_state = "hidden"
    book.save(path)
    assert read(path, header=False).values.tolist() == [[1.5, 2.5]]
    assert read(path, array="Blatt 1").values.tolist() == [[1, 2], [3, 4]]


def test_read_excel_refuses_a_sheet_that_is_mostly_empty(read, tmp_path):
    """Two cells at the ends of a sheet: all between them would fill the memory."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active["XFD1"] = book.active["A1048576"] = 1
    book.save(tmp_path / "x.xlsx")
    with pytest.raises(InputError, match=r"would (become|need) .* GB"):
        read(tmp_path / "x.xlsx")


def test_read_excel_without_its_package_names_the_extra(read, tmp_path, monkeypatch):
    (tmp_path / "x.xlsx").write_text("")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(InputError, match=r'Excel files need openpyxl: pip install "coaltree\[excel\]"'):
        read(tmp_path / "x.xlsx")


def test_read_parquet_decodes_only_the_columns_that_are_needed(read, tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    cells = {"name": ["p", "q"], "a": [1.0, 2.0], "note": ["r", "s"], "b": [3, 4], "list": [[1], [2]]}
    pandas.DataFrame(cells).to_parquet(path)
    decoded, as_it_is = [], parquet.read_table
    monkeypatch.setattr(
        parquet, "read_table", lambda *args, **more: decoded.append(more["columns"]) or as_it_is(*args, **more)
    )
    table = read(path, drop=("note", "list"))
    assert (table.labels, table.features) == (("p", "q"), ("a", "b"))
    np.testing.assert_array_equal(table.values, [[1, 3], [2, 4]])
    assert read(path, columns=("b",)).features == ("b",)
    assert read(path, columns=("b",), drop=("name",)).labels == ("0", "1")
    assert decoded == [["name", "a", "b"], ["name", "b"], ["b"]]


def test_read_parquet_keeps_the_index_whatever_is_dropped(read, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    for name in (None, "key"):
        index = pandas.Index(["p", "q"], name=name)
        pandas.DataFrame({"a": [1.0, 2.0], "a.b": [5.0, 6.0], "b": [3, 4]}, index).to_parquet(path)
        table = read(path, drop=("a",))
        assert (table.labels, table.features) == (("p", "q"), ("a.b", "b"))
        np.testing.assert_array_equal(table.values, [[5, 3], [6, 4]])
        pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4]}, index).to_parquet(path)
        assert read(path, drop=("a",)).labels == ("p", "q")


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_read_parquet_of_texts_in_every_encoding(read, tmp_path, encoding):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"name": [f"name {i}" for i in range(300)], "x": np.arange(300.0)})
    parquet.write_table(table, tmp_path / "x.parquet", use_dictionary=False, column_encoding={"name": encoding})
    found = read(tmp_path / "x.parquet")
    assert found.labels == tuple(f"name {i}" for i in range(300))
    np.testing.assert_array_equal(found.values[:, 0], np.arange(300.0))


def test_read_excel_fills_merged_cells_downwards_and_says_so(workbook):
    import openpyxl

    path = workbook(["plot", "species", "a"], ["p", "oak", 1], ["q", None, 2], ["r", None, 3], ["s", "elm", 4])
    book = openpyxl.load_workbook(path)
    book.worksheets[0].merge_cells("B2:B4")
    book.save(path)
    found = read_file(path, TableOptions(label=("species",)))
    assert found.annotations == {"species": ["oak", "oak", "oak", "elm"]}
    assert "header in row 1, 2 rows of merged cells filled with the value of the first, rows named" in found.description
    assert "merged" not in read_file(workbook(["a", "b"], [1, 2], [3, 4]), TableOptions()).description


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia"])
@pytest.mark.parametrize("make", [sparse.coo_array, sparse.coo_matrix])
@pytest.mark.parametrize("compressed", [True, False])
def test_read_sparse_matrix_reads_what_scipy_writes(kind, make, compressed, tmp_path):
    sparse.save_npz(tmp_path / "x.npz", make(DENSE).asformat(kind), compressed=compressed)
    np.testing.assert_array_equal(read_sparse_matrix(tmp_path / "x.npz", 4).toarray(), DENSE)


@pytest.mark.parametrize("blocks", [(1, 1), (2, 2), (2, 4)])
def test_read_sparse_matrix_reads_blocks(blocks, tmp_path):
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(DENSE).tobsr(blocks))
    np.testing.assert_array_equal(read_sparse_matrix(tmp_path / "x.npz", 4).toarray(), DENSE)


def test_read_sparse_matrix_leaves_out_room_behind_the_last_entry(tmp_path):
    matrix = sparse.csr_array(DENSE)
    parts = {"indices": np.append(matrix.indices, 99), "indptr": matrix.indptr, "data": np.append(matrix.data, 7.0)}
    np.savez(tmp_path / "x.npz", format=b"csr", shape=(4, 4), **parts)
    np.testing.assert_array_equal(read_sparse_matrix(tmp_path / "x.npz", 4).toarray(), DENSE)


def test_read_sparse_matrix_wants_a_row_for_each_row_of_the_table(tmp_path):
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(DENSE))
    with pytest.raises(InputError, match="a row and a column for each of the 5 rows of the table, not 4 x 4"):
        read_sparse_matrix(tmp_path / "x.npz", 5)
