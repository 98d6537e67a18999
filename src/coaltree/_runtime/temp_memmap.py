"""Arrays too large to hold in memory for long: in a nameless temporary file that is mapped into memory.

What has not been touched for a while the system may then put away, and the file is gone with the array. Where there is
no room on the disk, the array is an ordinary one.
"""

import math
import mmap
import os
import tempfile
from collections.abc import Sequence

import numpy as np

LARGE = 256 * 2**20  # bytes


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


def _mapped(shape, dtype):
    """An array to be filled; an ordinary one where no file can be had."""
    n_bytes = math.prod(shape) * dtype.itemsize
    try:
        with tempfile.TemporaryFile(prefix="coaltree-") as file:
            # A sparse file would end the process, not raise, when the disk is full.
            getattr(os, "posix_fallocate", lambda number, start, size: file.truncate(size))(file.fileno(), 0, n_bytes)
            # No numpy.memmap, which joblib would have its processes open again by a name that the file does not have.
            return np.ndarray(shape, dtype, mmap.mmap(file.fileno(), n_bytes))
    except OSError:
        return np.empty(shape, dtype)
