"""Prior: trees proposed by the coalescent; its evidence against quadrature."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.process.coalescent import standardized_gaps
from coaltree.model.process.whitened import Problem
from tests.reference.evidence import exact_posterior
from tests.sampler_cases import problem_of


@pytest.mark.parametrize(("n", "d", "noise"), [(3, 1, 0.0), (4, 2, 0.3)])
def test_prior_evidence_equals_quadrature(n, d, noise):
    problem = problem_of(n, d, 10 * n + d, noise)
    exact = exact_posterior(problem.W, leaf_var=noise)
    runs = [ct.Prior(300).run(problem, np.random.default_rng(seed), n_threads=1) for seed in range(25)]
    ratios = np.exp([draws.log_evidence - exact.log_evidence for draws in runs])
    assert abs(ratios.mean() - 1.0) < 4.5 * ratios.std() / math.sqrt(24) + 1e-6


def test_prior_draws_from_the_coalescent_where_there_are_no_columns():
    draws = ct.Prior(2000).run(Problem(np.zeros((5, 0)), 0, 0.0, 1.0), np.random.default_rng(0))
    np.testing.assert_allclose(draws.log_weights, 0.0, atol=1e-12)
    gaps = standardized_gaps(draws.times)
    assert np.all(np.abs(gaps.mean(axis=0) - 1.0) < 4.5 / math.sqrt(2000))
