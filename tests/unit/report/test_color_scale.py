"""Common scales and colour limits of tables."""

import numpy as np

from coaltree.report.figures import colour_limits, scales_differ, standardised


def table(seed=0):
    return np.random.default_rng(seed).standard_normal((30, 4))


def test_scales_differ_in_spread_or_level():
    X = table()
    assert not scales_differ(X)
    assert scales_differ(X * [1, 1, 1, 20])
    assert scales_differ(X + np.array([0, 10, 20, 30]))  # one scale of colours would show the levels only
    assert not scales_differ(X + np.array([0, 0.5, 0, 0.5]))
    assert not scales_differ(X * [1, 1, 1, 0])  # a constant column has no scale
    assert not scales_differ(X[:, :1])
    holes = X.copy()
    holes[3] = np.nan
    assert not scales_differ(holes)


def test_standardised_columns_have_mean_0_and_standard_deviation_1():
    X = table() * [1, 1, 1, 20]
    X[2, 1] = np.nan
    shown = standardised(X)
    np.testing.assert_allclose(np.nanmean(shown, axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(shown, axis=0), 1.0)
    np.testing.assert_array_equal(np.isnan(shown), np.isnan(X))
    np.testing.assert_array_equal(standardised(np.ones((3, 2))), 0.0)


def test_colour_limits_are_symmetric_where_signs_differ():
    low, high, is_two_sided = colour_limits(table())
    assert is_two_sided
    assert low == -high
    assert not colour_limits(np.abs(table()))[2]
    assert colour_limits(np.full((2, 2), np.nan)) == (0.0, 1.0, False)
    assert colour_limits(np.ones((2, 2))) == (1.0, 2.0, False)
