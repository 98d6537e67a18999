"""Read Parquet, Excel and NumPy files. Sizes are checked before anything is read."""

import contextlib
import math
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np

from ..._runtime.archive import read_npy_header
from ..._runtime.memory import require_memory
from ...errors import InputError
from .cells import RawTable, TableError
from .text_files import MEMORY_PER_BYTE, table_of_rows

MAX_EXPANSION = 100  # times that a table may be larger than its file,
SMALL_TABLE = 10**9  # unless it has no more bytes than this
MEMORY_PER_SHEET_CELL = 100  # bytes


def read_parquet(path: Path) -> RawTable:
    """Read a Parquet file; the index that pandas stores beside the columns names the rows."""
    with _readable("Parquet"):
        import pandas
        import pyarrow
        import pyarrow.parquet

        with pyarrow.parquet.ParquetFile(path) as file:
            shape = file.metadata.num_rows, file.metadata.num_columns
            nested = [field.name for field in file.schema_arrow if pyarrow.types.is_nested(field.type)]
        if nested:
            raise TableError(f"column {nested[0]!r} holds lists, structs or maps; expected one number in each cell.")
        _require_memory(8 * math.prod(shape), path, path.stat().st_size)
        frame = pandas.read_parquet(path)
    if frame.empty:
        raise TableError("the file is empty; expected rows and columns.")
    return RawTable(frame, range(1, len(frame) + 1))


def read_excel(path: Path, sheet: str | None, header: bool | None) -> RawTable:
    """Read a sheet of an .xlsx file, the first unless it is named; the first row may be the header."""
    with _readable("Excel"):
        import openpyxl

        with zipfile.ZipFile(path) as archive:
            n_bytes = sum(info.file_size for info in archive.infolist())
        _require_memory(MEMORY_PER_BYTE * n_bytes, path, MEMORY_PER_BYTE * path.stat().st_size)
        book = openpyxl.load_workbook(path, data_only=True)
        names = [found.title for found in book.worksheets]
        if (sheet or names[0]) not in names:
            raise TableError(f"there is no sheet {sheet!r} (--sheet); the sheets are {', '.join(names)[:200]}.")
        found = book[sheet or names[0]]
        _require_memory(MEMORY_PER_SHEET_CELL * found.max_row * found.max_column, path, n_bytes)
        # not by pandas, which makes missing values of cells such as #DIV/0!
        rows = [
            ["" if cell is None else str(cell).strip() for cell in row] for row in found.iter_rows(values_only=True)
        ]
    lines = [i for i, row in enumerate(rows) if any(row)]
    raw = table_of_rows([rows[i] for i in lines], [i + 1 for i in lines], "row", ".", header)
    return raw._replace(read_as=f"sheet {found.title!r}, {raw.read_as}")


def read_arrays(path: Path, wanted: str | None) -> RawTable:
    """Read the array of an .npy, or one of an .npz: the one asked for, the one called X, or the only table."""
    import pandas

    with _readable("NumPy"):
        if path.suffix.lower() == ".npy":
            wanted, arrays = "X", {"X": _read_npy(path)}
        else:
            wanted, arrays = _read_npz(path, wanted)
    array, labels, names = arrays[wanted], arrays.get("labels"), arrays.get("columns")
    if array.ndim != 2 or array.dtype.kind not in "biuf" or array.size == 0:
        raise TableError(
            f"expected a table of numbers, rows by columns, not shape {array.shape} and type {array.dtype}."
        )
    n, d = array.shape
    if (labels is not None and labels.size != n) or (names is not None and names.size != d):
        raise TableError(f"the array has {n} rows and {d} columns, but labels or columns are of another length.")
    index = None if labels is None else labels.ravel().astype(str)
    columns = [str(name) for name in (range(d) if names is None else names.ravel())]
    frame = pandas.DataFrame(array, index=index, columns=columns)
    return RawTable(frame, range(1, n + 1), read_as="" if wanted == "X" else f"array {wanted!r}")


def _read_npy(path: Path) -> np.ndarray:
    with open(path, "rb") as file:
        shape, fortran_order, dtype = read_npy_header(file)
        n_bytes = dtype.itemsize * math.prod(shape)
        if n_bytes != path.stat().st_size - file.tell():
            raise ValueError(f"its header claims {n_bytes:,} bytes of data; it has others")
        _require_memory(n_bytes, path, n_bytes)
        return np.fromfile(file, dtype).reshape(shape, order="F" if fortran_order else "C")


def _read_npz(path: Path, wanted: str | None) -> tuple[str, dict[str, np.ndarray]]:
    """The name of the table, and it with the arrays called labels and columns; nothing else is read."""
    with zipfile.ZipFile(path) as archive:
        if "header.json" in archive.namelist():
            raise TableError("this is a posterior or a checkpoint of coaltree, not a table of data.")
        shapes = {}
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name != info.filename:
                with archive.open(info) as member:
                    head = BytesIO(member.read(20_000))
                shape, _, dtype = read_npy_header(head)
                if dtype.itemsize * math.prod(shape) + head.tell() != info.file_size:
                    raise ValueError(f"the array {name[:50]} has another size than its header says")
                shapes[name] = shape
        tables = [name for name, shape in shapes.items() if len(shape) == 2]
        wanted = wanted or ("X" if "X" in tables else tables[0] if len(tables) == 1 else None)
        if wanted is None or wanted not in shapes:
            arrays = ", ".join(list(shapes)[:10]) or "none"
            raise TableError(f"the file contains the arrays {arrays[:200]}; choose a table with --array NAME.")
        found = {}
        for name in {wanted, "labels", "columns"} & set(shapes):
            info = archive.getinfo(f"{name}.npy")
            _require_memory(info.file_size, path, info.compress_size)
            found[name] = np.lib.format.read_array(BytesIO(archive.read(info)), allow_pickle=False)
        return wanted, found


def _require_memory(n_bytes: int, path: Path, stored: int) -> None:
    """Refuse a table that does not fit into memory, or that is far larger than its file."""
    require_memory(2 * n_bytes, f"the table in {path.name}", "take a part of it")
    if n_bytes > max(SMALL_TABLE, MAX_EXPANSION * stored):
        raise TableError(
            f"its {stored / 1e6:.1f} MB would become {n_bytes / 1e9:.1f} GB; if that is meant, save it uncompressed."
        )


@contextlib.contextmanager
def _readable(kind: str) -> Iterator[None]:
    """Turn whatever a damaged file makes its reader raise, or a package that is missing, into a `TableError`."""
    try:
        yield
    except ImportError as error:
        extra = f'pip install "coaltree[{kind.lower()}]"'
        raise TableError(f"{kind} files need {error.name}: {extra}, or save the table as CSV.") from None
    except (TableError, InputError, MemoryError):
        raise
    except Exception as error:
        why = " ".join(str(error).split())[:150] or type(error).__name__
        raise TableError(f"not a readable {kind} file ({why}).") from None
