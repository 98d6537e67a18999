"""Regraft as a sampler: valid trees, the same bits, hard data; its distributions are in test_update."""

from unittest import mock

import numpy as np
import pytest

import coaltree as ct
from coaltree.errors import InputError
from coaltree.model.process.whitened import Problem
from coaltree.samplers.base import Tails
from coaltree.samplers.regraft import outlier_moves
from coaltree.samplers.regraft.regraft import Regraft
from tests.sampler_cases import RULES, TrulyLocal, draw, problem_of


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("n", "d"), [(2, 3), (3, 1), (5, 2), (40, 6), (150, 40)])
def test_regraft_draws_valid_trees_with_their_own_log_joint(rule, n, d):
    problem = problem_of(n, d)
    draws = draw(RULES[rule], problem)
    assert draws.children.shape == (20, n - 1, 2)
    for children, times, log_joint in zip(draws.children, draws.times, draws.log_joint, strict=True):
        tree = ct.Tree(children, times)
        assert tree.times[0] > 0.0
        assert log_joint == pytest.approx(tree.log_prior() + tree.log_likelihood(problem.W, np.eye(d)), rel=1e-9)
    assert set(draws.info) == {"accepted", "candidates", "missed", "interrupted"}
    assert 0.7 < draws.info["accepted"] + draws.info["missed"] <= 1.0


def test_regraft_gives_the_same_bits_wherever_arrays_lie_in_memory():
    problem = problem_of(40, 4)
    rng = np.random.default_rng(0)
    results, clutter = set(), []
    for _ in range(12):
        clutter.append([np.empty(size) for size in rng.integers(1, 5000, 20)][::3])
        results.add(draw(Regraft("all"), problem, n_samples=60).times.tobytes())
    assert len(results) == 1


def test_regraft_step_depends_on_the_tree_alone():
    problem = problem_of(80, 4)
    sampler = Regraft("local")
    rng = np.random.default_rng(0)
    neighbors = sampler.neighbors(problem, rng)
    tree = sampler.step(problem, None, rng)[:2]
    for _ in range(3):
        seed = int(rng.integers(2**32))
        fresh = sampler.step(problem, tree, np.random.default_rng(seed), neighbors=neighbors)
        again = sampler.step(problem, tree, np.random.default_rng(seed), neighbors=neighbors.copy())
        np.testing.assert_array_equal(fresh[0], again[0])
        np.testing.assert_array_equal(fresh[1], again[1])
        tree = fresh[:2]


@pytest.mark.parametrize("sampler", [Regraft("all"), Regraft("local")])
def test_regraft_of_a_chain_overwrites_its_arrays_and_gives_the_same_bits(sampler):
    problem, trees = problem_of(40, 4), []
    tails = Tails(np.ones(40), 2.0, np.full(40, 0.1))
    for stepping in (sampler, sampler.for_chain(problem), sampler.for_chain(problem_of(40, 3))):
        rng = np.random.default_rng(0)
        neighbors = sampler.neighbors(problem, rng)
        tree = stepping.step(problem, None, rng)[:2]
        for _ in range(3):
            tree = stepping.step(problem, tree, rng, neighbors=neighbors)[:2]
            with mock.patch.object(outlier_moves, "LEAVES_PER_BLOCK", 2):
                tree, scale = stepping.move_outliers(problem, tree, tails, rng, neighbors=neighbors)
        trees.append((*tree, scale))
    assert np.any(trees[0][2] != tails.scale)
    for found in trees[1:]:
        for ours, first in zip(found, trees[0], strict=True):
            np.testing.assert_array_equal(ours, first)
    stepping = sampler.for_chain(problem)
    engine = stepping._engine(problem, np.ascontiguousarray(problem.W), sampler.neighbors(problem, rng))
    assert engine.tree.nodes is stepping._earlier.tree.nodes
    more = sampler.for_chain(problem).for_warmup()
    assert more._earlier is not None and more.n_neighbors == 2 * sampler.n_neighbors


def test_regraft_of_rotated_rows_is_the_same_up_to_rounding():
    problem = problem_of(12, 40)
    W = problem.W - problem.W.mean(axis=0)
    rotated = np.linalg.qr(W.T, mode="r").T[:, :11]
    full = draw(Regraft("all"), problem, n_samples=3, n_warmup=0)
    short = draw(Regraft("all"), problem._replace(W=np.ascontiguousarray(rotated)), n_samples=3, n_warmup=0)
    np.testing.assert_array_equal(full.children[0], short.children[0])
    np.testing.assert_allclose(full.times[0], short.times[0], rtol=1e-6)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", [1, 2, 30])
def test_regraft_copes_with_near_duplicates_far_scales_and_identical_rows(rule, d):
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(12, d))
    close = np.concatenate([rows, rows[:6] + 1e-9 * rng.normal(size=(6, d)), rows[:2] * (1.0 + 1e-15)])
    for W, noise in [(close, 0.0), (rows * 1e6, 0.0), (rows * 1e-6, 0.0), (np.zeros((9, d)), 0.5)]:
        problem = Problem(np.ascontiguousarray(W), d, 0.0, noise)
        for start in ("average", "prior"):
            draws = draw(type(RULES[rule])(RULES[rule].candidates, start=start), problem, n_samples=10)
            assert np.all(np.isfinite(draws.times)) and np.all(draws.times > 0)
            for children, times in zip(draws.children, draws.times, strict=True):
                ct.Tree(children, times)


@pytest.mark.parametrize("sampler", [Regraft("all"), TrulyLocal(), ct.Insertion(n_particles=40)])
def test_regraft_does_not_depend_on_the_unit_of_small_values(sampler):
    """Where times are far below 1 the prior is flat, and data in another unit give the same trees in another unit."""
    problem = problem_of(12, 5)
    unit = 2.0**-40
    drawn = [draw(sampler, problem._replace(W=problem.W * unit))]
    for smaller in (2.0**-100, 2.0**-490):
        drawn.append(draw(sampler, problem._replace(W=problem.W * smaller)))
        np.testing.assert_array_equal(drawn[-1].children, drawn[0].children)
        np.testing.assert_allclose(drawn[-1].times / smaller**2, drawn[0].times / unit**2, rtol=1e-6)


@pytest.mark.parametrize(
    "sampler", [Regraft("all"), TrulyLocal(), ct.Insertion(n_particles=3), Regraft(start="insertion")]
)
@pytest.mark.parametrize(("scale", "words"), [(1e-170, "squared distance is 0|differ too little"), (1e13, "too large")])
def test_regraft_refuses_values_beyond_floating_point(sampler, scale, words):
    X = ct.simulate(20, 3, random_state=0)[0] * scale
    with pytest.raises(InputError, match=words):
        ct.sample_trees(X, np.eye(3), sampler, random_state=0)
    with pytest.raises(InputError, match=words):
        ct.fit(X, np.eye(3), sampler, random_state=0, n_samples=2, n_warmup=1, noise=0.0)


def test_regraft_loses_no_branch_of_large_values():
    """Densities that differ by millions of nats along a branch: no weight may overflow."""
    X = ct.simulate(60, 6, random_state=0)[0] * 1e6
    post = ct.sample_trees(X, np.eye(6), ct.Insertion(n_particles=50), random_state=0)
    assert np.isfinite(post.log_joint).all() and np.isfinite(post.log_evidence)


def test_regraft_sweeps_few_rows_several_times_per_iteration():
    none, some = np.empty((0, 10, 0)), np.empty((1, 10, 16))
    assert [Regraft().steps_per_iteration(n, none) for n in (10, 61, 87, 400)] == [4, 4, 1, 1]
    assert [Regraft().steps_per_iteration(n, some) for n in (10, 300, 1000)] == [4, 4, 1]
