"""What `fit` returns, that a seed repeats it, and what it says."""

import numpy as np
import pandas as pd
import pytest

from coaltree.errors import ConvergenceWarning, InputError
from coaltree.inference.fit import fit
from coaltree.model.covariance import Matern32, Spherical, SquaredExponential
from tests.fits import QUICK, assert_same, data, quick_fit, with_missing


def test_fit_returns_a_tree_and_parameters_for_every_iteration():
    frame = pd.DataFrame(data(), index=list("abcdefgh"), columns=["x", "y", "z"])
    post = quick_fit(frame, n_chains=3)
    assert len(post) == 18
    assert post.labels == tuple("abcdefgh")
    assert post.model.columns == ("x", "y", "z")
    np.testing.assert_array_equal(post.draws.chain, np.repeat([0, 1, 2], 6))
    np.testing.assert_allclose(post.weights, 1 / 18)
    assert post.theta["amplitude"].shape == (18,)
    assert np.all(np.isfinite(post.log_joint))
    assert post.trees[0].labels == tuple("abcdefgh")
    assert post.draws.imputed is None
    assert post.info["seed"] == 0
    assert set(post.info["convergence"]) >= {"log_joint", "root_time", "merge_2", "amplitude"}


def test_log_joint_is_the_density_of_what_is_returned():
    X = data()
    post = quick_fit(X, SquaredExponential(1.0, 0.1))
    for t in (0, 7):
        theta = {name: float(draws[t]) for name, draws in post.theta.items()}
        covariance = post.model.covariance.with_theta(theta)
        tree = post.trees[t]
        density = tree.log_prior() + tree.log_likelihood(X, covariance.matrix(3)) + covariance.log_prior()
        assert post.log_joint[t] == pytest.approx(density, rel=1e-9)


@pytest.mark.parametrize(
    ("covariance", "shapes"),
    [
        ("spherical", {"amplitude": ()}),
        ("diagonal", {"variances": (4,)}),
        ("full", {"Phi": (4, 4)}),
        ("squared_exponential", {"amplitude": (), "length2": (), "noise": ()}),
        (Matern32((1.0, 2.0), 0.1, (2, 2)), {"amplitude": (), "length": (2,), "noise": ()}),
        (SquaredExponential(1.0, 0.1, learn="length2"), {"length2": ()}),
        (np.eye(4), {}),
        (Spherical(learn=False), {}),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_fit_names_the_draws_of_every_covariance(covariance, shapes, noise):
    post = quick_fit(data(d=4), covariance, noise=noise)
    assert {name: draws.shape[1:] for name, draws in post.theta.items()} == shapes
    assert np.all(np.isfinite(post.log_joint))
    for draws in post.theta.values():
        assert len(np.unique(draws.reshape(len(draws), -1)[:, 0])) == len(draws)


def test_missing_entries_are_drawn_and_kept():
    X = with_missing(data(12, 4))
    missing = np.isnan(X)
    assert missing.any()
    for covariance in ("spherical", "full", Matern32(1.0, 0.1, (2, 2))):
        post = quick_fit(X, covariance)
        assert post.draws.imputed.shape == (12, missing.sum())
        assert np.all(np.isfinite(post.draws.imputed))
        assert len(np.unique(post.draws.imputed[:, 0])) == 12
        np.testing.assert_array_equal(post.model.X, X)
        filled = post.model.completed(post.draws, 3)
        np.testing.assert_array_equal(filled[missing], post.draws.imputed[3])
        np.testing.assert_array_equal(filled[~missing], X[~missing])


@pytest.mark.parametrize("covariance", ["spherical", Matern32((1.0, 2.0), 0.1, (2, 2))], ids=["spherical", "matern32"])
def test_fit_repeats_itself_bit_for_bit(covariance):
    X = with_missing(data(8, 4))
    first = quick_fit(X, covariance)
    assert_same(first, quick_fit(X, covariance))
    other = quick_fit(X, covariance, random_state=1)
    assert not np.array_equal(first.log_joint, other.log_joint)


def test_seed_in_use_repeats_the_run():
    X = data()
    first = quick_fit(X, random_state=None)
    assert_same(first, quick_fit(X, random_state=first.info["seed"]))
    drawn = quick_fit(X, random_state=np.random.default_rng(5))
    assert_same(drawn, quick_fit(X, random_state=np.random.default_rng(5)))
    assert_same(drawn, quick_fit(X, random_state=drawn.info["seed"]))


def test_misspelt_covariance_is_told_all_names():
    with pytest.raises(InputError, match=r'"auto", "spherical", .*"full"'):
        fit(data(), covariance="fulll")


def test_fit_warns_of_chains_that_have_not_converged():
    with pytest.warns(ConvergenceWarning, match="may change in a longer run") as caught:
        fit(data(), sampler=QUICK, n_samples=8, n_warmup=0, random_state=0)
    (warning,) = [one.message for one in caught if one.category is ConvergenceWarning]
    assert any("effective sample size of" in finding for finding in warning.findings)


def test_posterior_of_a_check_is_the_posterior_that_is_returned(monkeypatch):
    """So that what was asked of it, the number of clusters and the mean tree, is not computed again."""
    from coaltree.posterior.clusters import n_clusters

    suggested = []
    closest_clades = n_clusters.closest_clades
    monkeypatch.setattr(n_clusters, "closest_clades", lambda *args: suggested.append(args) or closest_clades(*args))
    post = fit(data(), sampler=QUICK, random_state=0)
    assert post.info["stopping"]["reason"] == "converged"
    n_before = len(suggested)
    assert post.suggest_n_clusters().n_clusters == post.info["stopping"]["n_clusters"]
    assert len(suggested) == n_before > 0
