"""Matrices as characters."""

import numpy as np
import pytest

from coaltree.report import pixels
from tests.pages import decoded, decoded_values


def test_values_come_back_within_a_level_and_nan_is_zero():
    shares = np.linspace(0, 1, 200)
    np.testing.assert_allclose(decoded(pixels.shares(shares)) / 63, shares, atol=0.5 / 63 + 1e-12)
    matrix = np.array([[-3.0, 0.0, 1.5], [np.nan, 3.0, 99.0]])
    back = decoded_values(pixels.values(matrix, -3, 3), -3, 3)
    np.testing.assert_allclose(back, np.clip(matrix, -3, 3).ravel(), atol=6 / 4094)


@pytest.mark.parametrize("shape", [(7, 5), (3, 40)])
def test_shrink_averages_the_values_of_each_block(shape):
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=shape)
    matrix[rng.random(shape) < 0.3] = np.nan
    matrix[0] = np.nan
    rows, columns = 4, 3
    small = pixels.shrink(matrix, rows, columns)
    r, c = min(rows, shape[0]), min(columns, shape[1])
    assert small.shape == (r, c)
    for i in range(r):
        for j in range(c):
            block = matrix[i * shape[0] // r : (i + 1) * shape[0] // r, j * shape[1] // c : (j + 1) * shape[1] // c]
            kept = block[~np.isnan(block)]
            expected = kept.mean() if len(kept) else np.nan
            np.testing.assert_allclose(small[i, j], expected)
