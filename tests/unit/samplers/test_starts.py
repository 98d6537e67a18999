"""First trees of a chain: what every start gives, and what is refused."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.whitened import Problem
from coaltree.samplers.regraft.regraft import Regraft
from coaltree.samplers.starts import average_linkage, first_tree, strictly_increasing
from tests.sampler_cases import problem_of


@pytest.mark.parametrize("start", ["auto", "average", "insertion", "greedy", "prior", "a tree", "its merges"])
def test_first_tree_is_one_that_a_chain_can_start_from(start):
    problem = problem_of(30, 3)
    tree = simulate_tree(30, np.random.default_rng(5))
    start = {"a tree": tree, "its merges": (tree.children, tree.times)}.get(start, start)
    children, times = first_tree(problem, start, np.random.default_rng(1))
    assert np.all(np.diff(times) > 0)
    ct.Tree(children, times)
    draws = Regraft("local", start=start).run(problem, np.random.default_rng(0), n_samples=1, n_warmup=10)
    assert draws.log_joint[0] > -200.0


def test_strictly_increasing_separates_ties_and_lifts_zeros():
    times = strictly_increasing([0.0, 0.0, 1e-6, 1e-6, 0.5, 0.5, 2.0])
    assert times[0] > 0.0
    assert np.all(np.diff(times) > 0.0)
    np.testing.assert_allclose(times[2:], [1e-6, 1e-6, 0.5, 0.5, 2.0], rtol=1e-7)
    assert np.all(np.diff(strictly_increasing(np.zeros(5))) > 0)


def test_average_linkage_dates_merges_by_squared_height():
    children, times = average_linkage(Problem(np.array([[0.0, 0.0], [2.0, 0.0], [9.0, 0.0]]), 2))
    np.testing.assert_array_equal(children, [[0, 1], [2, 3]])
    np.testing.assert_allclose(times, [4.0 / 4.0, 64.0 / 4.0])
