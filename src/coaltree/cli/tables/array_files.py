"""Tables in Parquet and NumPy files. Nothing is read before its size is known and can be met."""

import math
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ..._runtime.archive import read_npy_header
from ..._runtime.memory import require_memory
from .cells import Columns, Problem

_MOST_TIMES = 100  # that a table may be larger than its file, unless it is
_SMALL = 10**9  # bytes


def _require(n_bytes, path, stored):
    """Refuse a table that the memory cannot hold, or that is far larger than its file."""
    require_memory(2 * n_bytes, f"the table in {path.name}", "take a part of it")
    if n_bytes > max(_SMALL, _MOST_TIMES * stored):
        raise Problem(
            f"its {stored / 1e6:.1f} MB would become {n_bytes / 1e9:.1f} GB; if that is meant, save it uncompressed."
        )


# --- Parquet --------------------------------------------------------------------------------------------------------


def read_parquet(path: Path) -> Columns:
    """Read a Parquet file; the index that pandas stores beside the columns names the rows."""
    try:
        import pandas
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Problem('Parquet needs pandas and pyarrow: pip install "coaltree[parquet]", or use CSV.') from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            shape = file.metadata.num_rows, file.metadata.num_columns
            nested = [field.name for field in file.schema_arrow if pyarrow.types.is_nested(field.type)]
        if not all(shape):
            raise Problem("the file is empty; expected rows and columns.")
        if nested:
            raise Problem(f"column {nested[0]!r} holds lists, structs or maps; expected one number in each cell.")
        _require(8 * math.prod(shape), path, path.stat().st_size)
        frame = pandas.read_parquet(path)
    except Problem:
        raise
    except Exception as error:  # whatever a damaged file may make the reader trip over
        raise Problem(f"not a readable Parquet file ({_one_line(error)}).") from None
    if frame.empty:
        raise Problem("the file is empty; expected rows and columns.")
    cells = [_cells(column, pandas) for _, column in frame.items()]
    labels = None if isinstance(frame.index, pandas.RangeIndex) else [str(name) for name in frame.index]
    return Columns([str(name) for name in frame.columns], cells, lambda i: f"row {i + 1}", labels)


def _cells(column, pandas) -> Any:
    if column.dtype.kind in "iu" and not column.hasnans:  # which may be names with more digits than a float has
        return column.to_numpy()
    if column.dtype == np.float32:
        return column.to_numpy()
    if pandas.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=float, na_value=np.nan)
    return ["" if missing else str(cell) for cell, missing in zip(column, column.isna(), strict=True)]


# --- NumPy ----------------------------------------------------------------------------------------------------------


def read_arrays(path: Path, wanted: str | None) -> Columns:
    """Read the array of an .npy, or one of an .npz: the one asked for, the one called X, or the only table."""
    try:
        if path.suffix.lower() == ".npy":
            return _columns({"X": _read_npy(path)}, "X")
        with zipfile.ZipFile(path) as archive:
            if "header.json" in archive.namelist():
                raise Problem("this is a posterior or a checkpoint of coaltree, not a table of data.")
            return _columns(*_read_members(archive, path, wanted))
    except (Problem, OSError):
        raise
    except Exception as error:  # whatever a damaged file may make the readers trip over
        raise Problem(f"not a readable NumPy file ({_one_line(error)}).") from None


def _read_npy(path):
    with open(path, "rb") as file:
        shape, fortran_order, kind = read_npy_header(file)
        n_bytes, begins = kind.itemsize * math.prod(shape), file.tell()
        if n_bytes != path.stat().st_size - begins:
            raise Problem(f"not a readable NumPy file (its header claims {n_bytes:,} bytes of data; it has others).")
        _require(n_bytes, path, n_bytes)
        return np.fromfile(file, kind).reshape(shape, order="F" if fortran_order else "C")


def _read_members(archive, path, wanted):
    """The table, and the arrays called labels and columns beside it; nothing else is read."""
    shapes = {}
    for info in archive.infolist():
        name = info.filename.removesuffix(".npy")
        if name != info.filename:
            with archive.open(info) as member:
                head = BytesIO(member.read(20_000))
            shape, _, kind = read_npy_header(head)
            if kind.itemsize * math.prod(shape) + head.tell() != info.file_size:
                raise ValueError(f"the array {name[:50]} has another size than its header says")
            shapes[name] = shape
    tables = [name for name, shape in shapes.items() if len(shape) == 2]
    wanted = wanted or ("X" if "X" in tables else tables[0] if len(tables) == 1 else None)
    if wanted is None or wanted not in shapes:
        known = ", ".join(list(shapes)[:10]) or "none"
        raise Problem(f"the file contains the arrays {known[:200]}; choose a table with --array NAME.")
    arrays = {}
    for name in (wanted, "labels", "columns"):
        if name in shapes:
            info = archive.getinfo(f"{name}.npy")
            _require(info.file_size, path, info.compress_size)
            with archive.open(info) as member:  # reading to the end checks the sum
                arrays[name] = np.lib.format.read_array(BytesIO(member.read()), allow_pickle=False)
    return arrays, wanted


def _columns(arrays, wanted):
    array, labels, names = arrays[wanted], arrays.get("labels"), arrays.get("columns")
    if array.ndim != 2 or array.dtype.kind not in "biuf" or array.size == 0:
        raise Problem(f"expected a table of numbers, rows by columns, not shape {array.shape} and type {array.dtype}.")
    n, d = array.shape
    names = [str(name) for name in (range(d) if names is None else np.ravel(names))]
    labels = None if labels is None else [str(label) for label in np.ravel(labels)]
    if len(names) != d or (labels is not None and len(labels) != n):
        raise Problem(f"the array has {n} rows and {d} columns, but labels or columns are of another length.")
    which = "" if wanted == "X" else f"array {wanted!r}"
    return Columns(names, list(array.T), lambda i: f"row {i + 1}", labels, read_as=which)


def _one_line(error):
    return " ".join(str(error).split())[:150] or type(error).__name__
