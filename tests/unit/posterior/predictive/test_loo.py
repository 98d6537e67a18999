"""Leave-one-out: against fits without each row, with replicates, missing entries, copies and weights; refusals."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.predictive.row_densities import row_densities
from tests.posteriors import grouped_posterior, random_posterior
from tests.reference import leave_one_out as reference
from tests.reference.likelihood import cophenetic


def known_posterior(n=6, d=2, n_trees=3, seed=0, noise=0.2, **extra):
    """Trees of rows that are no draws, which is enough for densities given the trees."""
    rng = np.random.default_rng(seed)
    settings = {"X": rng.normal(size=(n, d)), "covariance": ct.Spherical(amplitude=2.0), "noise": noise}
    return random_posterior(seed, n, n_trees, weighted=False, **(settings | extra))


def test_equals_fits_without_each_row():
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


def test_smoothing_is_arviz_s_and_weights_of_trees_count():
    az = pytest.importorskip("arviz")
    post = known_posterior(n_trees=120)
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
    weighted = random_posterior(0, 6, 120, X=post.X, covariance=post.covariance, noise=0.2)
    assert len(weighted.loo(progress=False).pointwise) == len(twice.loo(progress=False).pointwise) == 6


def test_weights_count_once_where_draws_are_picked_by_them():
    post = known_posterior(n_trees=90)
    weights = np.where(np.arange(90) < 30, 4.0, 1.0)
    weighted = ct.Posterior(
        post.children, post.times, log_weights=np.log(weights), X=post.X, covariance=post.covariance, noise=0.2
    )
    few, every = (weighted.loo(n_draws=n, progress=False) for n in (60, 90))
    assert few.n_draws < 61
    # Taken twice, the first 30 trees would have 16 times the weight of the others.
    heavy = ct.Posterior(
        post.children,
        post.times,
        log_weights=2.0 * np.log(weights),
        X=post.X,
        covariance=post.covariance,
        noise=0.2,
    ).loo(n_draws=90, progress=False)
    assert abs(few.elpd - every.elpd) < abs(few.elpd - heavy.elpd)


def test_rows_of_one_leaf_hold_its_place():
    """A row beside others of its leaf is normal (or Student) given all other rows: the tree need not change."""
    post = grouped_posterior(tail_scale=None, noise=0.3, theta={}, n_trees=2)
    found = row_densities(post, np.array([1]))
    children, times = post.children[1], post.times[1]
    groups, X = post.groups, post.X
    covariance = (times[-1] - cophenetic(children, times))[np.ix_(groups, groups)] + 0.3 * np.eye(len(groups))
    precision = np.linalg.inv(covariance + 1e6)  # a root that is known hardly at all
    for i in np.flatnonzero(np.bincount(groups)[groups] > 1):
        variance = 2.0 / precision[i, i]
        mean = X[i] - (precision[i] @ X) / precision[i, i]
        exact = -0.5 * np.sum(np.log(2 * np.pi * variance) + (X[i] - mean) ** 2 / variance)
        assert found.log_density[0, i] == pytest.approx(exact, abs=1e-3)


def test_rows_of_one_leaf_with_tails():
    post = grouped_posterior(n_trees=2)
    i = int(np.flatnonzero(np.bincount(post.groups)[post.groups] > 1)[0])
    found = row_densities(post, np.array([0])).log_density[0, i]
    level, amplitude = post.theta["noise_level"][0], post.theta["amplitude"][0]
    children, times, groups, X = post.children[0], post.times[0], post.groups, post.X
    among = (times[-1] - cophenetic(children, times))[np.ix_(groups, groups)] + 1e6
    y, total = np.linspace(-5, 10, 2001), []
    for s in np.exp(y):
        scales = np.array(post.tail_scale[0])
        scales[i] = s
        precision = np.linalg.inv(among + np.diag(level * scales))
        variance, mean = amplitude / precision[i, i], X[i] - (precision[i] @ X) / precision[i, i]
        log_normal = -0.5 * np.sum(np.log(2 * np.pi * variance) + (X[i] - mean) ** 2 / variance)
        total.append(np.exp(log_normal + 2.0 * (math.log(2.0) - math.log(s) - 1.0 / s)))
    assert found == pytest.approx(math.log(np.trapezoid(total, y)), abs=0.01)


def test_only_observed_entries_of_a_row_count():
    X = np.random.default_rng(1).normal(size=(5, 3))
    X[1, 2] = np.nan
    Phi = np.array([[1.0, 0.6, 0.2], [0.6, 2.0, -0.3], [0.2, -0.3, 0.5]])
    imputed = np.full((3, 1), 0.4)
    post = known_posterior(5, X=X, covariance=ct.Fixed(Phi), imputed=imputed, noise=0.1)
    found = row_densities(post, np.array([2])).log_density[0]
    full = np.where(np.isnan(X), 0.4, X)
    for row, columns in ((1, [0, 1]), (3, [0, 1, 2])):
        block = Phi[np.ix_(columns, columns)]
        W = np.linalg.solve(np.linalg.cholesky(block), full[:, columns].T).T.tolist()
        brute = reference.log_density_of_leaf(post.children[2], post.times[2], W, row, [0.1] * 5)
        assert found[row] == pytest.approx(brute - 0.5 * np.linalg.slogdet(block)[1], abs=0.01)


def test_errors_scale_a_row_s_own_noise():
    post = known_posterior(5, errors=[1.0, 2.0, 1.0, 0.5, 3.0])
    W = (post.X / math.sqrt(2.0)).tolist()
    variances = (0.2 * np.array([1.0, 4.0, 1.0, 0.25, 9.0])).tolist()
    brute = reference.log_density_of_leaf(post.children[0], post.times[0], W, 4, variances) - math.log(2.0)
    assert row_densities(post, np.array([0])).log_density[0, 4] == pytest.approx(brute, abs=0.01)


def test_copies_are_left_aside():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 3))
    X[5] = X[2]
    with pytest.warns(ct.CoaltreeWarning):
        post = ct.fit(X, n_samples=20, n_warmup=5, random_state=0, progress=False)
    loo = post.loo(progress=False)
    assert loo.rows.tolist() == [0, 1, 2, 3, 4, 6, 7] and "5" not in loo.labels
    assert "7 rows" in repr(loo) and f"{loo.elpd:.2f}" in repr(loo)
    assert np.isfinite(loo.pointwise).all()


def test_jobs_change_nothing_and_progress_is_shown():
    post, seen = known_posterior(n_trees=8), []
    one = post.loo(progress=lambda *done: seen.append(done))
    assert seen[-1] == (8, 8)
    other = known_posterior(n_trees=8).loo(n_jobs=2, progress=False)
    np.testing.assert_array_equal(one.log_density, other.log_density)
    assert len(post.loo(n_draws=4, progress=False).log_density) == 4


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ct.InputError, match="does not include its data"):
        random_posterior(0).loo()
    with pytest.raises(ct.InputError, match="no draws of its noise level"):
        known_posterior(noise="learn").loo()
    with pytest.raises(ct.InputError, match="n_draws must be a whole number"):
        known_posterior().loo(n_draws=0)
    with pytest.raises(ct.InputError, match="at least three rows"):
        ct.Posterior([[[0, 1]]], [[1.0]], X=[[0.0], [1.0]], covariance=ct.Spherical(amplitude=1.0)).loo()


@pytest.mark.slow
def test_equals_fits_without_each_row_where_everything_is_learnt():
    """All prior scales stay those of the full table, so that only the row is missing."""
    X, _ = ct.simulate(30, 3, ct.Spherical(amplitude=1.0), noise=0.1, random_state=1)
    X = np.asarray(X)
    X[4] += 3.0  # an odd row
    noise = ct.Noise(tails="student", prior=ct.LogNormal(0.1, 1.0))
    settings = {"n_chains": 2, "n_warmup": 50, "progress": False, "noise": noise}
    post = ct.fit(X, "diagonal", n_samples=500, random_state=0, **settings)
    loo = post.loo(n_draws=500, progress=False)
    refitted = []
    for i in range(30):
        without = ct.fit(np.delete(X, i, axis=0), post.covariance, n_samples=200, random_state=i + 1, **settings)
        refitted.append(without.place(X[i : i + 1], n_trees=200).log_density[0])
    apart = loo.pointwise - np.array(refitted)
    trusted = loo.pareto_k <= 0.7
    assert trusted.sum() >= 26
    assert np.abs(apart[trusted]).max() < 0.3
    assert abs(apart[trusted].sum()) < 4.5 * apart[trusted].std() * math.sqrt(trusted.sum()) + 0.3
    in_sample = np.log(np.mean(np.exp(loo.log_density), axis=0))
    assert (in_sample - np.array(refitted)).sum() > 2.0


def test_arviz_gets_the_densities_of_rows_the_likelihood_and_the_priors():
    az = pytest.importorskip("arviz")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 3))
    X[2, 1] = np.nan
    post = ct.fit(X, "diagonal", n_samples=40, n_warmup=10, random_state=0, progress=False)
    data = post.to_arviz(progress=False)
    assert data.log_likelihood["rows"].dims == ("chain", "draw", "row")
    assert data.log_likelihood["rows"].shape == (2, 40, 9)
    ours, theirs = post.loo(progress=False), az.loo(data, reff=min(post.ess / 80, 1.0))
    assert ours.elpd == pytest.approx(float(theirs.elpd_loo), rel=1e-3)
    parts = data.log_prior["tree"] + data.log_prior["covariance"] + data.log_prior["noise"]
    joint = parts + data.sample_stats["log_likelihood"]
    np.testing.assert_allclose(joint.values, data.sample_stats["lp"].values, rtol=1e-9)
    total = data.log_likelihood["rows"].sum("row")
    assert np.abs(total.values - data.sample_stats["log_likelihood"].values).mean() > 1.0  # they are not the same

    few = post.to_arviz(n_draws=10, progress=False).log_likelihood["rows"]
    assert few.shape == (2, 5, 9) and few.draw.values.tolist() == [7, 15, 23, 31, 39]
    whole = post.to_arviz(log_likelihood="all").log_likelihood["all"]
    np.testing.assert_array_equal(whole.values, data.sample_stats["log_likelihood"].values)
    assert "log_likelihood" not in post.to_arviz(log_likelihood=None).groups()
    with pytest.raises(ct.InputError, match="log_likelihood must be"):
        post.to_arviz(log_likelihood="none")


def test_arviz_gets_densities_of_groups_and_of_weighted_trees():
    pytest.importorskip("arviz")
    assert grouped_posterior().to_arviz(progress=False).log_likelihood["rows"].sizes["row"] == 13
    weighted = random_posterior(
        0, 6, 20, X=np.random.default_rng(0).normal(size=(6, 2)), noise=0.2, covariance=ct.Spherical(amplitude=2.0)
    )
    with pytest.warns(ct.CoaltreeWarning, match="no weighted draws"):
        assert weighted.to_arviz(progress=False).log_likelihood["rows"].shape == (1, 20, 6)
