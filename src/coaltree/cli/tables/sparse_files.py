"""Read sparse matrices of neighbours as `scipy.sparse.save_npz` writes them.

`scipy.sparse.load_npz` believes what a file says, and computing with a matrix whose indices are wrong ends the process.
Here sizes are checked before anything is read, and indices before any matrix is made of them.
"""

import math
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..._runtime.archive import read_npy_header
from ...errors import InputError
from ...model.data.neighbor_graph import why_bad_compressed, why_bad_indices
from .binary_files import check_size
from .cells import TableError

PARTS = {  # arrays of each format, beside format and shape
    "csr": ("indptr", "indices", "data"),
    "csc": ("indptr", "indices", "data"),
    "bsr": ("indptr", "indices", "data"),
    "coo": ("row", "col", "data"),
    "dia": ("offsets", "data"),
}
MAX_SMALL_MEMBER = 10_000  # bytes of format and shape
MEMORY_PER_ENTRY = 60  # bytes, of rows and columns in both directions


def read_sparse_matrix(path: Path, n_rows: int) -> Any:
    """A sparse matrix (n_rows, n_rows), as its non-zero places; any other file is refused."""
    from scipy.sparse import coo_array

    try:
        with zipfile.ZipFile(path) as archive:
            kind, shape = _kind_and_shape(archive)
            if shape != (n_rows, n_rows):
                found = " x ".join(map(str, shape))
                raise InputError(
                    f"--neighbors {path} must have a row and a column for each of the {n_rows} rows of the table, "
                    f"not {found}."
                )
            _check_sizes(archive, PARTS[kind], path)
            arrays = {name: _member(archive, name) for name in PARTS[kind]}
        data, ends = _entries(kind, shape, arrays)
    except InputError:
        raise
    except TableError as error:
        raise InputError(f"--neighbors {path}: {error}") from None
    except Exception as error:  # of a damaged archive, or another one
        why = " ".join(str(error).split())[:150] or type(error).__name__
        raise InputError(
            f"--neighbors {path} holds no sparse matrix as scipy.sparse.save_npz writes it ({why})."
        ) from None
    return coo_array((data, ends), shape=shape)


def _kind_and_shape(archive: zipfile.ZipFile) -> tuple[str, tuple[int, ...]]:
    if any(archive.getinfo(f"{name}.npy").file_size > MAX_SMALL_MEMBER for name in ("format", "shape")):
        raise ValueError("format or shape is too large")
    kind, shape = _member(archive, "format"), _member(archive, "shape")
    name = kind.item() if kind.size == 1 else ""
    name = name.decode("ascii") if isinstance(name, bytes) else name
    if name not in PARTS or shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise ValueError(f"format {str(name)[:20]!r} with a shape of type {shape.dtype}")
    return name, tuple(shape.tolist())


def _check_sizes(archive: zipfile.ZipFile, names: Iterable[str], path: Path) -> None:
    """Refuse what would take far more memory than the file is large, before any of it is read."""
    members = [archive.getinfo(f"{name}.npy") for name in names]
    with archive.open("data.npy") as file:
        shape, _, _ = read_npy_header(file)
    n_bytes = MEMORY_PER_ENTRY * math.prod(shape) + sum(info.file_size for info in members)
    check_size(n_bytes, path, sum(info.compress_size for info in members))


def _member(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """An array of just the size that its header and the archive say."""
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as file:
        shape, fortran_order, dtype = read_npy_header(file)
        n_bytes = dtype.itemsize * math.prod(shape)
        if n_bytes != info.file_size - file.tell():
            raise ValueError(f"{name} has another size than its header says")
        array = np.frombuffer(file.read(n_bytes), dtype)
    return array.reshape(shape, order="F" if fortran_order else "C")


def _entries(
    kind: str, shape: tuple[int, ...], arrays: dict[str, np.ndarray]
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """The stored entries, and their rows and columns, all of them checked."""
    data = arrays["data"]
    if data.dtype.kind not in "biuf" or data.ndim != {"bsr": 3, "dia": 2}.get(kind, 1):
        raise ValueError(f"data of shape {data.shape} and type {data.dtype}")
    if kind == "coo":
        row, column = arrays["row"], arrays["col"]
        _require(why_bad_indices(row, len(data), shape[0]) or why_bad_indices(column, len(data), shape[1]))
    elif kind == "dia":
        offsets = arrays["offsets"]
        if offsets.dtype.kind not in "iu" or offsets.shape != data.shape[:1]:
            raise ValueError(f"offsets of shape {offsets.shape} and type {offsets.dtype}")
        which, column = np.nonzero(data)
        row = column - offsets.astype(np.int64)[which]
        inside = (row >= 0) & (row < shape[0]) & (column < shape[1])
        return data[which, column][inside], (row[inside], column[inside])
    else:
        sides = data.shape[1:] if kind == "bsr" else (1, 1)
        if 0 in sides or shape[0] % sides[0] or shape[1] % sides[1]:
            raise ValueError(f"blocks {sides} do not fill its shape")
        n_major, n_minor = (n // side for n, side in zip(shape, sides, strict=True))
        _require(why_bad_compressed(arrays["indptr"], arrays["indices"], len(data), n_major, n_minor))
        major = np.repeat(np.arange(n_major), np.diff(arrays["indptr"]).astype(np.int64))
        data, minor = data[: len(major)], arrays["indices"][: len(major)].astype(np.int64)
        if kind == "csc":
            return data, (minor, major)
        at, row, column = np.nonzero(np.ones(data.shape, bool)) if kind == "bsr" else (slice(None), 0, 0)
        return data.ravel(), (major[at] * sides[0] + row, minor[at] * sides[1] + column)
    return data, (row, column)


def _require(why: str) -> None:
    if why:
        raise ValueError(why)
