"""`Matern32` over a grid."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern, WhiteKernel

from coaltree.model.covariance import Kernel, Matern32
from tests.reference import covariance as reference
from tests.refusals import assert_refused


@pytest.mark.parametrize(
    ("grid", "length"), [((3, 4), (1.5, 4.0)), ((3, 4), 2.0), ((2, 3, 2), (1.0, 2.0, 3.0)), (None, 2.0)]
)
def test_matern32_is_separable_over_the_axes(grid, length):
    axes = grid or (5,)
    made = Matern32(length, 0.2, grid, amplitude=0.6).matrix(math.prod(axes))
    slow = reference.matern32_grid(axes, 0.6, np.broadcast_to(length, len(axes)), 0.2)
    np.testing.assert_allclose(made, slow, rtol=1e-13)


def test_matern32_of_one_axis_is_that_of_scikit_learn():
    np.testing.assert_allclose(
        Matern32(2.0, 0.2).matrix(7), Kernel(Matern(2.0, nu=1.5) + WhiteKernel(0.2)).matrix(7), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Matern32(1.0, 0.1, (3, 4)).check(13), "3 × 4"),
        (lambda: Matern32(1.0, 0.1, (3, 4.5)), "grid"),
        (lambda: Matern32(1.0, 0.1, 12), "grid"),
        (lambda: Matern32((1.0, 2.0, 3.0), 0.1, (3, 4)), "axes"),
        (lambda: Matern32((1.0, -2.0), 0.1, (3, 4)), "length"),
    ],
)
def test_matern32_refuses_bad_input_in_one_sentence(make, says):
    assert_refused(make, says)
