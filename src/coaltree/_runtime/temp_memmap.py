"""Large arrays in nameless temporary files that are mapped into memory, so that the system may page them out.

The file is gone with the array. Where there is no room on the disk, the array is an ordinary one.
"""

import math
import mmap
import os
import tempfile
from collections.abc import Sequence

import numpy as np

LARGE = 256 * 2**20  # bytes, from which an array is mapped


def stacked(parts: Sequence[np.ndarray]) -> np.ndarray:
    """``np.concatenate(parts)`` of arrays of one type, mapped where it is large."""
    first = parts[0]
    shape = (sum(len(part) for part in parts), *first.shape[1:])
    if sum(part.nbytes for part in parts) < LARGE:
        return np.concatenate(parts)
    whole = _mapped(shape, first.dtype)
    at = 0
    for part in parts:
        whole[at : at + len(part)] = part
        at += len(part)
    return whole


def _mapped(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Make an array to be filled; an ordinary one where no file can be made."""
    n_bytes = math.prod(shape) * dtype.itemsize
    try:
        with tempfile.TemporaryFile(prefix="coaltree-") as file:
            # A sparse file would end the process, not raise, when the disk is full.
            getattr(os, "posix_fallocate", lambda number, start, size: file.truncate(size))(file.fileno(), 0, n_bytes)
            # No numpy.memmap, which joblib would have its processes open again by a name that the file does not have.
            return np.ndarray(shape, dtype, mmap.mmap(file.fileno(), n_bytes))
    except OSError:
        return np.empty(shape, dtype)
