"""Leave-one-out: against fits without each row, with copies and weights; refusals."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import posterior_of_rows, random_posterior


def test_loo_equals_fits_without_each_row():
    """Trees alone are drawn. In three repeats the sums differed by -0.02 … 0.04 and a row by at most 0.08."""
    X, _ = ct.simulate(8, 4, ct.Spherical(amplitude=1.0), noise=0.1, random_state=3)
    X = np.asarray(X)

    def draw(rows, seed):
        settings = {"n_samples": 400, "n_warmup": 20, "progress": False, "random_state": seed}
        return ct.sample_trees(rows, ct.Spherical(amplitude=1.0), noise=0.1, **settings)

    loo = draw(X, 0).loo(n_draws=400, progress=False)
    without = [draw(np.delete(X, i, axis=0), i + 1) for i in range(8)]
    refitted = [post.place(X[i : i + 1], n_trees=400).log_density[0] for i, post in enumerate(without)]
    assert np.abs(loo.pointwise - refitted).max() < 0.25
    assert abs(loo.elpd - sum(refitted)) < 0.2
    in_sample = np.log(np.mean(np.exp(loo.log_density), axis=0)).sum()
    assert in_sample - sum(refitted) > 0.6  # rows that were seen are predicted too well
    assert loo.p_loo == pytest.approx(in_sample - loo.elpd)


def test_loo_smooths_as_arviz_does_and_heeds_weights():
    az = pytest.importorskip("arviz")
    post = posterior_of_rows(n_trees=120)
    loo = post.loo(progress=False)
    assert loo.n_draws == 120 and loo.rows.tolist() == list(range(6))
    ess = post.ess / 120
    theirs = az.loo(
        az.from_dict(posterior={"a": np.zeros((1, 120))}, log_likelihood={"x": loo.log_density[None]}),
        pointwise=True,
        reff=ess,
    )
    np.testing.assert_allclose(loo.pointwise, theirs.loo_i.values, rtol=1e-3)
    assert loo.elpd == pytest.approx(float(theirs.elpd_loo), rel=1e-3)
    assert loo.se == pytest.approx(float(theirs.se) * math.sqrt(6 / 5), rel=1e-3)
    twice = ct.concat([post, post[:60]])
    weighted = random_posterior(0, 6, 120, X=post.model.X, covariance=post.model.covariance, noise=0.2)
    assert len(weighted.loo(progress=False).pointwise) == len(twice.loo(progress=False).pointwise) == 6


def test_loo_counts_weights_once_where_draws_are_picked_by_them():
    post = posterior_of_rows(n_trees=90)
    weights = np.where(np.arange(90) < 30, 4.0, 1.0)
    data = {"X": post.model.X, "covariance": post.model.covariance, "noise": 0.2}
    # Taken twice, the first 30 trees would have 16 times the weight of the others.
    weighted, heavy = (
        posterior_of_trees(post.draws.children, post.draws.times, log_weights=power * np.log(weights), **data)
        for power in (1.0, 2.0)
    )
    few, every = (weighted.loo(n_draws=n, progress=False) for n in (60, 90))
    assert few.n_draws < 61
    heavy = heavy.loo(n_draws=90, progress=False)
    assert abs(few.elpd - every.elpd) < abs(few.elpd - heavy.elpd)


def test_loo_is_the_same_with_more_jobs_and_shows_progress():
    post, seen = posterior_of_rows(n_trees=8), []
    one = post.loo(progress=lambda *done: seen.append(done))
    assert seen[-1] == (8, 8)
    other = posterior_of_rows(n_trees=8).loo(n_jobs=2, progress=False)
    np.testing.assert_array_equal(one.log_density, other.log_density)
    assert len(post.loo(n_draws=4, progress=False).log_density) == 4


@pytest.mark.slow
def test_loo_equals_fits_without_each_row_where_everything_is_learnt():
    """All prior scales stay those of the full table, so that only the row is missing."""
    X, _ = ct.simulate(30, 3, ct.Spherical(amplitude=1.0), noise=0.1, random_state=1)
    X = np.asarray(X)
    X[4] += 3.0  # an outlier
    noise = ct.Noise(tails="student", prior=ct.LogNormal(0.1, 1.0))
    settings = {"n_chains": 2, "n_warmup": 50, "progress": False, "noise": noise}
    post = ct.fit(X, "diagonal", n_samples=500, random_state=0, **settings)
    loo = post.loo(n_draws=500, progress=False)
    refitted = []
    for i in range(30):
        without = ct.fit(np.delete(X, i, axis=0), post.model.covariance, n_samples=200, random_state=i + 1, **settings)
        refitted.append(without.place(X[i : i + 1], n_trees=200).log_density[0])
    apart = loo.pointwise - np.array(refitted)
    trusted = loo.pareto_k <= 0.7
    assert trusted.sum() >= 26
    assert np.abs(apart[trusted]).max() < 0.3
    assert abs(apart[trusted].sum()) < 4.5 * apart[trusted].std() * math.sqrt(trusted.sum()) + 0.3
    in_sample = np.log(np.mean(np.exp(loo.log_density), axis=0))
    assert (in_sample - np.array(refitted)).sum() > 2.0


def test_loo_warns_of_influential_rows_and_remembers_the_densities(monkeypatch):
    post = posterior_of_rows(n_trees=40, noise=0.01, X=np.random.default_rng(0).normal(size=(6, 2)) * 30.0)
    with pytest.warns(ct.CoaltreeWarning, match=r"Pareto k̂ > 0\.7 for \d of 6 rows"):
        first = post.loo(progress=False)
    monkeypatch.setattr("coaltree.posterior.predictive.loo.row_densities", None)  # which is not called again
    with pytest.warns(ct.CoaltreeWarning, match="Pareto"):
        assert post.loo(progress=False).elpd == first.elpd
