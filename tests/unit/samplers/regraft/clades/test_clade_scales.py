"""A clade regrafted with the scales of its leaves: by quadrature, and by the joint law that it keeps."""

import math

import numpy as np
import pytest

from coaltree._runtime.random_streams import make_streams
from coaltree._runtime.threads import single_threaded_blas
from coaltree.model.covariance import Spherical
from coaltree.model.process.coalescent import log_prior, simulate_tree
from coaltree.model.process.diffusion import log_likelihood, simulate_data
from coaltree.model.process.whitened import make_problem
from coaltree.samplers import Regraft
from coaltree.samplers.base import Tails
from coaltree.samplers.regraft.clades.clade_scales import (
    Knots,
    draw_from,
    leaves_under,
    level_at,
    move_clade,
    move_one_clade,
    renew_clade,
)
from coaltree.samplers.regraft.outlier_scales import cells_of
from coaltree.samplers.regraft.working_tree import load, sibling_of, unload
from coaltree.tree import Tree, unchecked_tree
from tests.reference import clade_scales as reference
from tests.reference.regraft import from_arrays

HALF_DF, LEVEL, D = 2.5, 0.3, 2


def engine_of(X, scale, children, times, half_df=HALF_DF):
    """An engine whose tree is loaded, the cells of its scales, and the numbers of its nodes."""
    n = len(X)
    problem = make_problem(X, Spherical(), LEVEL * scale)
    engine = Regraft(candidates="all")._engine(problem, np.ascontiguousarray(X), np.empty((0, n, 0)))
    number = load(engine.tree, np.array(children, np.int64), np.array(times), engine.W, engine.leaf_var)
    return engine, cells_of(Tails(scale, half_df, np.full(n, LEVEL))), number


def draw_scales(rng, n):
    return HALF_DF / rng.standard_gamma(HALF_DF, size=n)


# --- the density of scale and place, by quadrature


def shares_of_branches(engine, cells, top, leaves, n_moves, state):
    """How often the clade is at each branch, named by the leaves below it, and the draws of y."""
    counts, ys, n_moved = {}, np.empty(n_moves), 0
    for i in range(n_moves):
        n_moved += move_clade(engine, top, leaves, cells, state)
        ys[i] = np.log(cells.leaves["scale"][leaves]).mean()
        sibling = int(sibling_of(engine.tree, top))
        beside = frozenset(leaves_under(engine.tree, sibling, 8).tolist())
        counts[beside] = counts.get(beside, 0) + 1
    return {beside: count / n_moves for beside, count in counts.items()}, ys, n_moved / n_moves


def leaves_of(tree, node):
    return frozenset().union(*(leaves_of(tree, c) for c in tree[node][:2])) if node in tree else frozenset([node])


@pytest.mark.parametrize("moved", [[0], [0, 1]])
def test_move_clade_draws_scale_and_place_by_their_density(moved):
    """Leaves 0 and 1 are a clade; the places of it and the mean logarithm of `moved` are as by quadrature."""
    X = np.array([[1.5, 0.0], [1.9, 0.6], [0.2, -0.3], [-0.4, 0.5]])
    children, times = np.array([[0, 1], [2, 3], [4, 5]]), np.array([0.2, 0.45, 0.9])
    scale = np.array([0.7, 3.0, 1.0, 1.0])
    engine, cells, number = engine_of(X, scale, children, times)
    top, leaves = int(number[4]), np.array(moved)
    state = make_streams(np.random.default_rng(0), 1)[0]
    found, ys, moved_share = shares_of_branches(engine, cells, top, leaves, 20_000, state)
    tree, unit = from_arrays(children, times), [LEVEL] * 4
    grid = np.linspace(math.log(cells.bounds[0]), math.log(cells.bounds[-1]), 49)
    expected = reference.masses(tree, 4, X.tolist(), unit, scale.tolist(), moved, HALF_DF, grid, n_times=24)
    total = np.sum([mass.sum() for mass in expected.values()])
    assert moved_share > 0.7
    for x, mass in expected.items():
        assert found.get(leaves_of(tree, x), 0.0) == pytest.approx(mass.sum() / total, abs=0.015)
    over_y = np.sum(list(expected.values()), axis=0) / total
    assert ys.mean() == pytest.approx(over_y @ grid, abs=0.04)
    assert ys.std() == pytest.approx(math.sqrt(over_y @ grid**2 - (over_y @ grid) ** 2), abs=0.04)


# --- the joint law of tree, scales and data


def numbers(children, times, X, scale):
    """Numbers of finite variance, blind to where the root lies."""
    logs = np.log(scale)
    for k, pair in enumerate(children):
        if 0 in pair:
            joins = math.log(times[k])
    likelihood = log_likelihood(children, times, X, leaf_var=LEVEL * scale)
    of_tree = [likelihood, float(log_prior(times)), *np.log(times[[1, -2, -1]]), joins]
    return np.array([*of_tree, logs.mean(), logs[0], logs[0] ** 2, 1.0 / scale[0], logs[0] * math.log(times[-1])])


def largest_z(n_cases, half_df, seed, n=7, n_moves=6):
    """Trees, scales and data of the model stay so when clades are moved: no number changes, on average."""
    rng = np.random.default_rng(seed)
    changes = []
    with single_threaded_blas():
        for _ in range(n_cases):
            tree, scale = simulate_tree(n, rng), draw_scales(rng, n)
            X = simulate_data(tree, D, rng, leaf_var=LEVEL * scale)
            before = numbers(tree.children, tree.times, X, scale)
            engine, cells, _ = engine_of(X, scale, tree.children, tree.times, half_df)
            state = make_streams(rng, 1)[0]
            for _ in range(n_moves):
                move_one_clade(engine, np.arange(n), cells, state)
            children, times = np.array(tree.children, np.int64), np.array(tree.times)
            unload(engine.tree, children, times)
            after = numbers(children, times, X, cells.leaves["scale"])
            changes.append(after - before)
    changes = np.array(changes)
    return float(np.max(np.abs(changes.mean(axis=0)) / changes.std(axis=0, ddof=1)) * math.sqrt(n_cases))


def test_move_one_clade_keeps_the_joint_law():
    assert largest_z(600, HALF_DF, seed=1) < 4.0


def test_move_one_clade_with_another_prior_is_found_out():
    assert largest_z(600, 2.0 * HALF_DF, seed=1) > 6.0


@pytest.mark.slow
def test_move_one_clade_keeps_the_joint_law_at_length():
    assert max(largest_z(20_000, HALF_DF, seed) for seed in (2, 3)) < 4.0


# --- its parts


def test_move_one_clade_leaves_a_tree_whose_messages_are_right():
    rng = np.random.default_rng(3)
    tree, scale = simulate_tree(30, rng), draw_scales(rng, 30)
    X = simulate_data(tree, 3, rng, leaf_var=LEVEL * scale)
    engine, cells, _ = engine_of(X, scale, tree.children, tree.times)
    state = make_streams(rng, 1)[0]
    children, times = np.array(tree.children, np.int64), np.array(tree.times)
    assert sum(move_one_clade(engine, np.arange(30), cells, state) for _ in range(60)) > 20
    unload(engine.tree, children, times)
    Tree(children, times)  # checks that it is one
    again, _, _ = engine_of(X, cells.leaves["scale"], children, times)
    root, same_root = engine.tree.top[0], again.tree.top[0]
    assert engine.tree.mean[root] == pytest.approx(again.tree.mean[same_root], rel=1e-9)
    assert engine.tree.nodes["var"][root] == pytest.approx(again.tree.nodes["var"][same_root], rel=1e-9)


def test_renew_clade_returns_the_likelihood_of_the_merges():
    rng = np.random.default_rng(4)
    tree, scale = simulate_tree(9, rng), draw_scales(rng, 9)
    X = simulate_data(tree, 3, rng, leaf_var=LEVEL * scale)
    engine, _, number = engine_of(X, scale, tree.children, tree.times)
    expected = log_likelihood(tree.children, tree.times, X, leaf_var=LEVEL * scale) + 8 * 1.5 * math.log(2 * math.pi)
    assert renew_clade(engine.tree, int(number[-1]), 1.5) == pytest.approx(expected)


def test_leaves_under_are_all_or_none():
    tree = unchecked_tree(np.array([[0, 1], [4, 2], [5, 3]]), np.array([1.0, 2.0, 3.0]), list("abcd"))
    engine, _, number = engine_of(np.zeros((4, 1)), np.ones(4), tree.children, tree.times)
    assert sorted(leaves_under(engine.tree, number[5], 3)) == [0, 1, 2]
    assert leaves_under(engine.tree, number[5], 2).size == 0
    assert leaves_under(engine.tree, 3, 1).tolist() == [3]


def test_draw_from_follows_the_pieces_between_knots():
    knots = Knots(-1.0, 0.5, np.array([-3.0, 0.0, 0.0, -1.0, -700.0]))
    state = make_streams(np.random.default_rng(0), 1)[0]
    draws = np.array([draw_from(knots, state) for _ in range(8000)])
    grid = np.linspace(-1.0, 1.0, 4001)
    density = np.exp([level_at(knots, y) for y in grid])
    below = np.cumsum(density) / density.sum()
    for y in (-0.75, -0.4, 0.1, 0.45):
        assert np.mean(draws < y) == pytest.approx(np.interp(y, grid, below), abs=0.02)
    assert math.isnan(level_at(knots, -1.1)) and math.isnan(level_at(knots, 1.1))
