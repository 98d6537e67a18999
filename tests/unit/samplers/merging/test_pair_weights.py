"""Bounds lose nothing: the fast choice of pairs equals the exhaustive one, draw for draw on the same numbers."""

import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.model.covariance import as_covariance
from coaltree.model.process.whitened import make_problem
from coaltree.numerics.special import full_integral_table, log_full_integral
from coaltree.samplers.merging import greedy, mpost, pair_weights
from coaltree.samplers.merging.pair_weights import CUT, FULL
from coaltree.samplers.merging.particles import Model
from coaltree.samplers.merging.population import MergingPopulation, make_context, trees_of

DATA = {
    "model d=1": lambda: ct.simulate(40, 1, random_state=1)[0],
    "model d=2": lambda: ct.simulate(40, 2, random_state=2)[0],
    "model d=32": lambda: ct.simulate(90, 32, random_state=3)[0],
    "model d=300": lambda: ct.simulate(70, 300, random_state=4)[0],
    "blobs": lambda: np.random.default_rng(5).standard_normal((80, 6)) + 8 * np.repeat(np.eye(6)[:4], 20, axis=0),
    "grid": lambda: np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0)), axis=-1).reshape(-1, 2),  # many ties
    "tiny": lambda: 1e-150 * ct.simulate(30, 5, random_state=6)[0],
    "huge": lambda: 1e150 * ct.simulate(30, 5, random_state=7)[0],
}
SETTINGS = {  # rule, whether the rate is dropped, whether the factor is the sum alone
    "mpost1": lambda prune: (FULL, False, False, prune),
    "mpost2": lambda prune: (FULL, True, False, prune),
    "post_post": lambda prune: (CUT, False, True, prune),
}


def problem_of(name, noise=0.0):
    X = DATA[name]()
    return make_problem(X, as_covariance(np.eye(X.shape[1])), noise)


def grow(problem, settings, n_particles=3, n_near=None):
    streams = make_streams(np.random.default_rng(11), n_particles)
    population = MergingPopulation(problem, streams, mpost.grow, *settings, n_near=n_near)
    factors = []
    for step in range(problem.n - 1):
        population.begin(step)
        population.grow(0, n_particles, step)
        population.end(step)
        factors.append(population.log_factor.copy())
    return *population.result(), np.array(factors)


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("sampler", SETTINGS)
def test_pruned_choice_equals_exhaustive_choice(sampler, name, noise):
    settings = SETTINGS[sampler]
    problem = problem_of(name, noise)
    fast = grow(problem, settings(True), n_near=2)  # short lists run out, so that every branch is taken
    slow = grow(problem, settings(False))
    np.testing.assert_array_equal(fast[0], slow[0])  # the same pairs
    np.testing.assert_array_equal(fast[1], slow[1])  # at the same times
    np.testing.assert_allclose(fast[3], slow[3], rtol=1e-12, atol=1e-10)  # with the same weights


@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("rule", [greedy.LOG_MODE, greedy.TEH_MODE, greedy.PRINTED_TEH_MODE])
def test_greedy_tree_equals_that_of_a_plain_search(rule, name, noise):
    problem = problem_of(name, noise)
    trees = []
    for prune, n_near in ((True, 2), (True, 8), (False, 8)):
        context = make_context(problem, np.zeros((1, 4), np.uint64), n_near, with_density=False)
        greedy._grow(context, 0, problem.n - 1, rule, prune)
        trees.append(trees_of(context))
    for children, times, log_joint in trees[:2]:
        if name != "grid":  # ties may be broken either way
            np.testing.assert_array_equal(children, trees[2][0])
        np.testing.assert_allclose(times, trees[2][1], rtol=1e-12)
        assert np.isfinite(log_joint).all()


@pytest.mark.parametrize("d", [1, 2, 3, 4, 9, 32, 1000])
def test_slopes_bound_the_fall_of_the_integral(d):
    rng = np.random.default_rng(d)
    for _ in range(200):
        eps, lam = np.exp(rng.uniform(-12, 12, size=2))
        step = 1e-4
        slope = (log_full_integral(eps * np.exp(-step), lam, d) - log_full_integral(eps * np.exp(step), lam, d)) / (
            2 * step
        )
        z = np.sqrt(lam * eps)
        assert pair_weights._least_slope(z, d) <= slope * (1 + 1e-5) + 1e-7
        assert pair_weights._greatest_slope(z, d) >= slope * (1 - 1e-5) - 1e-7


@pytest.mark.parametrize("d", [1, 2, 9, 256])
def test_nothing_beyond_the_reach_matters(d):
    rng = np.random.default_rng(d)
    model = Model(2, d, 0.0, 0.0, full_integral_table(d))
    for _ in range(200):
        eps, lam = np.exp(rng.uniform(-8, 8, size=2))
        value = pair_weights.scaled_integral(eps, lam, model)
        reach, _ = pair_weights._reach(eps, value, value - 40.0, lam, model)
        assert pair_weights.scaled_integral(np.exp(reach), lam, model) <= value - 40.0 + 1e-9 * abs(value)
        assert pair_weights.scaled_integral(np.exp(reach) / 1.5, lam, model) > value - 40.0 - d  # nor needlessly far


@pytest.mark.parametrize("d", [1, 2, 9, 256])
def test_the_scaled_integral_is_the_full_one(d):
    model = Model(2, d, 0.0, 0.0, full_integral_table(d))
    for eps, lam in ((1e-8, 3.0), (0.7, 45.0), (1e5, 1.0), (1e299, 100.0)):
        expected = log_full_integral(eps, lam, d) + (1 - d / 2) * np.log(lam)
        assert pair_weights.scaled_integral(eps, lam, model) == pytest.approx(expected, rel=1e-12, abs=1e-12)
