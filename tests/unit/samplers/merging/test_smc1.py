"""SMC1: every pair draws its merge time once; its evidence against quadrature."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.samplers.merging.smc1 import _Race
from tests.reference.evidence import exact_posterior
from tests.sampler_cases import problem_of


@pytest.mark.parametrize(("n", "d", "noise"), [(3, 1, 0.0), (4, 2, 0.3)])
def test_smc1_evidence_equals_quadrature(n, d, noise):
    problem = problem_of(n, d, 10 * n + d, noise)
    exact = exact_posterior(problem.W, leaf_var=noise)
    runs = [ct.SMC1(300).run(problem, np.random.default_rng(seed), n_threads=1) for seed in range(25)]
    ratios = np.exp([draws.log_evidence - exact.log_evidence for draws in runs])
    assert abs(ratios.mean() - 1.0) < 4.5 * ratios.std() / math.sqrt(24) + 1e-6


def test_smc1_copies_of_a_particle_go_on_apart():
    problem = problem_of(12, 3)
    race = _Race(problem, make_streams(np.random.default_rng(0), 4))
    for step in range(11):
        race.grow(0, 4, step)
        if step == 5:
            race.resample(np.zeros(4, np.int64), step)
    children, times, log_joint = race.result()
    assert all(np.array_equal(times[p, :6], times[0, :6]) for p in range(4))
    assert len(np.unique(times[:, -1])) == 4
    for p in range(4):
        tree = ct.Tree(children[p], times[p])
        assert log_joint[p] == pytest.approx(tree.log_prior() + tree.log_likelihood(problem.W, np.eye(3)), rel=1e-9)
