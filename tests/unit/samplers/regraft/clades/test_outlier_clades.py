"""An outlier, or the clade around it, regrafted with its scale: by quadrature, and by the joint law that it keeps."""

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
from coaltree.samplers.regraft.clades import outlier_clades
from coaltree.samplers.regraft.clades.outlier_clades import (
    Knots,
    draw_from,
    level_at,
    move_clade,
    move_clades,
    renew_path,
)
from coaltree.samplers.regraft.outlier_scales import cells_of
from coaltree.samplers.regraft.update import Rule
from coaltree.samplers.regraft.working_tree import load, sibling_of, unload
from coaltree.tree import Tree
from tests.reference import outlier_clades as reference
from tests.reference.regraft import from_arrays, prune

HALF_DF, LEVEL, D = 2.5, 0.3, 2


def engine_of(X, scale, children, times, half_df=HALF_DF, rng=None):
    """An engine whose tree is loaded, the cells of its scales, and the numbers of its nodes.

    With a generator, candidates are local: paths from two neighbours or two random leaves, or clades of two to four
    lineages.
    """
    n = len(X)
    problem, neighbors = make_problem(X, Spherical(), LEVEL * scale), np.empty((0, n, 0))
    sampler = Regraft(candidates="all")
    if rng is not None:
        sampler = Regraft(candidates="local", n_neighbors=2, global_share=0.0)
        rule = Rule(
            max_global=1.0, min_around=2.0, max_around=4.0, n_scattered=2, min_scattered=1.0, max_scattered=float(n)
        )
        object.__setattr__(sampler, "_rule", rule)
        neighbors = rng.integers(n, size=(1, n, 4))  # any will do, if they do not follow the chain
    engine = sampler._engine(problem, np.ascontiguousarray(X), neighbors)
    number = load(engine.tree, np.array(children, np.int64), np.array(times), engine.W, engine.leaf_var)
    return engine, cells_of(Tails(scale, half_df, np.full(n, LEVEL))), number


def draw_scales(rng, n):
    return HALF_DF / rng.standard_gamma(HALF_DF, size=n)


def simulated(n, d, seed):
    rng = np.random.default_rng(seed)
    tree, scale = simulate_tree(n, rng), draw_scales(rng, n)
    return tree, scale, simulate_data(tree, d, rng, leaf_var=LEVEL * scale), make_streams(rng, 1)[0]


# --- the density of scale and place, by quadrature


X4 = np.array([[1.5, 0.0], [1.9, 0.6], [0.2, -0.3], [-0.4, 0.5]])
TREE4 = np.array([[0, 1], [2, 3], [4, 5]]), np.array([0.2, 0.45, 0.9])


def leaves_of(tree, node):
    return frozenset().union(*(leaves_of(tree, c) for c in tree[node][:2])) if node in tree else frozenset([node])


def leaves_below(tree, node):
    left, right = int(tree.nodes[node]["left"]), int(tree.nodes[node]["right"])
    return frozenset([int(node)]) if left < 0 else leaves_below(tree, left) | leaves_below(tree, right)


@pytest.mark.parametrize("c", [4, 0])
def test_move_clade_draws_scale_and_place_by_their_density(c):
    """Leaves 0 and 1 are a clade, 4; its places, or those of leaf 0, and the logarithm of leaf 0's scale."""
    scale, n_moves = np.array([0.7, 3.0, 1.0, 1.0]), 20_000
    engine, cells, number = engine_of(X4, scale, *TREE4)
    top, state = int(number[c]), make_streams(np.random.default_rng(0), 1)[0]
    counts, ys, n_moved = {}, np.empty(n_moves), 0
    for i in range(n_moves):
        n_moved += move_clade(engine, top, 0, cells, state)
        ys[i] = math.log(cells.leaves["scale"][0])
        beside = leaves_below(engine.tree, sibling_of(engine.tree, top))
        counts[beside] = counts.get(beside, 0) + 1
    tree, unit = from_arrays(*TREE4), [LEVEL] * 4
    grid = np.linspace(math.log(cells.bounds[0]), math.log(cells.bounds[-1]), 49)
    expected = reference.masses(tree, c, X4.tolist(), unit, scale.tolist(), 0, HALF_DF, grid, n_times=24)
    total = np.sum([mass.sum() for mass in expected.values()])
    assert n_moved / n_moves > 0.7
    rest = prune(tree, c)[0]
    for x, mass in expected.items():
        assert counts.get(leaves_of(rest, x), 0) / n_moves == pytest.approx(mass.sum() / total, abs=0.015)
    over_y = np.sum(list(expected.values()), axis=0) / total
    assert ys.mean() == pytest.approx(over_y @ grid, abs=0.04)
    assert ys.std() == pytest.approx(math.sqrt(over_y @ grid**2 - (over_y @ grid) ** 2), abs=0.04)


# --- the joint law of tree, scales and data


def numbers(children, times, X, scale):
    """Numbers of finite variance, blind to where the root lies."""
    logs = np.log(scale)
    joins = math.log(times[np.flatnonzero((children == 0).any(axis=1))[0]])
    likelihood = log_likelihood(children, times, X, leaf_var=LEVEL * scale)
    of_tree = [likelihood, float(log_prior(times)), *np.log(times[[1, -2, -1]]), joins]
    return np.array([*of_tree, logs.mean(), logs[0], logs[0] ** 2, 1.0 / scale[0], logs[0] * math.log(times[-1])])


def largest_z(n_cases, half_df, seed, is_local, n=7):
    """Trees, scales and data of the model stay so when clades are moved: no number changes, on average."""
    rng = np.random.default_rng(seed)
    changes = []
    with single_threaded_blas():
        for _ in range(n_cases):
            tree, scale = simulate_tree(n, rng), draw_scales(rng, n)
            X = simulate_data(tree, D, rng, leaf_var=LEVEL * scale)
            engine, cells, _ = engine_of(X, scale, tree.children, tree.times, half_df, rng if is_local else None)
            move_clades(engine, np.arange(n), cells, np.int64(2), make_streams(rng, 1)[0])
            children, times = np.array(tree.children, np.int64), np.array(tree.times)
            unload(engine.tree, children, times)
            before = numbers(tree.children, tree.times, X, scale)
            changes.append(numbers(children, times, X, cells.leaves["scale"]) - before)
    changes = np.array(changes)
    return float(np.max(np.abs(changes.mean(axis=0)) / changes.std(axis=0, ddof=1)) * math.sqrt(n_cases))


@pytest.mark.parametrize("is_local", [False, True])
def test_move_clades_keeps_the_joint_law(is_local):
    assert largest_z(600, HALF_DF, seed=1, is_local=is_local) < 4.0


def test_move_clades_with_another_prior_is_found_out():
    assert largest_z(600, 2.0 * HALF_DF, seed=1, is_local=True) > 6.0


@pytest.mark.slow
@pytest.mark.parametrize("is_local", [False, True])
def test_move_clades_keeps_the_joint_law_at_length(is_local):
    assert max(largest_z(20_000, HALF_DF, seed, is_local) for seed in (2, 3)) < 4.0


# --- what it is for


def test_move_clade_leads_an_outlier_with_a_row_that_hangs_on_it_to_a_cluster():
    """Row 0 stands apart with little noise, row 1 has much: together they go where row 0 has much noise as well."""
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((20, 8))
    X[0] += 1.2
    X[1] += 1.0
    scale = np.concatenate([[1.0, 30.0], np.ones(18)])
    order = [[0, 1], [2, 3], *([k + 1, k + 18] for k in range(3, 19)), [20, 37]]
    times = np.array([0.05, *np.linspace(0.1, 0.4, 17), 1.5])
    engine, cells, number = engine_of(X, scale, order, times)
    top, state, found = int(number[20]), make_streams(rng, 1)[0], []
    for _ in range(200):
        move_clade(engine, top, 0, cells, state)
        found.append(cells.leaves["scale"][0] > 5.0)
    assert 5 < sum(found) < 195


# --- its parts


def test_move_clades_leaves_a_tree_whose_messages_are_right():
    tree, scale, X, state = simulated(30, 3, seed=3)
    engine, cells, _ = engine_of(X, scale, tree.children, tree.times)
    children, times = np.array(tree.children, np.int64), np.array(tree.times)
    assert sum(move_clades(engine, np.arange(30), cells, np.int64(1), state) for _ in range(3)) > 20
    unload(engine.tree, children, times)
    Tree(children, times)  # checks that it is one
    again, _, _ = engine_of(X, cells.leaves["scale"], children, times)
    root, same_root = engine.tree.top[0], again.tree.top[0]
    assert engine.tree.mean[root] == pytest.approx(again.tree.mean[same_root], rel=1e-9)
    assert engine.tree.nodes["var"][root] == pytest.approx(again.tree.nodes["var"][same_root], rel=1e-9)


def test_move_clades_tries_so_many_at_most():
    tree, scale, X, state = simulated(60, 3, seed=4)
    engine, cells, _ = engine_of(X, scale, tree.children, tree.times)
    assert 0 < move_clades(engine, np.arange(6), cells, np.int64(2), state) <= 12
    most = outlier_clades._MAX_TRIES
    assert 0 < move_clades(engine, np.arange(60), cells, np.int64(100), state) <= most < 6000


def test_renew_path_returns_the_likelihood_of_the_merges_above_a_leaf():
    tree, scale, X, _ = simulated(9, 3, seed=4)
    engine, _, number = engine_of(X, scale, tree.children, tree.times)
    top, half_d = int(number[-1]), 1.5
    before = renew_path(engine.tree, 0, top, half_d)
    engine.tree.nodes[0]["var"] *= 3.0
    scale[0] *= 3.0
    expected = log_likelihood(tree.children, tree.times, X, leaf_var=LEVEL * scale)
    scale[0] /= 3.0
    expected -= log_likelihood(tree.children, tree.times, X, leaf_var=LEVEL * scale)
    assert renew_path(engine.tree, 0, top, half_d) - before == pytest.approx(expected)
    assert renew_path(engine.tree, 0, 0, half_d) == 0.0


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
