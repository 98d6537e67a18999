"""MPost1, MPost2 and PostPost: evidence against quadrature, exact and printed weights."""

import math

import numpy as np
import pytest

import coaltree as ct
from tests.reference.evidence import exact_posterior
from tests.sampler_cases import problem_of


def ratios(sampler, problem, exact, n_runs=25):
    runs = [sampler.run(problem, np.random.default_rng(seed), n_threads=1) for seed in range(n_runs)]
    return np.exp([draws.log_evidence - exact.log_evidence for draws in runs])


@pytest.mark.parametrize("sampler", [ct.MPost1(60), ct.MPost2(60), ct.PostPost(60)], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(("n", "d", "noise"), [(3, 1, 0.0), (4, 2, 0.3)])
def test_mpost_evidence_equals_quadrature(sampler, n, d, noise):
    problem = problem_of(n, d, 10 * n + d, noise, log_det=0.7)
    found = ratios(sampler, problem, exact_posterior(problem.W, leaf_var=noise, log_det=0.7))
    assert abs(found.mean() - 1.0) < 4.5 * found.std() / math.sqrt(24) + 1e-6


def test_mpost_printed_weights_are_not_exact():
    problem = problem_of(4, 2, 42)
    found = ratios(ct.MPost1(60, weights="printed"), problem, exact_posterior(problem.W))
    assert abs(found.mean() - 1.0) > 8 * found.std() / math.sqrt(24)
