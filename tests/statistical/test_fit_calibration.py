"""Is `fit` right about what it does not know? Intervals must hold the truth as often as they say."""

import math
import warnings

import numpy as np
import pytest

from coaltree.coalescent import simulate_tree
from coaltree.covariance import InverseGamma, LogNormal, SquaredExponential
from coaltree.diffusion import simulate_data
from coaltree.errors import ConvergenceWarning
from coaltree.fit import fit

PRIORS = {"amplitude": InverseGamma(4.0, 6.0), "length2": LogNormal(2.0, 0.5), "noise": LogNormal(0.2, 0.5)}


def draw_problem(n, d, rng):
    theta = {name: float(prior.sample(rng)) for name, prior in PRIORS.items()}
    covariance = SquaredExponential(priors=PRIORS).with_theta(theta)
    tree = simulate_tree(n, rng)
    return theta, tree, simulate_data(tree, d, rng, covariance.whitener(d).color)


def quiet_fit(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit(X, SquaredExponential(1.0, 0.1, priors=PRIORS), **options)


def covered(draws, truth, level=0.9):
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return (low <= truth) & (truth <= high)


def imputation_coverage(n_data_sets, rng, n=24, d=8):
    """Per data set: share of hidden values in the 90 % and the 50 % interval, and the two errors of imputation."""
    found = []
    for _ in range(n_data_sets):
        _, _, X = draw_problem(n, d, rng)
        hidden = rng.random(X.shape) < 0.1
        hidden[np.argmax(~hidden.all(axis=1)), 0] |= not hidden.any()
        seen = np.where(hidden, np.nan, X)
        post = quiet_fit(seen, n_samples=100, n_warmup=30, n_chains=1, random_state=rng)
        truth = X[hidden]
        error = np.sqrt(np.mean((post.imputed.mean(axis=0) - truth) ** 2))
        by_column = np.sqrt(np.mean((np.broadcast_to(np.nanmean(seen, axis=0), X.shape)[hidden] - truth) ** 2))
        shares = [covered(post.imputed, truth, level).mean() for level in (0.9, 0.5)]
        found.append([*shares, error, by_column])
    return np.array(found)


def test_intervals_of_missing_entries_hold_the_truth():
    found = imputation_coverage(16, np.random.default_rng(0))
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found))
    assert abs(mean[0] - 0.9) < 4.5 * error[0] + 0.01  # quantiles of 100 draws fall short by about 0.01
    assert abs(mean[1] - 0.5) < 4.5 * error[1] + 0.01
    assert error[0] < 0.04
    # Negative control: the 50 % interval does not pass for a 90 % one.
    assert abs(mean[1] - 0.9) > 4.5 * error[1] + 0.01
    # And it is worth the trouble: far closer than a column's mean.
    assert np.median(found[:, 2] / found[:, 3]) < 0.6


def test_a_tenth_missing_hardly_changes_the_tree():
    rng = np.random.default_rng(1)
    _, tree, X = draw_problem(30, 40, rng)
    seen = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    options = {"n_samples": 150, "n_warmup": 50, "random_state": 2}
    pair = np.triu_indices(30, 1)
    whole, part = (quiet_fit(data, **options).cophenetic(log=True)[pair] for data in (X, seen))
    truth = np.log(tree.cophenetic()[pair])
    assert np.corrcoef(whole, part)[0, 1] > 0.99
    assert np.mean(np.abs(whole - part)) < 0.5 * np.mean(np.abs(whole - truth)) + 0.05
    shuffled = np.random.default_rng(3).permutation(part)
    assert np.corrcoef(whole, shuffled)[0, 1] < 0.5


def parameter_coverage(n_data_sets, rng, n=64, d=64):
    hits = []
    for _ in range(n_data_sets):
        theta, _, X = draw_problem(n, d, rng)
        post = quiet_fit(X, n_samples=200, n_warmup=40, n_chains=1, random_state=rng)
        hits.append([covered(post.theta[name], theta[name]) for name in PRIORS])
    return np.sum(hits, axis=0)


@pytest.mark.slow
def test_intervals_of_parameters_hold_the_truth():
    hits = parameter_coverage(100, np.random.default_rng(6))
    assert np.all((hits >= 82) & (hits <= 96)), dict(zip(PRIORS, hits, strict=True))


@pytest.mark.slow
def test_intervals_of_missing_entries_hold_the_truth_to_two_percent():
    found = imputation_coverage(200, np.random.default_rng(5))
    error = found.std(axis=0, ddof=1) / math.sqrt(len(found))
    assert error[0] < 0.008
    assert abs(found[:, 0].mean() - 0.9) < 4.5 * error[0] + 0.01
    assert abs(found[:, 1].mean() - 0.5) < 4.5 * error[1] + 0.01
