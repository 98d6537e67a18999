"""Statistics of contrasts."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.diagnostics import check_statistics as statistics


def view(E, **changes):
    """Contrasts that are white already, with levels and sides drawn by lot."""
    rng = np.random.default_rng(1)
    made = statistics.View(
        E, E, rng.standard_normal(E.shape), rng.choice([-1.0, 1.0], len(E)), 0.1, np.zeros(3), None, True
    )
    return made._replace(**changes)


def test_applicable_leaves_out_what_was_learnt_or_needs_two_columns():
    assert "correlation" not in statistics.applicable(ct.Full(), 3)
    assert "spread of columns" not in statistics.applicable(ct.Diagonal(), 3)
    assert "correlation" in statistics.applicable(ct.Diagonal(), 3)
    assert set(statistics.applicable(ct.Spherical(), 1)) == {"noise", "tails", "outliers", "skewness", "clades"}


def test_spread_and_age_follow_their_definitions():
    E = np.random.default_rng(0).standard_normal((500, 2)) * [1.0, 3.0]
    squares = np.square(E)
    expected = np.log(squares.mean(axis=0)) - np.log(squares.mean(axis=0)).mean()
    np.testing.assert_allclose(statistics.spread(view(E)), expected)
    slope = np.polyfit(np.linspace(-0.5, 0.5, 500), squares.mean(axis=1) / squares.mean(), 1)[0]
    assert statistics.age(view(E))[0] == pytest.approx(slope)


def test_correlation_has_an_entry_for_each_pair_and_their_root_mean_square():
    E = np.random.default_rng(0).standard_normal((300, 3))
    E[:, 2] = E[:, 0] + 0.1 * E[:, 1]
    found = statistics.correlation(view(E))
    first, second = statistics.pairs_of(3)
    for i, j, value in zip(first, second, found, strict=False):
        assert value == pytest.approx(E[:, i] @ E[:, j] / np.sqrt((E[:, i] @ E[:, i]) * (E[:, j] @ E[:, j])))
    assert found[-1] == pytest.approx(np.sqrt(np.mean(found[:-1] ** 2)))


def test_tails_is_larger_for_heavier_tails():
    rng = np.random.default_rng(0)
    normal, heavy = rng.standard_normal((2000, 2)), rng.standard_t(3, (2000, 2))
    assert statistics.tails(view(heavy))[0] > statistics.tails(view(normal))[0] + 0.05
    assert len(statistics.tails(view(normal, learns_spread=False))) == 1
    assert len(statistics.tails(view(normal, log_scales=np.zeros(5)))) == 4


def test_contrast_quantiles_are_numpys():
    E = np.random.default_rng(0).standard_normal((400, 3))
    expected = np.quantile(np.abs(E), statistics._QUANTILES)
    np.testing.assert_allclose(statistics.contrast_quantiles(view(E)), expected)


def test_means_by_age_are_those_of_bins():
    np.testing.assert_allclose(statistics.means_by_age(np.arange(24.0)), np.arange(24.0).reshape(12, 2).mean(axis=1))
    np.testing.assert_allclose(statistics.means_by_age(np.arange(5.0)), np.arange(5.0))
