"""Statistics of contrasts, and the size of what they find."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.diagnostics import check_statistics as statistics
from coaltree.posterior.diagnostics.check_statistics import Result, size_of


def view(E, **changes):
    """Contrasts that are white already, with levels and sides drawn by lot."""
    rng = np.random.default_rng(1)
    made = statistics.View(E, E, rng.standard_normal(E.shape), rng.choice([-1.0, 1.0], len(E)), 0.1, None, True)
    return made._replace(**changes)


def test_applicable_leaves_out_what_was_learnt_or_needs_two_columns():
    assert "correlation" not in statistics.applicable(ct.Full(), 3)
    assert "correlation" in statistics.applicable(ct.Diagonal(), 3)
    assert set(statistics.applicable(ct.Spherical(), 1)) == {"tails", "outliers", "skewness"}


def test_correlation_has_an_entry_for_each_pair_and_their_root_mean_square():
    E = np.random.default_rng(0).standard_normal((300, 3))
    E[:, 2] = E[:, 0] + 0.1 * E[:, 1]
    found = statistics.correlation(view(E))
    first, second = statistics.pairs_of(3)
    for i, j, value in zip(first, second, found, strict=False):
        assert value == pytest.approx(E[:, i] @ E[:, j] / np.sqrt((E[:, i] @ E[:, i]) * (E[:, j] @ E[:, j])))
    assert found[-1] == pytest.approx(np.sqrt(np.mean(found[:-1] ** 2)))


# Sizes


def result(excess, expected, sd=0.1):
    excess, expected = np.asarray(excess, float), np.asarray(expected, float)
    return Result(0.5, 0, excess / sd, excess, expected, np.full(len(excess), sd))


def test_size_is_of_the_statistic_and_not_of_its_standard_error():
    for sd in (0.01, 1.0):
        found = size_of("correlation", result([0.5, 0.2, 0.3], [0.0, 0.0, 0.1], sd), 2)
        assert found == pytest.approx(0.4**2 - 0.1**2)
        assert size_of("tails", result([0.2, 9.0], [0.0, 0.0], sd), 5) == pytest.approx(0.2)


def test_size_of_skewness_is_that_of_all_columns_less_chance():
    rng = np.random.default_rng(0)
    sd = 0.2
    by_chance = [
        size_of("skewness", result(np.append(sd * rng.standard_normal(50), np.full(50, 9.0)), np.zeros(100), sd), 50)
        for _ in range(200)
    ]
    assert np.mean(by_chance) < 0.02
    one = size_of("skewness", result([0.5, 0, 0, 0, 0, 0], np.zeros(6), 0.0 + 1e-9), 3)
    both_ways = size_of("skewness", result([0.5, -0.5, 0.5, 0, 0, 0], np.zeros(6), 1e-9), 3)
    assert (one, both_ways) == (pytest.approx(0.5 / 3), pytest.approx(0.5))
