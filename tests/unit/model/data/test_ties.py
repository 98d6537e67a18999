"""Equal values are spread over what they stand for, in the same way whatever the units and the other columns."""

import numpy as np
import pytest

from coaltree.model.data.ties import spread_ties


def spread(x, rows=None, column=0):
    x = np.asarray(x, dtype=float)
    values, tied = spread_ties(x[:, None], np.arange(len(x)) if rows is None else rows, np.array([column]))
    return values[:, 0], bool(tied[0])


def test_ties_recorded_in_steps_stay_within_half_a_step():
    x = np.random.default_rng(0).integers(0, 6, 400) * 0.5
    found, tied = spread(x)
    assert tied and len(np.unique(found)) == 400
    assert np.all(np.abs(found - x) <= 0.25)
    for level in np.unique(x):  # evenly: variance step² / 12, standard error about a tenth of it
        assert np.var(found[x == level]) == pytest.approx(0.25 / 12, rel=0.45)
        assert np.mean(found[x == level]) == pytest.approx(level, abs=0.09)


def test_ties_reach_half_way_to_uneven_neighbours():
    x = np.repeat([0.0, 1.0, 5.0], 200)
    found, _ = spread(x)
    for level, low, high in ((0.0, -0.5, 0.5), (1.0, 0.5, 3.0), (5.0, 3.0, 7.0)):
        cell = found[x == level]
        assert low <= cell.min() < low + 0.1 * (high - low) and high - 0.1 * (high - low) < cell.max() <= high


def test_ties_of_many_zeros_are_spread_by_their_share():
    rng = np.random.default_rng(1)
    x = np.concatenate([np.zeros(60), rng.gamma(2.0, 1.0, 40)])
    found, _ = spread(x)
    np.testing.assert_array_equal(found[60:], x[60:])
    h = np.sqrt(3.0) * 0.6 * x.std()
    assert 0.9 * h < np.abs(found[:60]).max() <= h


def test_ties_are_spread_but_single_and_missing_values_stay():
    x = np.array([0.1, 0.2, np.nan, 0.2, 0.7, np.nan])
    found, tied = spread(x)
    assert tied
    np.testing.assert_array_equal(found[[0, 2, 4, 5]], x[[0, 2, 4, 5]])
    assert found[1] != found[3]
    untied, tied = spread(np.array([3.0, np.nan, 1.0]))
    assert not tied
    np.testing.assert_array_equal(untied, [3.0, np.nan, 1.0])
    assert not spread(np.full(4, 2.0))[1]  # a constant has no cell


def test_ties_are_spread_by_row_and_column_numbers_alone():
    x = np.random.default_rng(2).integers(0, 3, 50).astype(float)
    found, _ = spread(x, column=7)
    np.testing.assert_array_equal(spread(2.0**30 * x, column=7)[0], 2.0**30 * found)
    np.testing.assert_allclose(spread(1e-9 * x, column=7)[0], 1e-9 * found, rtol=1e-12, atol=1e-24)
    np.testing.assert_array_equal(spread(np.append(x, [1.0, 2.0]), column=7)[0][:50], found)
    some = np.arange(0, 50, 2)
    np.testing.assert_array_equal(spread(x[some], some, column=7)[0], found[some])
    assert not np.array_equal(spread(x, column=8)[0], found)
