"""Bounds lose nothing: the fast choice of pairs equals the exhaustive one, draw for draw on the same numbers."""

import numpy as np
import pytest

from coaltree._runtime.random_streams import make_streams
from coaltree.numerics.full_integral import full_integral_table
from coaltree.numerics.gig import log_normaliser
from coaltree.samplers.merging import mpost, pair_weights
from coaltree.samplers.merging.pair_weights import CUT, FULL
from coaltree.samplers.merging.particles import MergingPopulation, Model
from tests.sampler_cases import DATA, grow, problem_of_data

SETTINGS = {  # rule, whether the rate is dropped, whether the factor is the sum alone
    "mpost1": lambda prune: (FULL, False, False, prune),
    "mpost2": lambda prune: (FULL, True, False, prune),
    "post_post": lambda prune: (CUT, False, True, prune),
}


def grow_all(problem, settings, n_particles=3, n_near=None):
    streams = make_streams(np.random.default_rng(11), n_particles)
    population = MergingPopulation(problem, streams, mpost.grow, *settings, n_near=n_near)
    factors = []
    for step in range(problem.n - 1):
        grow(population, step)
        factors.append(population.log_factor.copy())
    return *population.result(), np.array(factors)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("sampler", SETTINGS)
def test_weigh_rows_and_draw_pair_lose_nothing_by_pruning(sampler, name, noise):
    settings = SETTINGS[sampler]
    problem = problem_of_data(name, noise)
    fast = grow_all(problem, settings(True), n_near=2)  # few nearest entries run out, so that every branch is taken
    slow = grow_all(problem, settings(False))
    np.testing.assert_array_equal(fast[0], slow[0])  # the same pairs
    np.testing.assert_array_equal(fast[1], slow[1])  # at the same times
    np.testing.assert_allclose(fast[3], slow[3], rtol=1e-12, atol=1e-10)  # with the same weights


@pytest.mark.parametrize("d", [1, 2, 3, 4, 9, 32, 1000])
def test_slopes_bound_the_fall_of_the_integral(d):
    rng = np.random.default_rng(d)
    for _ in range(200):
        eps, lam = np.exp(rng.uniform(-12, 12, size=2))
        step = 1e-4
        left, right = (log_normaliser(1 - d / 2, eps * np.exp(shift), lam, 0.0) for shift in (-step, step))
        slope = (left - right) / (2 * step)
        z = np.sqrt(lam * eps)
        assert pair_weights._least_slope(z, d) <= slope * (1 + 1e-5) + 1e-7
        assert pair_weights._greatest_slope(z, d) >= slope * (1 - 1e-5) - 1e-7


@pytest.mark.parametrize("d", [1, 2, 9, 256])
def test_reach_leaves_out_nothing_that_matters(d):
    rng = np.random.default_rng(d)
    model = Model(2, d, 0.0, 0.0, full_integral_table(d))
    for _ in range(200):
        eps, lam = np.exp(rng.uniform(-8, 8, size=2))
        value = pair_weights.scaled_integral(eps, lam, model)
        reach, _ = pair_weights._reach(eps, value, value - 40.0, lam, model)
        assert pair_weights.scaled_integral(np.exp(reach), lam, model) <= value - 40.0 + 1e-9 * abs(value)
        assert pair_weights.scaled_integral(np.exp(reach) / 1.5, lam, model) > value - 40.0 - d  # nor needlessly far


@pytest.mark.parametrize("d", [1, 2, 9, 256])
def test_scaled_integral_is_the_full_one(d):
    model = Model(2, d, 0.0, 0.0, full_integral_table(d))
    for eps, lam in ((1e-8, 3.0), (0.7, 45.0), (1e5, 1.0), (1e299, 100.0)):
        expected = log_normaliser(1 - d / 2, eps, lam, 0.0) + (1 - d / 2) * np.log(lam)
        assert pair_weights.scaled_integral(eps, lam, model) == pytest.approx(expected, rel=1e-12, abs=1e-12)
