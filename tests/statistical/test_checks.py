"""Checks of the model on posteriors that were fitted: what is wrong is found, and a true model is not blamed."""

import math
import warnings

import numpy as np
import pytest

from benchmarks.violations import TRUE, WRONG
from coaltree import fit


def checked(case, seed, n, d, n_rounds=40, fitted=None):
    """The checks of one table, fitted as its case says or as another says."""
    covariance, noise = (case.covariance, case.noise) if fitted is None else fitted
    X = case.make(n, d, np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        post = fit(
            X, covariance, noise=noise, n_samples=n_rounds, n_warmup=30, n_chains=1, random_state=seed, progress=False
        )
    return post.check()


@pytest.mark.parametrize("name", ["correlation 0.5, scaled", "two skewed columns"])
def test_check_finds_what_is_wrong(name):
    case = WRONG[name]
    found = checked(case, 0, 100, 5, 30)
    assert {one.name for one in found.wrong} & set(case.found)


def test_check_passes_a_model_with_the_correlation_that_was_missing():
    """The negative control of the above: the same table, fitted with a full covariance."""
    assert not checked(WRONG["correlation 0.5, scaled"], 0, 100, 5, 30, ("full", "learn")).wrong


@pytest.mark.slow
def test_check_blames_true_models_in_at_most_a_twentieth_of_tables():
    blamed, of_one = [], []
    for seed in range(20):
        for case in TRUE.values():
            found = checked(case, seed, 60, 4)
            blamed.append(bool(found.wrong))
            of_one.append(np.mean([one.p_value < 0.05 for one in found]))
    assert np.mean(blamed) < 0.05 + 3.0 * math.sqrt(0.05 * 0.95 / len(blamed))
    assert np.mean(of_one) < 0.05 + 3.0 * np.std(of_one, ddof=1) / math.sqrt(len(of_one))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WRONG if name != "Student steps (2 df), all columns alike"])
def test_check_finds_what_is_wrong_most_of_the_time(name):
    case = WRONG[name]
    found = [{one.name for one in checked(case, seed, 150, 6).wrong} & set(case.found) for seed in range(6)]
    assert sum(map(bool, found)) >= 4
