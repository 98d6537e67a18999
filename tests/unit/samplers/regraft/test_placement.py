"""The mass of all branches against tracing each and a grid of scales; where rows join against leaving leaves out."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.model.process.whitened import Problem
from coaltree.samplers.regraft.candidates import Quadrature, log_total, weigh
from coaltree.samplers.regraft.leave_one_out import log_density_of_leaves
from coaltree.samplers.regraft.placement import Located, integrate, locate, log_scale_weight
from coaltree.samplers.regraft.working_tree import empty_working_tree, load, prune, unload
from tests.pruned_trees import make_case

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


CLOSE = Quadrature(spacing=0.1, negligible=16.0)


def leaf_case(seed, d, noise):
    """A case in which a leaf is off a tree of 30."""
    return next(case for case in (make_case(seed + 100 * i, d, noise, n=30) for i in range(50)) if case.c < 30)


def integrated(case, half_df):
    """Log Z and the masses of the branches."""
    located = Located(np.empty(1), np.full((1, 59), -np.inf), np.empty(1, np.int64), np.empty(1))
    state = make_streams(np.random.default_rng(0), 1)[0]
    integrate(case.cand, case.target, half_df, CLOSE, located, 0, state)
    assert located.log_mass[0, located.node[0]] > -np.inf and located.time[0] > 0.0
    return located.log_density[0], located.log_mass[0]


@pytest.mark.parametrize("d", [1, 4, 100])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_integrate_finds_the_mass_of_every_branch_that_matters(d, noise):
    for seed in range(5):
        case = leaf_case(seed, d, noise)
        log_density, log_mass = integrated(case, 0.0)
        every = log_total(case.cand, weigh(case.cand, case.target, Quadrature(spacing=0.05, negligible=np.inf)))
        assert log_density == pytest.approx(every, abs=0.003)
        assert np.logaddexp.reduce(log_mass) == pytest.approx(every, abs=0.003)


@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("half_df", [0.5, 2.0, 30.0])
def test_integrate_sums_over_scales(d, half_df):
    for seed in range(3):
        case = leaf_case(seed, d, 0.2)
        log_density, log_mass = integrated(case, half_df)
        ys = np.linspace(-8.0, 14.0, 441)
        levels = []
        for y in ys:
            target = case.target._replace(var_less_time=0.2 * math.exp(y))
            levels.append(log_total(case.cand, weigh(case.cand, target, CLOSE)) + log_scale_weight(y, half_df))
        expected = np.logaddexp.reduce(levels) + math.log(ys[1] - ys[0])
        assert log_density == pytest.approx(expected, abs=0.01)
        assert np.logaddexp.reduce(log_mass) == pytest.approx(expected, abs=0.01)
