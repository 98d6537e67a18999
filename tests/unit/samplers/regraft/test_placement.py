"""The mass of all branches against tracing each and a grid of scales; where rows join against leaving leaves out."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.model.process.student_scales import student_table
from coaltree.model.process.whitened import Problem
from coaltree.samplers.regraft.candidates import log_total, weigh
from coaltree.samplers.regraft.leave_one_out import log_density_of_leaves
from coaltree.samplers.regraft.placement import CLOSE, Places
from coaltree.samplers.regraft.working_tree import empty_working_tree, load, prune, unload
from tests.pruned_trees import make_case
from tests.reference import placement

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
    located = Places.of(children, times, problem, half_df).locate(X[N - 1 :], streams(1), 0.1)
    assert located.log_density[0] == pytest.approx(found[0], abs=0.02)
    assert located.share.sum() == pytest.approx(1.0)


def test_locate_draws_branches_by_their_mass():
    tree, X = tree_and_rows()
    n_draws = 4000
    rows = np.repeat((X[:1] + X[1:2]) / 2, n_draws, axis=0)
    located = Places.of(tree.children, tree.times, Problem(X, D, 0.0, 0.1)).locate(rows, streams(n_draws), 0.1)
    share = located.share[0]
    counts = np.bincount(located.node, minlength=2 * N - 1)
    assert np.all(np.abs(counts - n_draws * share) < 4.5 * np.sqrt(n_draws * share * (1.0 - share)) + 1.0)
    lower = np.r_[np.zeros(N), tree.times]
    assert np.all(located.time > lower[located.node])


def test_locate_puts_a_row_that_equals_a_leaf_beside_it():
    tree, X = tree_and_rows()
    places = Places.of(tree.children, tree.times, Problem(X, D))
    located = places.locate(X[4:6], streams(2))
    np.testing.assert_array_equal(located.node, [4, 5])
    assert np.all(located.log_density == math.inf) and np.all(located.time == 0.0)
    assert places.locate(X[:0], streams(0)).share.shape == (0, 2 * N - 1)


@pytest.mark.parametrize("d", [1, 4, 100])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_weigh_finds_the_mass_of_every_branch_that_matters(d, noise):
    for seed in range(5):
        case = leaf_case(seed, d, noise)
        log_mass = log_total(case.cand, weigh(case.cand, case.target, CLOSE))
        assert log_mass == pytest.approx(placement.log_mass(case.cand, case.target), abs=0.01)


@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("half_df", [0.5, 2.0, 30.0])
def test_weigh_integrates_scales_out(d, half_df):
    for seed in range(3):
        case = leaf_case(seed, d, 0.2)

        def log_mass_at(scale, case=case):
            return placement.log_mass(case.cand, case.target._replace(var_less_time=0.2 * scale))

        student = case.target._replace(var_less_time=0.0, unit=0.2, student=student_table(0.5 * d, half_df))
        log_mass = log_total(case.cand, weigh(case.cand, student, CLOSE))
        assert log_mass == pytest.approx(placement.log_mass_over_scales(log_mass_at, half_df), abs=0.01)
        # negative control: with normal noise the mass is another
        assert half_df == 30.0 or abs(log_mass - log_mass_at(1.0)) > 0.01


def leaf_case(seed, d, noise):
    """A case in which a leaf is off a tree of 30."""
    return next(case for case in (make_case(seed + 100 * i, d, noise, n=30) for i in range(50)) if case.c < 30)
