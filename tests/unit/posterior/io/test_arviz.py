"""Draws for ArviZ: chains, weights, names, priors, and the densities of rows."""

import os
import subprocess
import sys

import numpy as np
import pytest

import coaltree as ct
from tests.posteriors import random_posterior


def test_to_arviz_gives_draws_that_arviz_summarises():
    az = pytest.importorskip("arviz")
    rng = np.random.default_rng(0)
    post = random_posterior(
        2, n_trees=400, weighted=False, chain=np.repeat([0, 1], 200), theta={"ell": rng.normal(3, 1, 400)}
    )
    data = post.to_arviz()
    summary = az.summary(data, var_names=["ell", "root_time"])
    assert float(summary.loc["ell", "mean"]) == pytest.approx(post.theta["ell"].mean(), abs=0.01)
    root_times = np.array([tree.times[-1] for tree in post.trees])
    assert float(summary.loc["root_time", "mean"]) == pytest.approx(root_times.mean(), abs=0.01)
    assert float(summary.loc["ell", "ess_bulk"]) > 200
    assert data.posterior["ell"].shape == (2, 200)
    np.testing.assert_array_equal(data.sample_stats["lp"].values.ravel(), post.log_joint)
    tree = post.trees[5]
    lengths = [tree.node_times[p] - tree.node_times[c] for c, p in enumerate(tree.parents) if p >= 0]
    assert float(data.posterior["tree_length"][0, 5]) == pytest.approx(sum(lengths))


def test_to_arviz_has_the_densities_of_rows_the_likelihood_and_the_priors():
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


def test_arviz_s_notice_of_the_day_is_not_shown(tmp_path):
    """A fresh process with an empty cache, as on a new machine: ArviZ warns once a day as it is imported."""
    pytest.importorskip("arviz")
    code = "from tests.posteriors import random_posterior; random_posterior(0).to_arviz(log_likelihood=None)"
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    run = [sys.executable, "-W", "error::FutureWarning", "-c", code]
    done = subprocess.run(run, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
