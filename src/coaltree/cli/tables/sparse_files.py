"""Read sparse matrices of neighbours as `scipy.sparse.save_npz` writes them.

`scipy.sparse.load_npz` believes what a file says, and computing with a matrix whose indices are wrong ends the process.
Here sizes are checked before anything is read, and indices before SciPy computes with them.
"""

import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ..._runtime.archive import read_npy_header
from ...errors import InputError
from ...model.data.neighbor_graph import checked_matrix
from .binary_files import check_size
from .cells import TableError

MEMORY_PER_ENTRY = 60  # bytes, of rows and columns in both directions


def read_sparse_matrix(path: Path, n_rows: int) -> Any:
    """A sparse matrix (n_rows, n_rows), as its non-zero places; any other file is refused."""
    from scipy.sparse import load_npz

    try:
        _check_sizes(path)
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


def _check_sizes(path: Path) -> None:
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
