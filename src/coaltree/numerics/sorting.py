"""Sorting inside kernels: Numba's own takes seconds to compile."""

import numpy as np

from .._runtime.jit import jit


@jit(inline="always")
def sorted_places(values: np.ndarray) -> np.ndarray:
    """Places of the values from least to largest, ties in order, by merge sort."""
    places, spare = np.arange(values.size), np.empty(values.size, np.int64)
    width = 1
    while width < values.size:
        for start in range(0, values.size, 2 * width):
            middle, stop = min(start + width, values.size), min(start + 2 * width, values.size)
            i, j = start, middle
            for k in range(start, stop):
                if j >= stop or (i < middle and values[places[i]] <= values[places[j]]):
                    spare[k] = places[i]
                    i += 1
                else:
                    spare[k] = places[j]
                    j += 1
        places, spare = spare, places
        width *= 2
    return places
