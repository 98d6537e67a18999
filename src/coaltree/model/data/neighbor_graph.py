"""Neighbour graphs that a user has already, such as scikit-learn's or scanpy's sparse matrix of neighbours.

Only which rows are neighbours is read, not how near they are: connectivities and distances mean the same, and the
nearest are ranked under the covariance as it is learnt. An edge holds in both directions.

SciPy converts a matrix whose `indptr` or `indices` are wrong without looking, and reads beyond its arrays. Its own
`check_format` lets some through that end the process; they are checked here, before SciPy computes with them.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import InputError

if TYPE_CHECKING:
    from .leaves import LeafRows

_MIN_NEIGHBORS = 3


class NeighborGraph(NamedTuple):
    """The neighbours of each row: those of row i are member[start[i] : start[i + 1]], in ascending order."""

    start: np.ndarray  # (n + 1,) int64
    member: np.ndarray  # int32


def read_neighbor_graph(neighbors: Any, rows: "LeafRows", n_rows: int) -> NeighborGraph:
    """Check a sparse matrix (rows, rows), and return the neighbours of each distinct row."""
    from scipy.sparse import csr_array, issparse

    if not issparse(neighbors):
        raise InputError(
            "neighbors must be a sparse matrix (n, n), such as sklearn.neighbors.kneighbors_graph(X, 15) gives, not "
            f"{type(neighbors).__name__}."
        )
    if rows.leaf is not None:
        raise InputError("neighbors are of rows, and groups make leaves of several; leave one of them out.")
    if neighbors.shape != (n_rows, n_rows):
        shape = " x ".join(map(str, neighbors.shape))
        raise InputError(f"neighbors must have a row and a column for each of {n_rows} rows of X, not {shape}.")
    given = undamaged(neighbors)
    if given.dtype.kind not in "biuf":
        raise InputError(f"neighbors must hold numbers, not {given.dtype}.")
    if given.nnz and not np.all(given.data >= 0):  # nor NaN
        raise InputError("neighbors must hold distances or weights of at least 0; some are negative or missing.")
    place = rows.distinct.group  # a copy stands where its twin does
    one, other = (place[np.asarray(end)] for end in given.coords)
    one, other = one[one != other], other[one != other]  # a row is no neighbour of itself
    n = len(rows.distinct.first)
    ends = np.concatenate([one, other]), np.concatenate([other, one])
    both = csr_array((np.ones(len(ends[0]), dtype=bool), ends), shape=(n, n))
    both.sum_duplicates()
    degree = np.diff(both.indptr)
    if degree.min(initial=n) < min(_MIN_NEIGHBORS, n - 1):
        least = int(np.argmin(degree))
        raise InputError(
            f"neighbors has {degree[least]} neighbour(s) of row {rows.labels[rows.distinct.first[least]]!r}; give at "
            f"least {_MIN_NEIGHBORS} for every row, better 15."
        )
    return NeighborGraph(both.indptr.astype(np.int64), both.indices.astype(np.int32))


def undamaged(neighbors: Any) -> Any:
    """A user's sparse matrix as a ``coo_array``, or InputError."""
    try:
        return checked_matrix(neighbors)
    except Exception as error:  # whatever arrays of wrong shapes and types make SciPy raise
        raise InputError(f"neighbors is a damaged {neighbors.format} matrix: {error}; build it again.") from None


def checked_matrix(matrix: Any) -> Any:
    """A sparse matrix as a ``coo_array``; raises where its index arrays do not fit its shape."""
    from scipy.sparse import coo_array

    why = why_damaged(matrix)
    if why:
        raise ValueError(why)
    return coo_array(matrix)


def why_damaged(matrix: Any) -> str:
    """What is wrong with the index arrays of a sparse matrix, "" if nothing is."""
    if matrix.format == "coo":
        sides = zip(matrix.coords, matrix.shape, strict=True)
        return next(filter(None, (why_bad_indices(ends, len(matrix.data), n) for ends, n in sides)), "")
    if matrix.format == "lil":
        return _why_bad_lists(matrix)
    if matrix.format not in ("csr", "csc", "bsr"):
        return ""
    shape = matrix.shape
    if matrix.format == "bsr":
        blocks = np.shape(matrix.data)[1:]
        if len(blocks) != 2 or 0 in blocks or shape[0] % blocks[0] or shape[1] % blocks[1]:
            return f"its blocks {blocks} do not fill its shape"
        shape = shape[0] // blocks[0], shape[1] // blocks[1]
    n_major, n_minor = shape[::-1] if matrix.format == "csc" else shape
    return why_bad_compressed(matrix.indptr, matrix.indices, len(matrix.data), n_major, n_minor)


def _why_bad_lists(matrix: Any) -> str:
    """What is wrong with the lists of a matrix (lil), or "": SciPy writes all values where there is room for places."""
    n, n_minor = matrix.shape
    if not all(isinstance(lists, np.ndarray) and lists.shape == (n,) for lists in (matrix.rows, matrix.data)):
        return f"rows and data must each be an array of {n} lists"
    for i, (places, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
        if not (isinstance(places, list) and isinstance(values, list) and len(places) == len(values)):
            return f"row {i} must be two lists of one length"
        if not all(isinstance(j, int | np.integer) and 0 <= j < n_minor for j in places):
            return f"indices of row {i} must be from 0 to {n_minor - 1}"
    return ""


def why_bad_compressed(indptr: Any, indices: Any, n_entries: int, n_major: int, n_minor: int) -> str:
    """What is wrong with the index arrays of a compressed matrix (csr, csc; bsr counted in blocks), or ""."""
    indptr = np.asarray(indptr)
    if indptr.dtype.kind not in "iu" or indptr.shape != (n_major + 1,):
        return f"indptr must be {n_major + 1} whole numbers, not an array of shape {indptr.shape} and {indptr.dtype}"
    if indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        return "indptr must begin with 0 and never decrease"
    used = int(indptr[-1])  # SciPy allows room behind the last entry
    if used > n_entries or np.shape(indices) != (n_entries,):
        return f"indptr ends with {used}, and there are {n_entries} entries with indices of shape {np.shape(indices)}"
    return why_bad_indices(indices[:used], used, n_minor)


def why_bad_indices(indices: Any, n_entries: int, n: int) -> str:
    """Why these are not the places, 0 to n - 1, of so many entries; "" if they are."""
    indices = np.asarray(indices)
    if indices.dtype.kind not in "iu" or indices.shape != (n_entries,):
        return f"it has {n_entries} entries, and indices of shape {indices.shape} and {indices.dtype}"
    if n_entries and not (indices.min() >= 0 and indices.max() < n):
        return f"indices must be from 0 to {n - 1}, not from {indices.min()} to {indices.max()}"
    return ""
