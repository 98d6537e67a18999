"""Outliers moved together: the joint law of trees and scales is kept, and both ways to explain them are visited."""

import math
from unittest import mock

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
from coaltree.samplers.regraft import outlier_moves
from coaltree.samplers.regraft.outlier_scales import scales_of
from coaltree.samplers.regraft.working_tree import load, unload
from coaltree.tree import Tree, unchecked_tree

HALF_DF, LEVEL, N, D = 2.5, 0.3, 8, 2


def problem_of(X, leaf_var):
    return make_problem(X, Spherical(), leaf_var)


def draw_scales(rng, n=N):
    return HALF_DF / rng.standard_gamma(HALF_DF, size=n)


def numbers(children, times, X, scale):
    """Numbers of finite variance, blind to where the root lies."""
    likelihood = log_likelihood(children, times, X, leaf_var=LEVEL * scale)
    logs = np.log(scale)
    pair = float({*children[0]} == {0, 1})
    spread = math.log(np.ptp(X, axis=0).max())
    of_tree = [likelihood, float(log_prior(times)), math.log(times[-1]), math.log(times[0]), spread, pair]
    return [*of_tree, logs.mean(), *(logs[:2]), *(logs[:2] ** 2), *(1.0 / scale[:2])]


def largest_z(n_draws, half_df, seed, is_local=False):
    """Geweke's test with moves of outliers for the only moves of trees and scales.

    Local candidates are on paths from neighbours, any of which will do if they do not follow the chain.
    """
    rng = np.random.default_rng(seed)
    forward, by_turns = [], []
    tree, scale = simulate_tree(N, rng), draw_scales(rng)
    children, times = tree.children, tree.times
    with single_threaded_blas():
        for _ in range(n_draws):
            other, s = simulate_tree(N, rng), draw_scales(rng)
            X = simulate_data(other, D, rng, leaf_var=LEVEL * s)
            forward.append(numbers(other.children, other.times, X, s))
            X = simulate_data(unchecked_tree(children, times, tree.labels), D, rng, leaf_var=LEVEL * scale)
            tails = Tails(scale, half_df, np.full(N, LEVEL))
            sampler = Regraft(candidates="local" if is_local else "all", n_neighbors=3)
            others = np.array([[rng.permutation(np.delete(np.arange(N), i))[:5] for i in range(N)]])
            problem, neighbors = problem_of(X, LEVEL * scale), others if is_local else None
            with mock.patch.object(outlier_moves, "LEAVES_PER_BLOCK", N / 6):  # six, one after another
                moved = sampler.move_outliers(problem, (children, times), tails, rng, neighbors=neighbors)
            (children, times), scale = moved
            by_turns.append(numbers(children, times, X, scale))
    forward, by_turns = np.array(forward), np.array(by_turns)
    batches = by_turns[: n_draws // 40 * 40].reshape(40, -1, by_turns.shape[1]).mean(axis=1)
    variance = forward.var(axis=0) / n_draws + batches.var(axis=0, ddof=1) / 40
    return float(np.max(np.abs(by_turns.mean(axis=0) - forward.mean(axis=0)) / np.sqrt(variance)))


def test_move_outliers_keeps_the_joint_law():
    assert largest_z(1200, HALF_DF, seed=1, is_local=True) < 4.5


def test_move_outliers_with_another_prior_is_found_out():
    assert largest_z(1200, 2.0 * HALF_DF, seed=1, is_local=True) > 6.0


@pytest.mark.slow
@pytest.mark.parametrize("is_local", [False, True])
def test_move_outliers_keeps_the_joint_law_at_length(is_local):
    assert max(largest_z(12_000, HALF_DF, seed, is_local) for seed in (2, 3)) < 4.5


@pytest.fixture(scope="module")
def three_outliers():
    """A cluster, and three rows beside it that resemble each other."""
    rng = np.random.default_rng(0)
    X = 0.6 * rng.standard_normal((40, 6))
    X[37:] = X[37:] * 0.5 + np.array([2.0, -1.5, 0, 0, 0, 0])
    return X


def engine_of(X, scale):
    return Regraft(candidates="all")._engine(
        problem_of(X, LEVEL * scale), np.ascontiguousarray(X), np.empty((0, 40, 0))
    )


def test_move_scatters_and_gathers_rows_that_resemble_each_other(three_outliers):
    X, rng = three_outliers, np.random.default_rng(1)
    scale, block = np.ones(40), np.array([37, 38, 39])
    sampler, state = Regraft(candidates="all"), make_streams(rng, 1)[0]
    children, times = sampler.step(problem_of(X, LEVEL * scale), None, rng)[:2]
    is_clade = []
    for _ in range(60):
        children, times, _ = sampler.step(problem_of(X, LEVEL * scale), (children, times), rng)
        engine = engine_of(X, scale)
        scales = scales_of(Tails(scale, HALF_DF, np.full(40, LEVEL)))
        load(engine.tree, children, times, engine.W, engine.leaf_var)
        top = outlier_moves._top_of_clade(engine.tree, block)
        moved = outlier_moves._move(engine, block, scales, state)
        scale = scales.leaves["scale"].copy()
        unload(engine.tree, children, times)
        Tree(children, times)  # checks that it is one
        held = [{*leaves} == {37, 38, 39} for leaves in clades_of(children)]
        assert any(held) == ((top >= 0) != moved)  # a move changes from one to the other, and nothing else does
        is_clade.append(any(held))
    assert 0 < sum(is_clade) < 60


def clades_of(children):
    leaves = [[i] for i in range(len(children) + 1)]
    for i, j in children:
        leaves.append(leaves[i] + leaves[j])
    return leaves


def picture(tree, n):
    """Times by clade, and the variances of the leaves; refused where it is no tree."""
    children, times = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    unload(tree, children, times)
    Tree(children, times)
    return dict(zip(map(frozenset, clades_of(children)[n:]), times, strict=True)), tree.nodes["var"][:n].tolist()


@pytest.mark.parametrize("is_local", [False, True])
def test_new_places_weigh_the_same_as_old_ones_when_seen_from_there(is_local):
    """What a move weighs of its new places is what its reverse weighs of old ones; what fails changes nothing."""
    rng, n_compared = np.random.default_rng(0), 0
    state = make_streams(rng, 1)[0]
    for _ in range(60):
        n, d = int(rng.integers(9, 20)), int(rng.choice([1, 3, 40]))
        tree, scale = simulate_tree(n, rng), draw_scales(rng, n)
        X = simulate_data(tree, d, rng, leaf_var=LEVEL * scale)
        near = np.array([[rng.permutation(np.delete(np.arange(n), i))[:5] for i in range(n)]], np.int32)
        near[0, rng.random((n, 5)) < 0.3] = -1
        sampler = Regraft(candidates="local" if is_local else "all", n_neighbors=3)
        neighbors = near if is_local else np.empty((0, n, 0))
        engine = sampler._engine(problem_of(X, LEVEL * scale), np.ascontiguousarray(X), neighbors)
        scales = scales_of(Tails(scale, HALF_DF, np.full(n, LEVEL)))
        load(engine.tree, np.array(tree.children, np.int64), np.array(tree.times), engine.W, engine.leaf_var)
        for block in (rng.permutation(n)[: rng.integers(1, 5)], rng.permutation(tree.children[0])):
            before = picture(engine.tree, n)
            if max(block) >= n:
                continue
            k, around = len(block), outlier_moves._near_leaves(engine, block, state)
            was_clade = k > 1 and frozenset(block.tolist()) in before[0]
            old, new = np.empty(k, outlier_moves.PLACE), np.empty(k, outlier_moves.PLACE)
            old["s"] = scale[block]
            outlier_moves._take_off(engine.tree, block, old)
            outlier_moves._put(engine, block, around, old, scales, was_clade, np.bool_(False), state)
            assert picture(engine.tree, n) == before
            outlier_moves._take_off(engine.tree, block, old)
            new["free"], is_clade = old["free"], k > 1 and not was_clade
            log_new = outlier_moves._put(engine, block, around, new, scales, is_clade, np.bool_(True), state)
            if log_new > -math.inf:
                n_compared += 1
                held = frozenset(block.tolist()) in picture(engine.tree, n)[0]
                assert held or not is_clade
                outlier_moves._take_off(engine.tree, block, new)
                back = outlier_moves._put(engine, block, around, new, scales, is_clade, np.bool_(False), state)
                assert back == pytest.approx(log_new, rel=1e-9)
                outlier_moves._take_off(engine.tree, block, new)
            outlier_moves._put(engine, block, around, old, scales, was_clade, np.bool_(False), state)
            assert picture(engine.tree, n) == before
    assert n_compared > 60


def test_top_of_clade_is_found_for_clades_alone():
    tree = Tree([[0, 1], [8, 2], [3, 4], [5, 6], [11, 7], [9, 10], [13, 12]], np.arange(1.0, 8.0))
    engine = Regraft(candidates="all")._engine(
        problem_of(np.zeros((8, 1)), np.ones(8)), np.zeros((8, 1)), np.empty((0, 8, 0))
    )
    load(engine.tree, tree.children, tree.times, engine.W, engine.leaf_var)

    def found(*leaves):
        return outlier_moves._top_of_clade(engine.tree, np.array(leaves)) >= 0

    assert found(0, 1) and found(2, 0, 1) and found(7, 6, 5) and found(3)
    assert not found(0, 2) and not found(0, 1, 3) and not found(5, 7) and not found(0, 1, 2, 3)
