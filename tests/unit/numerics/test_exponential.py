"""The exponential function for kernels, beside NumPy's."""

import math

import numpy as np

from coaltree.numerics.exponential import fast_exp


def test_fast_exp():
    x = np.random.default_rng(0).uniform(-708.0, 709.0, 3000)
    found = np.array([fast_exp(value) for value in x])
    assert np.max(np.abs(found / np.exp(x) - 1.0)) < 5e-16
    assert fast_exp(0.0) == 1.0
    assert fast_exp(-709.0) == fast_exp(-math.inf) == 0.0
    assert 8e307 < fast_exp(1e4) < math.inf
