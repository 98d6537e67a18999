"""SciPy's linkage matrix: row k is (child, child, height, size) and makes cluster n + k."""

import numpy as np

from .._runtime.typing import ArrayLike
from .._runtime.validation import as_array
from ..errors import InputError
from .merges import check_children, check_heights, in_order_of_time, parents


def from_linkage(Z: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return children and times of a linkage matrix without inversions, its rows sorted by height.

    The fourth column follows from the first two and is not looked at.
    """
    matrix = as_array("linkage", Z, np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != 4 or len(matrix) == 0:
        raise InputError(f"A linkage must have shape (n-1, 4) with n at least 2, not {matrix.shape}.")
    joined = matrix[:, :2]
    whole = (joined == np.rint(joined)) & (np.abs(joined) < 2**53)
    if not whole.all():
        k = np.argwhere(~whole)[0, 0]
        raise InputError(f"Row {k} of the linkage joins {joined[k, 0]} and {joined[k, 1]}; clusters are whole numbers.")
    children = check_children(joined.astype(np.int64), word="row")
    heights = check_heights(matrix[:, 2], len(matrix), word="row")
    n = len(heights) + 1
    above = parents(children)[n:-1] - n
    inverted = np.flatnonzero(heights[above] < heights[:-1])
    if len(inverted):
        low, high = inverted[0], above[inverted[0]]
        raise InputError(
            f"The linkage has an inversion: row {high} joins at height {heights[high]} a cluster of height "
            f"{heights[low]} (row {low}); centroid and median linkage do this, others do not."
        )
    return in_order_of_time(children, heights)
