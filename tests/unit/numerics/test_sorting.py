"""Sorting inside kernels, beside NumPy's."""

import numpy as np
import pytest

from coaltree.numerics.sorting import sorted_places


@pytest.mark.parametrize("size", [0, 1, 2, 3, 8, 29, 100])
def test_sorted_places_are_those_of_numpy(size):
    values = np.random.default_rng(size).integers(0, 20, size).astype(float)  # with ties
    places = sorted_places(values)
    np.testing.assert_array_equal(places, np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(values[places], np.sort(values))
