"""How unusual new rows are beside the fitted ones."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.predictive.typicality import MIN_TYPICALITY, lower_tail, typicality
from tests.fits import quick_fit


@pytest.fixture(scope="module")
def posterior():
    X, _ = ct.simulate(30, 3, random_state=0)
    return quick_fit(X, "spherical", n_samples=20, n_warmup=20)


@pytest.mark.parametrize("n", [20, 60, 400])
def test_lower_tail_is_right_about_exponential_tails(n):
    rng = np.random.default_rng(1)
    tables = 4000
    found = np.array([lower_tail(-rng.exponential(size=n), -rng.exponential(size=5)) for _ in range(tables)])
    error = np.sqrt(0.01 * 0.99 / tables)  # rows of a table share its tail
    assert abs((found < 0.01).mean() - 0.01) < 4 * error
    assert abs((found < 0.5).mean() - 0.5) < 4 * 0.5 / np.sqrt(tables) + 1 / n
    if n == 20:  # a tail that is taken as known claims too much
        values, new = -rng.exponential(size=(tables, n)), -rng.exponential(size=tables)
        values.sort(axis=1)
        scale = (values[:, 8:9] - values[:, :8]).mean(axis=1)
        known = 9 / 21 * np.exp((new - values[:, 8]) / scale)
        assert (known < 0.01).mean() > 0.01 + 4 * error


def test_lower_tail_falls_with_the_density_and_has_no_jump():
    values = -np.random.default_rng(2).exponential(size=50)
    at = np.linspace(values.min() - 20.0, 1.0, 4000)
    found = lower_tail(values, at)
    assert np.all(np.diff(found) >= 0.0)
    assert np.diff(found).max() < 2.5 / 51
    assert found[0] < 1e-4
    assert found[-1] == pytest.approx(1.0)
    assert lower_tail(values, np.array([-np.inf]))[0] == 0.0
    assert 0.0 <= lower_tail(np.zeros(20), np.array([-1e-3]))[0] < 1e-6


def test_an_absurd_value_is_told_from_a_fitted_row(posterior):
    new = np.array(posterior.X[:3]) + 0.01
    new[1, 2] = 1e5
    placed = posterior.place(new, n_trees=10)
    assert placed.is_typical.tolist() == [True, False, True]
    assert placed.typicality[1] < 1e-6
    assert placed.unlike_in_words() == (
        "1 of 3 new rows is unlike the fitted ones (less likely than all but 1 % of such rows): 1"
    )
    new[1, 2] = np.nan  # without the absurd value the rest of the row counts
    assert posterior.place(new, n_trees=10).is_typical.all()


def test_typicality_compares_densities_of_the_same_columns(posterior):
    from coaltree.posterior.predictive import typicality as module

    whole = module.fitted_densities(posterior, np.arange(3))
    first = module.fitted_densities(posterior, np.array([0]))
    assert len(whole) == len(first) == 30
    np.testing.assert_allclose(whole, posterior.loo(n_draws=100, progress=False).pointwise)
    assert abs(first.mean() - whole.mean()) > 0.5  # nats: they cannot stand for each other
    assert module.fitted_densities(posterior, np.arange(3)) is whole


def test_typicality_is_unknown_without_values_or_beside_few_rows(posterior):
    assert np.isnan(typicality(posterior, np.zeros(1), np.zeros((1, 3), bool))).all()
    few = quick_fit(posterior.X[:6], "spherical", n_samples=3, n_warmup=3)
    placed = few.place(np.array([[1e5, 0.0, 0.0]]), n_trees=3)
    assert np.isnan(placed.typicality).all()
    assert placed.is_typical.all()


def test_typicality_with_groups_leaves_out_whole_leaves(posterior):
    rows = np.repeat(np.array(posterior.X), 2, axis=0) + 0.05 * np.random.default_rng(3).standard_normal((60, 3))
    grouped = quick_fit(
        rows,
        "spherical",
        noise="learn",
        sampler="regraft",
        groups=np.repeat(np.arange(30), 2),
        n_samples=15,
        n_warmup=15,
    )
    new = np.vstack([rows[:4] + 0.02, rows[4] + 300.0])
    assert grouped.place(new, n_trees=10).is_typical.tolist() == [True] * 4 + [False]


def test_the_limit_is_one_per_cent():
    assert MIN_TYPICALITY == 0.01
