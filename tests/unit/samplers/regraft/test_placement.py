"""Where new rows join a tree: against leaving leaves out, and against the masses they are drawn from."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.model.process.whitened import Problem
from coaltree.samplers.regraft.leave_one_out import log_density_of_leaves
from coaltree.samplers.regraft.placement import locate, log_sum
from coaltree.samplers.regraft.working_tree import empty_working_tree, load, prune, unload

N, D = 12, 3


def tree_and_rows(seed=0):
    X, tree = ct.simulate(N, D, random_state=seed)
    return tree, np.ascontiguousarray(X)


def streams(n, seed=0):
    return make_streams(np.random.default_rng(seed), n)


@pytest.mark.parametrize("half_df", [0.0, 2.0])
def test_locate_gives_the_density_of_a_leaf_that_was_left_out(half_df):
    tree, X = tree_and_rows()
    X[N - 1] += 2.0
    found = log_density_of_leaves(tree.children, tree.times, Problem(X, D, 0.4, 0.1), [N - 1], np.array([0.1]), half_df)
    working = empty_working_tree(N, D)
    load(working, tree.children, tree.times, X, np.full(N, 0.1))
    prune(working, N - 1)
    children, times = np.empty((N - 2, 2), np.int64), np.empty(N - 2)
    unload(working, children, times)  # numbers inner nodes from N - 1 on: leaf N - 1 is gone
    problem = Problem(X[: N - 1], D, 0.4, 0.1)
    located = locate(children, times, problem, X[N - 1 :], streams(1), 0.1, half_df)
    assert located.log_density[0] == pytest.approx(found[0], abs=0.02)
    assert np.logaddexp.reduce(located.log_mass[0]) == pytest.approx(located.log_density[0])


def test_locate_draws_branches_by_their_mass():
    tree, X = tree_and_rows()
    n_draws = 4000
    rows = np.repeat((X[:1] + X[1:2]) / 2, n_draws, axis=0)
    located = locate(tree.children, tree.times, Problem(X, D, 0.0, 0.1), rows, streams(n_draws), 0.1)
    share = np.exp(located.log_mass[0] - located.log_density[0])
    counts = np.bincount(located.node, minlength=2 * N - 1)
    assert np.all(np.abs(counts - n_draws * share) < 4.5 * np.sqrt(n_draws * share * (1.0 - share)) + 1.0)
    lower = np.r_[np.zeros(N), tree.times]
    assert np.all(located.time > lower[located.node])


def test_locate_puts_a_row_that_equals_a_leaf_beside_it():
    tree, X = tree_and_rows()
    located = locate(tree.children, tree.times, Problem(X, D), X[4:6], streams(2))
    np.testing.assert_array_equal(located.node, [4, 5])
    assert np.all(located.log_density == math.inf) and np.all(located.time == 0.0)
    assert locate(tree.children, tree.times, Problem(X, D), X[:0], streams(0)).log_mass.shape == (0, 2 * N - 1)


def test_log_sum_of_logs():
    assert log_sum(-1000.0, -1001.0) == pytest.approx(np.logaddexp(-1000.0, -1001.0))
    assert log_sum(-math.inf, -math.inf) == -math.inf and log_sum(-math.inf, 2.0) == 2.0
