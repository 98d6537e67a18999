"""The density of each leaf given all others: against brute force, with tails, with near leaves."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.process.whitened import Problem
from coaltree.samplers.regraft.leave_one_out import log_density_of_leaves
from coaltree.samplers.regraft.nearest import neighbor_graphs
from tests.reference import leave_one_out as reference


def simulated(n, d, seed=0):
    X, tree = ct.simulate(n, d, ct.Spherical(amplitude=1.0), random_state=seed)
    return np.asarray(X), tree


@pytest.mark.parametrize("variances", [[0.0] * 5, [0.3, 0.1, 0.2, 0.4, 0.05]])
def test_log_density_of_leaves_equals_brute_force(variances):
    X, tree = simulated(5, 3)
    problem = Problem(X, 3, 0.0, np.array(variances))
    found = log_density_of_leaves(tree.children, tree.times, problem, np.arange(5), np.array(variances))
    brute = [reference.log_density_of_leaf(tree.children, tree.times, X.tolist(), i, variances) for i in range(5)]
    np.testing.assert_allclose(found, brute, atol=0.01)


def test_log_density_of_leaves_integrates_scales_out_for_outliers_too():
    X, tree = simulated(3, 8)
    X[2] += 3.0
    unit = [0.02, 0.02, 0.03]
    problem = Problem(X, 8, 0.0, np.array(unit))
    found = log_density_of_leaves(tree.children, tree.times, problem, np.arange(3), np.array(unit), half_df=2.0)
    for i in (0, 2):
        brute = reference.log_density_with_tails(tree.children, tree.times, X.tolist(), i, unit, 4.0)
        assert found[i] == pytest.approx(brute, abs=0.03)


def test_log_density_of_leaves_from_near_leaves_has_most_of_the_mass_and_never_more():
    X, tree = simulated(200, 10)
    problem = Problem(X, 10, 0.0, np.full(200, 0.05))
    leaves, unit = np.arange(200), np.full(200, 0.05)
    every = log_density_of_leaves(tree.children, tree.times, problem, leaves, unit)
    graphs = neighbor_graphs(X, 16, np.random.default_rng(0))
    near = log_density_of_leaves(tree.children, tree.times, problem, leaves, unit, neighbors=graphs)
    assert np.all(near < every + 0.01)
    assert np.mean(every - near) < 0.05


def test_log_density_of_leaves_from_random_leaves_is_unbiased():
    """The expected density is that of all branches: 0.5 nats are missed in 3 columns without random leaves."""
    X, tree = simulated(300, 3)
    problem = Problem(X, 3, 0.0, np.full(300, 0.2))
    leaves, unit = np.arange(0, 300, 10), np.full(30, 0.2)
    every = log_density_of_leaves(tree.children, tree.times, problem, leaves, unit)
    graphs = neighbor_graphs(X, 4, np.random.default_rng(0))
    near = log_density_of_leaves(tree.children, tree.times, problem, leaves, unit, neighbors=graphs)
    rng, shares = np.random.default_rng(1), []
    for _ in range(40):
        random_leaves = rng.integers(300, size=(30, 32))
        found = log_density_of_leaves(
            tree.children, tree.times, problem, leaves, unit, neighbors=graphs, random_leaves=random_leaves
        )
        shares.append(np.exp(found - every))
    error = np.std(np.mean(shares, axis=1)) / np.sqrt(40)
    assert abs(np.mean(shares) - 1.0) < 5 * error + 0.003
    assert 5 * error < 0.05 < 1.0 - np.exp(near - every).mean()


def test_log_density_of_leaves_does_not_depend_on_their_order():
    X, tree = simulated(12, 2)
    problem = Problem(X, 2, 0.0, np.full(12, 0.1))
    every = log_density_of_leaves(tree.children, tree.times, problem, np.arange(12), np.full(12, 0.1))
    last = log_density_of_leaves(tree.children, tree.times, problem, np.array([11]), np.array([0.1]))
    assert every[11] == pytest.approx(last[0], abs=1e-9)
