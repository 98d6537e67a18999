"""Missing entries where components carry the tree, against the table as one Gaussian vector."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.covariance import Components
from coaltree.model.data import missing_components
from coaltree.model.data.missing import fill_at_random, impute
from tests.reference.components import conditional_of_missing


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
    truth = conditional_of_missing(tree.children, tree.times, X, missing, *theta, 0.3)
    drawn = draws_of(X, tree, missing, covariance, n_draws, np.random.default_rng(1))
    assert np.abs(z_scores(drawn, *truth)).max() < 4.5
    # Negative control: a tenth more noise beside the components, and twice as much at the leaves.
    wrong = conditional_of_missing(tree.children, tree.times, X, missing, *theta[:2], 1.2, *theta[3:], 0.6)
    assert np.abs(z_scores(drawn, *wrong)).max() > 6.0


def test_components_that_are_drawn_are_those_of_the_filled_row(monkeypatch):
    """The walk goes on with q + B h, in place of Vᵀ x."""
    X, tree, missing, covariance = problem(0.4)
    seen = {}
    begin_walk = missing_components.begin_walk

    def remember(*args):
        seen["walk"] = begin_walk(*args)
        return seen["walk"]

    monkeypatch.setattr(missing_components, "begin_walk", remember)
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
