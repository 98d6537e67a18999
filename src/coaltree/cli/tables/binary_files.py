"""Read Parquet, Excel and NumPy files, and sparse matrices. Sizes are checked before anything is read."""

import contextlib
import math
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from ..._runtime.archive import read_npy_header
from ..._runtime.formatting import count
from ..._runtime.memory import require_memory
from ...errors import InputError
from ...model.data.neighbor_graph import checked_matrix
from .cells import RawTable, TableError
from .text_files import MEMORY_PER_BYTE, table_of_rows

MAX_EXPANSION = 100  # times that a table may be larger than its file,
SMALL_TABLE = 10**9  # unless it has no more bytes than this
MEMORY_PER_ENTRY = 60  # bytes, of a sparse matrix: rows and columns in both directions
MEMORY_PER_CELL = 100  # bytes, of a sheet
MEMORY_PER_TEXT = 60  # bytes, of a cell of text beside the text itself
MIN_BATCH, MAX_BATCH = 64, 65536  # rows that are decoded at a time to see how large they become


def read_parquet(path: Path, is_needed: Callable[[int, str], bool] = lambda j, name: True) -> RawTable:
    """Read a Parquet file; the index that pandas stores beside the columns names the rows.

    Columns that are not needed, by number and name, are never decoded: they are there, and empty. Text stays in its
    dictionary, so that a text that is stored once is once in memory.
    """
    with _readable("Parquet"):
        import pyarrow
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
        fields, said = list(schema), schema.pandas_metadata or {}
        index = {name for name in said.get("index_columns", ()) if isinstance(name, str)}
        others = [field for field in fields if field.name not in index]
        needed = [field for j, field in enumerate(others) if is_needed(j, field.name)]
        needed += [field for field in fields if field.name in index]
        nested = [field.name for field in needed if pyarrow.types.is_nested(field.type)]
        if nested:
            raise TableError(f"column {nested[0]!r} holds lists, structs or maps; expected one number in each cell.")
        names = {field.name for field in needed}
        if any("." in field.name for field in fields) or len({field.name for field in fields}) < len(fields):
            names, needed = {field.name for field in fields}, fields  # they cannot be told apart by name
        are_numbers = (pyarrow.types.is_integer, pyarrow.types.is_floating, pyarrow.types.is_boolean)
        texts = [field.name for field in needed if not any(is_number(field.type) for is_number in are_numbers)]
        columns = [field.name for field in fields if field.name in names]
        some = None if len(columns) == len(fields) else columns
        with pyarrow.parquet.ParquetFile(path) as file:
            # A reader raises an error where what is said of a part is damaged; to ask its metadata, as is done next,
            # would end the process.
            for group in range(metadata.num_row_groups):
                next(file.iter_batches(1, row_groups=[group], columns=some, use_threads=False), None)
        in_full = _check_decoded_size(path, metadata, names, set(texts))
        texts = [name for name in texts if name not in in_full]
        frame = pyarrow.parquet.read_table(path, columns=columns, read_dictionary=texts).to_pandas()
        if len(names) < len(fields):
            empty = pandas.Series(pandas.arrays.ArrowExtensionArray(pyarrow.nulls(len(frame))), frame.index)
            series = [frame[field.name] if field.name in names else empty for field in others]
            frame = pandas.concat(series, axis=1, keys=[field.name for field in others])
    if frame.empty:
        raise TableError("the file is empty; expected rows and columns.")
    return RawTable(frame, range(1, len(frame) + 1))


def _check_decoded_size(path: Path, metadata: Any, names: set[str], texts: set[str]) -> set[str]:
    """Refuse columns that would be far larger decoded than in the file, by what the file says of their parts.

    Return those whose texts pyarrow cannot leave in a dictionary.
    """
    import pyarrow.parquet

    n_bytes, stored, in_full, largest = 8 * metadata.num_rows, 0, set(), 1
    paths = [metadata.schema.column(j).path for j in range(metadata.num_columns)]
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for j, name in enumerate(paths):
            if name not in names:
                continue
            part = group.column(j)
            stored += part.total_compressed_size
            n_bytes += 8 * group.num_rows
            if name in texts:
                n_bytes += MEMORY_PER_TEXT * group.num_rows + part.total_uncompressed_size
            if any(encoding.startswith("DELTA") for encoding in part.encodings):
                in_full.add(name)
                largest = max(largest, part.total_uncompressed_size)
    check_size(n_bytes, path, stored)
    batch_size = min(max(MIN_BATCH, SMALL_TABLE // 10 // largest), MAX_BATCH)
    for name in in_full & texts:  # stored as what each adds to the one before: decoded a part at a time, and measured
        decoded = n_bytes
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size, columns=[name]):
                decoded += batch.nbytes
                check_size(decoded, path, stored)
    return in_full


def read_excel(path: Path, name: str | None, header: bool | None) -> RawTable:
    """Read a sheet of an .xlsx file, the first that is not hidden unless it is named.

    By openpyxl: pandas, which calls it, makes missing values of errors such as #DIV/0!.
    """
    with _readable("Excel"):
        import openpyxl

        with zipfile.ZipFile(path) as archive:
            n_bytes = MEMORY_PER_BYTE * sum(info.file_size for info in archive.infolist())
        check_size(n_bytes, path, MEMORY_PER_BYTE * path.stat().st_size)
        sheets = {sheet.title: sheet for sheet in openpyxl.load_workbook(path, data_only=True).worksheets}
        if name is not None and name not in sheets:
            raise TableError(f"there is no sheet {name!r} (--sheet); the sheets are {', '.join(sheets)[:200]}.")
        shown = [title for title, sheet in sheets.items() if sheet.sheet_state == "visible"]
        sheet = sheets[name or (shown or list(sheets))[0]]
        check_size(MEMORY_PER_CELL * sheet.max_row * sheet.max_column, path, n_bytes)
        rows = [
            ["" if cell is None else str(cell).strip() for cell in row] for row in sheet.iter_rows(values_only=True)
        ]
        _require_stored_results(path, sheet.title, rows)
        n_filled = _fill_merged(sheet, rows)
    lines = [i for i, row in enumerate(rows) if any(row)]
    raw = table_of_rows([rows[i] for i in lines], [i + 1 for i in lines], "row", ".", header)
    said = [f"sheet {sheet.title!r}", raw.read_as]
    said += [f"{count(n_filled, 'row')} of merged cells filled with the value of the first"] if n_filled else []
    said += [f"{count(len(rows) - len(lines), 'empty row')} skipped"] if len(lines) < len(rows) else []
    return raw._replace(read_as=", ".join(said))


def _fill_merged(sheet: Any, rows: list[list[str]]) -> int:
    """Write what a cell that goes over several rows says into each of them; return into how many it was written."""
    n_filled = 0
    for merged in sheet.merged_cells.ranges:
        column, first, last = merged.min_col - 1, merged.min_row - 1, min(merged.max_row, len(rows))
        for row in rows[first + 1 : last]:
            if column < len(row) and not row[column] and rows[first][column]:
                row[column] = rows[first][column]
                n_filled += 1
    return n_filled


def _require_stored_results(path: Path, title: str, rows: list[list[str]]) -> None:
    """Refuse formulas without a result: programs other than Excel may save them so, and they would look missing."""
    import openpyxl

    if all(map(all, rows)):
        return
    for row, formulas in zip(rows, openpyxl.load_workbook(path)[title].iter_rows(), strict=True):
        for cell, formula in zip(row, formulas, strict=True):
            if not cell and formula.data_type == "f":
                where = f"cell {formula.coordinate}"
                raise TableError("the formula has no stored result; save the file in Excel or LibreOffice.", where)


def read_arrays(path: Path, wanted: str | None) -> RawTable:
    """Read the array of an .npy, or one of an .npz: the one asked for, the one called X, or the only one."""
    with _readable("NumPy"):
        if path.suffix.lower() == ".npy":
            mapped = np.lib.format.open_memmap(path, mode="r")  # refused where the file ends too soon
            check_size(mapped.nbytes, path, mapped.nbytes)
            wanted, arrays = "X", {"X": np.array(mapped)}
        else:
            wanted, arrays = _read_npz(path, wanted)
    array, labels, names = arrays[wanted], arrays.get("labels"), arrays.get("columns")
    if array.ndim != 2 or array.dtype.kind not in "biuf" or array.size == 0:
        raise TableError(f"expected a table of numbers, not an array of shape {array.shape} and type {array.dtype}.")
    n, d = array.shape
    if (labels is not None and labels.shape != (n,)) or (names is not None and names.shape != (d,)):
        raise TableError(f"the array has {n} rows and {d} columns, but labels or columns are of another length.")
    index = None if labels is None else labels.astype(str)
    columns = (np.arange(d) if names is None else names).astype(str)
    read_as = "" if wanted == "X" else f"array {wanted!r}"
    return RawTable(pandas.DataFrame(array, index, columns), range(1, n + 1), read_as=read_as)


def _read_npz(path: Path, wanted: str | None) -> tuple[str, dict[str, np.ndarray]]:
    """The name of the table, and it with the arrays called labels and columns; nothing else is read."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if "header.json" in members:
        raise TableError("this is a posterior or a checkpoint of coaltree, not a table of data.")
    tables = [name for name, info in members.items() if name != info.filename and name not in ("labels", "columns")]
    wanted = wanted or ("X" if "X" in tables else tables[0] if len(tables) == 1 else None)
    if wanted not in tables:
        if not tables:
            raise TableError("the file contains no arrays.")
        raise TableError(f"the file contains the arrays {', '.join(tables[:10])[:200]}; choose one with --array.")
    found = [name for name in (wanted, "labels", "columns") if name in members]
    for name in found:
        check_size(members[name].file_size, path, members[name].compress_size)
    with np.load(path, allow_pickle=False) as file:
        return wanted, {name: np.asarray(file[name]) for name in found}


def read_sparse_matrix(path: Path, n_rows: int) -> Any:
    """Read a sparse matrix (n_rows, n_rows) as `scipy.sparse.save_npz` writes it; any other file is refused.

    `scipy.sparse.load_npz` believes what a file says, and computing with a matrix whose indices are wrong ends the
    process: sizes are checked before anything is read, and indices before SciPy computes with them.
    """
    from scipy.sparse import load_npz

    if not path.is_file():  # a pipe may never begin
        raise InputError(f"--neighbors {path} is no regular file.")
    try:
        _check_sparse_sizes(path)
        with np.load(path, allow_pickle=False) as file:
            kinds, shape = {name: file[name].dtype.kind for name in file.files}, tuple(file["shape"].tolist())
        if any(
            kind not in ("biuf" if name == "data" else "iuSU") for name, kind in kinds.items() if name != "_is_array"
        ):
            raise ValueError("its arrays are of the wrong types")
        if len(shape) == 2 and shape != (n_rows, n_rows):
            wanted = f"a row and a column for each of the {n_rows} rows of the table"
            raise InputError(f"--neighbors {path} must have {wanted}, not {' x '.join(map(str, shape))}.")
        return checked_matrix(load_npz(path))
    except InputError:
        raise
    except TableError as error:
        raise InputError(f"--neighbors {path}: {error}") from None
    except Exception as error:  # of a damaged archive, or another one
        why = " ".join(str(error).split())[:150] or type(error).__name__
        raise InputError(
            f"--neighbors {path} holds no sparse matrix as scipy.sparse.save_npz writes it ({why})."
        ) from None


def _check_sparse_sizes(path: Path) -> None:
    """Refuse what would take far more memory than the file is large, or claims another size than it has."""
    n_bytes, stored, is_whole = 0, 0, True
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            with archive.open(info) as file:
                shape, _, dtype = read_npy_header(file)
                is_whole &= dtype.itemsize * math.prod(shape) == info.file_size - file.tell()
            n_bytes += (dtype.itemsize + MEMORY_PER_ENTRY * (info.filename == "data.npy")) * math.prod(shape)
            stored += info.compress_size
    check_size(n_bytes, path, stored)
    if not is_whole:
        raise ValueError("an array has another size than its header says")


def check_size(n_bytes: int, path: Path, stored: int) -> None:
    """Refuse a table that does not fit into memory, or that is far larger than its file."""
    require_memory(2 * n_bytes, f"the table in {path.name}", "take a part of it")
    if n_bytes > max(SMALL_TABLE, MAX_EXPANSION * stored):
        sizes = f"{stored / 1e6:.1f} MB would become {n_bytes / 1e9:.1f} GB"
        raise TableError(f"its {sizes}; if that is meant, save it uncompressed.")


@contextlib.contextmanager
def _readable(kind: str) -> Iterator[None]:
    """Turn whatever a damaged file makes its reader raise, or a package that is missing, into a `TableError`."""
    try:
        yield
    except (TableError, InputError):
        raise
    except ImportError as error:
        install = f'pip install "coaltree[{kind.lower()}]"'
        raise TableError(f"{kind} files need {error.name}: {install}, or save the table as CSV.") from None
    except Exception as error:
        why = " ".join(str(error).split())[:150] or type(error).__name__
        raise TableError(f"not a readable {kind} file ({why}).") from None
