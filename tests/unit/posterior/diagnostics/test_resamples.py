"""Errors of supports from the spread between resamples."""

import math
import re

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.diagnostics import resamples
from coaltree.posterior.diagnostics.convergence_summary import summarize
from tests.fits import data, quick_fit
from tests.posteriors import random_posterior
from tests.refusals import assert_refused


def ids_of(shares, length=20, seed=0):
    """Draws (B · length, 1) of clade 1 with a chain's own share, else clade 0."""
    rng = np.random.default_rng(seed)
    ids = (rng.random((len(shares), length)) < np.asarray(shares)[:, None]).astype(int).reshape(-1, 1)
    return ids, np.repeat(np.arange(len(shares)), length)


def test_topology_ess_is_that_of_draws_where_chains_agree_and_of_chains_where_they_do_not():
    sizes = [resamples.topology_ess(*ids_of(np.full(50, 0.5), seed=seed)) for seed in range(20)]
    assert np.mean(np.minimum(sizes, 1000)) == pytest.approx(1000, rel=0.15)
    apart = np.random.default_rng(1).random(50) < 0.5
    assert resamples.topology_ess(*ids_of(apart)) == pytest.approx(50, rel=0.05)
    assert math.isnan(resamples.topology_ess(np.zeros((4, 1), int), np.zeros(4)))
    assert resamples.topology_ess(np.zeros((4, 1), int), np.array([0, 0, 1, 1])) == 4.0


def test_scalar_ess_counts_chains_that_lie_apart():
    rng, chain = np.random.default_rng(0), np.repeat(np.arange(40), 10)
    assert resamples.scalar_ess(rng.normal(size=40)[chain] + 0.01 * rng.normal(size=400), chain) == pytest.approx(
        40, rel=0.05
    )
    assert resamples.scalar_ess(rng.normal(size=400), chain) > 200


def test_standard_errors_of_supports_are_those_of_repeated_resamples():
    rng = np.random.default_rng(2)
    supports, errors = [], []
    for seed in range(200):
        ids, chain = ids_of(rng.beta(1.0, 1.0, size=24), 8, seed)
        mean, squared = resamples._moments(ids, chain)
        supports.append(mean[1])
        errors.append(squared[1])
    assert np.sqrt(np.mean(errors)) == pytest.approx(np.std(supports), rel=0.2)


@pytest.fixture(scope="module")
def post():
    return quick_fit(data(10, 6), "spherical", sampler="regraft", resample="columns", n_resamples=6)


def test_figures_are_in_info_and_in_the_summary_without_r_hat(post):
    found = resamples.figures(post)
    assert found == post.info["convergence"]
    assert found["n_resamples"] == 6
    assert 0.0 < found["support_error"] < 0.5 / math.sqrt(6)
    summary = summarize(post)
    assert {figure.key for figure in summary.figures} == {"support_error", "drift"}
    assert resamples.MEANING in summary.text


def test_questions_that_would_mix_likelihoods_are_refused(post):
    asked = {
        "check()": post.check,
        "loo()": post.loo,
        "map_tree()": post.map_tree,
        "compare() of 'a'": lambda: ct.compare({"a": post}),
        "start=": lambda: quick_fit(data(10, 6), "spherical", start=post),
    }
    for what, question in asked.items():
        assert_refused(question, re.escape(f"{what} needs one likelihood"))


def test_resampled_posterior_answers_all_else(post, tmp_path):
    assert post.mean_tree().n == 10
    assert post.suggest_n_clusters().n_clusters >= 1
    assert post.cut(2).max() == 1
    assert 1.0 <= post.ess <= len(post)
    post.save(tmp_path / "post.npz")
    again = ct.load(tmp_path / "post.npz")
    np.testing.assert_array_equal(again.draws.column_weights, post.draws.column_weights)
    assert again.draws.is_resampled
    assert post.thin(2).draws.is_resampled


def test_resampled_posteriors_are_joined_like_with_like(post):
    other = quick_fit(data(10, 6), "spherical", sampler="regraft", resample="columns", n_resamples=3, random_state=1)
    both = ct.concat([post, other])
    np.testing.assert_array_equal(
        both.draws.column_weights, np.concatenate([post.draws.column_weights, other.draws.column_weights])
    )
    assert len(np.unique(both.draws.chain)) == 9
    part = ct.concat([post[np.flatnonzero(post.draws.chain == 4)], other])
    np.testing.assert_array_equal(part.draws.column_weights[0], post.draws.column_weights[4])
    plain = quick_fit(data(10, 6), "spherical", sampler="regraft")
    assert_refused(lambda: ct.concat([post, plain]), "like with like")


def test_column_weights_are_checked():
    for weights in (np.ones((1, 2)), -np.ones((2, 2)), np.ones((2, 3)), np.full((2, 2), np.nan)):
        with pytest.raises(ct.InputError, match="column_weights"):
            random_posterior(0, chain=np.arange(12) % 2, X=np.zeros((7, 2)), column_weights=weights)


def test_place_weighs_new_rows_as_each_chain_weighs_the_fitted_ones():
    rng = np.random.default_rng(0)
    of_one, of_others = np.arange(12) % 2, np.arange(12) // 6
    X = 6.0 * np.column_stack([of_one, *[of_others] * 4]) + 0.3 * rng.normal(size=(12, 5))
    new = np.array([[6.0, 0.0, 0.0, 0.0, 0.0]])  # in the first column like one half, in the others like another
    post = quick_fit(X, "spherical", sampler="regraft", resample="columns", n_resamples=2, n_samples=10, n_warmup=10)
    placed = post.place(new, classes=of_others)
    assert placed.class_probability[0, 0] > 0.9
    assert np.isnan(placed.log_density).all()
    assert "log density" not in repr(placed)
    np.testing.assert_allclose(placed.weights.reshape(2, 10).sum(axis=1), 0.5)
    only_first = np.tile([5.0, 1e-9, 1e-9, 1e-9, 1e-9], (2, 1))
    alone = ct.Posterior(post.model, post.draws._replace(column_weights=only_first))
    assert alone.place(new, classes=of_one).class_probability[0, 1] > placed.class_probability[0, 0] - 0.5
    gaps = np.array([[np.nan, 0.0, np.nan, 0.0, 0.0]])
    assert post.place(gaps, classes=of_others).class_probability[0, 0] > 0.8
