import math

import numpy as np
import pytest

import coaltree as ct
from coaltree.errors import InputError
from coaltree.model.covariance import Components, Covariance, Diagonal, Fixed, Spherical, SquaredExponential
from coaltree.model.data import missing as missing_entries
from coaltree.model.data.missing import agreeing_pair, check_observed, fill_at_random, impute
from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import simulate_data
from tests.reference import components as reference
from tests.reference.missing import conditional_of_missing

PHI = np.array([[1.0, 0.6, 0.2], [0.6, 1.5, -0.3], [0.2, -0.3, 0.7]])


def example(n, d, covariance, noise, seed=0):
    rng = np.random.default_rng(seed)
    tree = simulate_tree(n, rng)
    return tree, simulate_data(tree, d, rng, covariance.whitener(d).color, leaf_var=noise)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize(
    ("covariance", "row"),
    [(Fixed(PHI), 0), (Fixed(PHI), 3), (Diagonal([1.0, 2.0, 0.5]), 0), (Spherical(amplitude=2.0), 3)],
    ids=lambda value: type(value).__name__ if isinstance(value, Covariance) else f"row {value}",
)
def test_impute_draws_one_row_exactly(covariance, noise, row):
    tree, X = example(5, 3, covariance, noise)
    missing = np.zeros((5, 3), dtype=bool)
    missing[row, [0, 2]] = True
    rng = np.random.default_rng(1)
    args = (tree.children, tree.times, X, missing, covariance, noise, rng)
    draws = np.array([impute(*args)[missing] for _ in range(4000)])
    mean, cov = conditional_of_missing(tree.children, tree.times, X, missing, covariance.matrix(3), noise)
    z = (draws - mean) @ np.linalg.inv(np.linalg.cholesky(cov)).T
    assert np.all(np.abs(z.mean(axis=0)) < 4.5 / math.sqrt(4000))
    assert np.all(np.abs(z.T @ z / 4000 - np.eye(2)) < 4.5 * math.sqrt(2 / 4000))
    shifted = z + 0.15  # a mean that is off by 0.15 standard deviations would be seen
    assert np.any(np.abs(shifted.mean(axis=0)) > 4.5 / math.sqrt(4000))


def test_impute_keeps_observed_entries():
    tree, X = example(6, 3, Fixed(PHI), 0.0)
    missing = np.random.default_rng(2).random((6, 3)) < 0.4
    filled = impute(tree.children, tree.times, X, missing, Fixed(PHI), 0.0, np.random.default_rng(3))
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    assert np.all(filled[missing] != X[missing])
    again = impute(tree.children, tree.times, X, missing, Fixed(PHI), 0.0, np.random.default_rng(3))
    np.testing.assert_array_equal(again, filled)


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_impute_converges_to_the_joint_conditional(noise):
    covariance = Fixed(PHI)
    tree, X = example(6, 3, covariance, noise, seed=4)
    missing = np.random.default_rng(5).random((6, 3)) < 0.35
    missing[:, 1] = [True, True, False, True, False, False]
    mean, cov = conditional_of_missing(tree.children, tree.times, X, missing, PHI, noise)
    rng = np.random.default_rng(6)
    values, draws = X, []
    for _ in range(6000):
        values = impute(tree.children, tree.times, values, missing, covariance, noise, rng)
        draws.append(values[missing])
    z = (np.array(draws) - mean) / np.sqrt(np.diag(cov))
    batches = z.reshape(40, 150, -1).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / math.sqrt(40)
    assert np.all(error < 0.1)
    assert np.all(np.abs(z.mean(axis=0)) < 4.5 * error)
    squares = (z**2).reshape(40, 150, -1).mean(axis=1)
    error = squares.std(axis=0, ddof=1) / math.sqrt(40)
    assert np.all(np.abs(squares.mean(axis=0) - 1.0) < 4.5 * error)


def test_fill_at_random_draws_from_the_columns():
    rng = np.random.default_rng(7)
    X = np.array([[0.0, 100.0]] * 2000) + rng.normal(size=(2000, 2)) * [1.0, 10.0]
    X[rng.random(X.shape) < 0.5] = np.nan
    missing = np.isnan(X)
    filled = fill_at_random(X, Spherical(), rng)
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    drawn = filled[:, 1][missing[:, 1]]
    assert drawn.mean() == pytest.approx(100.0, abs=2.0)
    assert drawn.std() == pytest.approx(10.0, rel=0.15)


def test_fill_at_random_is_smooth_under_a_smooth_covariance():
    covariance = SquaredExponential(50.0, 1e-6)
    _, X = example(10, 60, covariance, 0.0)
    missing = np.random.default_rng(1).random(X.shape) < 0.1
    X += 20.0  # where the root is does not matter
    filled = fill_at_random(np.where(missing, np.nan, X), covariance, np.random.default_rng(2))
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    assert np.sqrt(np.mean((filled - X)[missing] ** 2)) < 0.02
    by_columns = fill_at_random(np.where(missing, np.nan, X), Spherical(), np.random.default_rng(2))
    assert np.sqrt(np.mean((by_columns - X)[missing] ** 2)) > 0.5


def test_check_observed_names_rows_and_columns_without_values():
    X = np.array([[1.0, np.nan], [np.nan, np.nan], [2.0, 3.0]])
    with pytest.raises(InputError, match=r"row\(s\) 'b' of X have only missing values"):
        check_observed(X, ("a", "b", "c"), ("x", "y"))
    X = np.array([[1.0, np.nan], [3.0, np.nan], [2.0, np.nan]])
    with pytest.raises(InputError, match=r"column\(s\) 'y' of X have only missing values"):
        check_observed(X, ("a", "b", "c"), ("x", "y"))
    with pytest.raises(InputError, match=r"column\(s\) 1 of X"):
        check_observed(X, ("a", "b", "c"), None)


def test_agreeing_pair_is_equal_in_every_column_that_both_have():
    X = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, np.nan], [0.0, 2.0, 3.0]])
    assert agreeing_pair(X) == (1, 0)
    X[1, 0] = 1.5
    assert agreeing_pair(X) is None
    assert agreeing_pair(np.array([[1.0, np.nan, 3.0], [1.0, 2.0, np.nan]])) is None  # one shared column is enough


# Where components carry the tree


def problem(hidden, seed=0, n=5, d=4):
    rng = np.random.default_rng(seed)
    V, A = np.linalg.qr(rng.normal(size=(d, 2)))[0], rng.normal(size=(2, 2))
    scale, centre = np.array([1.0, 2.0, 0.5, 3.0]), rng.normal(size=d)
    X, tree = ct.simulate(n, d, "spherical", random_state=1)
    X, Phi = X * scale + centre, A @ A.T + np.eye(2)
    covariance = Components(2, Phi=Phi, residual_variance=0.7, loadings=V, centre=centre, scale=scale).adapt(X)
    missing = rng.random((n, d)) < hidden
    return X, tree, missing, covariance


def draws_of(X, tree, missing, covariance, n_draws, rng):
    drawn = []
    for _ in range(n_draws):
        X = impute(np.array(tree.children), np.array(tree.times), X, missing, covariance, 0.3, rng)
        drawn.append(X[missing])
    return np.array(drawn)[n_draws // 20 :]


def z_scores(drawn, mean, covariance, length=50):
    """Of means and of all second moments, by batch means."""
    sd = np.sqrt(np.diag(covariance))
    Z = (drawn - mean) / sd
    products = (Z[:, :, None] * Z[:, None, :])[:, *np.tril_indices(len(sd))]
    values = np.concatenate([Z, products], axis=1)
    expected = np.concatenate([0 * sd, (covariance / np.outer(sd, sd))[np.tril_indices(len(sd))]])
    batches = values[: len(values) // length * length].reshape(-1, length, values.shape[1]).mean(axis=1)
    return (batches.mean(axis=0) - expected) / (batches.std(axis=0, ddof=1) / np.sqrt(len(batches)))


@pytest.mark.parametrize(
    ("hidden", "n_draws"), [(0.3, 4000), *(pytest.param(p, 40_000, marks=pytest.mark.slow) for p in (0.1, 0.3, 0.6))]
)
def test_missing_entries_have_the_law_of_the_transcription(hidden, n_draws):
    X, tree, missing, covariance = problem(hidden)
    theta = (covariance.loadings, covariance.Phi, covariance.residual_variance, covariance.scale, covariance.centre)
    truth = reference.conditional_of_missing(tree.children, tree.times, X, missing, *theta, 0.3)
    drawn = draws_of(X, tree, missing, covariance, n_draws, np.random.default_rng(1))
    assert np.abs(z_scores(drawn, *truth)).max() < 4.5
    # Negative control: a tenth more noise beside the components, and twice as much at the leaves.
    wrong = reference.conditional_of_missing(tree.children, tree.times, X, missing, *theta[:2], 1.2, *theta[3:], 0.6)
    assert np.abs(z_scores(drawn, *wrong)).max() > 6.0


def test_components_that_are_drawn_are_those_of_the_filled_row(monkeypatch):
    """The walk goes on with q + B h, in place of Vᵀ x."""
    X, tree, missing, covariance = problem(0.4)
    seen = {}
    begin_walk = missing_entries.begin_walk

    def remember(*args):
        seen["walk"] = begin_walk(*args)
        return seen["walk"]

    monkeypatch.setattr(missing_entries, "begin_walk", remember)
    rng = np.random.default_rng(2)
    filled = impute(np.array(tree.children), np.array(tree.times), X, missing, covariance, 0.3, rng)
    np.testing.assert_allclose(covariance.project(filled), seen["walk"].mean[:5], atol=1e-10)
    np.testing.assert_array_equal(filled[~missing], X[~missing])


def test_starting_values_are_drawn_given_the_observed_entries_of_their_row():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 60)) * 3.0 + rng.normal(size=(40, 60))
    missing = rng.random(X.shape) < 0.2
    covariance = Components(3).adapt(np.where(missing, np.nan, X))
    filled = fill_at_random(np.where(missing, np.nan, X), covariance, rng)
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    by_column = np.broadcast_to(X.mean(axis=0), X.shape)
    assert np.std((filled - X)[missing]) < 0.6 * np.std((by_column - X)[missing])
