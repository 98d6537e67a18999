"""A sweep in parts: the density of a part, values at the cut, the noise between parts, bits; and that it is exact."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from joblib import cpu_count, parallel_config

import coaltree as ct
from coaltree import errors
from coaltree._runtime.random_streams import make_streams
from coaltree.inference import checkpoint, fit, run
from coaltree.model.problem import Problem
from coaltree.samplers.regraft import parts, regraft
from coaltree.samplers.regraft.branch_density import Target, log_density
from coaltree.samplers.regraft.candidates import add_path, begin, branch_of, pass_down
from coaltree.samplers.regraft.lineage_counts import draw_noise, empty_lineages, exact_area, remove
from coaltree.samplers.regraft.neighbors import neighbor_lists
from coaltree.samplers.regraft.regraft import Regraft
from coaltree.samplers.regraft.update import Rule, can_move, make_engine
from coaltree.samplers.regraft.working_tree import detach, empty_working_tree, load, refresh, sibling_of
from tests.reference import parts as reference
from tests.reference.regraft import graft, message


@dataclass(frozen=True)
class InParts(Regraft):
    """Sweeps in parts even of a few rows; at step `stop_at` behaves as if Ctrl-C had been pressed."""

    candidates: str = "local"
    _many = 20
    steps: ClassVar[int] = 0
    stop_at: ClassVar[int] = -1

    def step(self, problem, tree, rng, **options):
        InParts.steps += 1
        if self.steps == self.stop_at:
            raise KeyboardInterrupt
        return super().step(problem, tree, rng, **options)


def problem_of(n, d, seed=0, noise=0.0):
    X, tree = ct.simulate(n, d, noise=noise, random_state=seed)
    return Problem(np.ascontiguousarray(X), None, d, 0.0, noise), tree


def engine_of(problem, rng):
    lists = neighbor_lists(problem.W, problem.n - 1, rng)
    return make_engine(problem, problem.W, lists, Rule(few=0.0, stray=0.5))


# --- the density of a part ----------------------------------------------------------------------------------------


class Steps:
    """A number of lineages as a function of time."""

    def __init__(self, n, times):
        self.n, self.changes = n, [float(t) for t in times]

    def __call__(self, u):
        return self.n - sum(t <= u for t in self.changes)


def cut_tree(problem, tree, cut_time, rng):
    """A tree cut into parts, before they are swept: engine, engines of parts, the part of every node, the cut."""
    engine = engine_of(problem, rng)
    n_stems = int(np.sum(tree.times > cut_time)) + 1
    engine = engine._replace(tree=empty_working_tree(*problem.W.shape, n_stems))
    state, noise = make_streams(rng, 2)
    load(engine.tree, tree.children.astype(np.int64), tree.times, engine.W, engine.leaf_var)
    cut = parts._cut(engine, cut_time, n_stems, state)
    direction = rng.standard_normal(problem.d)
    part = parts._share_out(engine, cut, direction, float(np.median(engine.W @ direction)))
    both = [parts._engine_of_part(engine, sign) for sign in (1.0, -1.0)]
    draw_noise([one.tree.lineages for one in both], noise)
    for which in (0, 1):
        parts._count_lineages(both[which], part, which)
    return engine, both, part, cut


@pytest.mark.parametrize("seed", range(8))
def test_density_differs_from_that_of_the_part_by_a_constant(seed):
    rng = np.random.default_rng(seed)
    n, d, noise, cut_time = 14, 3, 0.1, 0.25
    problem, made = problem_of(n, d, seed, noise)
    engine, both, part, cut = cut_tree(problem, made, cut_time, rng)
    tree, first_stem, n_stems = engine.tree, int(engine.tree.top[2]), len(cut.joint)
    inner = [x for x in range(n, 2 * n - 1) if part[x] >= 0]
    movable = [x for x in [*range(n), *inner] if part[x] >= 0 and can_move(tree, x)]
    c = int(rng.choice(movable))
    which = int(part[c])
    mine = both[which]
    own, others = ([tree.time[x] for x in inner if (part[x] == which) == same] for same in (True, False))
    before = Steps(int(np.sum(part[:n] == which)), own)
    other = Steps(int(np.sum(part[:n] == 1 - which)), others)
    stems = [first_stem + i for i in range(n_stems) if part[tree.child[first_stem + i, 0]] == which]

    parent, sibling = int(tree.parent[c]), sibling_of(tree, c)
    detach(tree, c)
    remove(mine.tree.lineages, parent)
    refresh(tree, np.int64(tree.parent[sibling]))
    begin(mine.candidates)
    for leaf in np.flatnonzero(part[:n] == which):
        add_path(mine.candidates, tree, leaf, c, tree.time[c])
    pass_down(mine.candidates, tree, tree.mean[c], tree.time[c])
    target = Target(tree.var[c] - tree.time[c], n - 1.0, 0.5 * d)
    rest = {
        x: (int(tree.child[x, 0]), int(tree.child[x, 1]), float(tree.time[x]))
        for x in inner
        if part[x] == which and x != parent
    }

    def path(u):
        nothing = mine.tree.lineages._replace(first=np.full_like(mine.tree.lineages.first, -1))
        clean = nothing._replace(**{name: np.zeros_like(getattr(nothing, name)) for name in BINS})
        return -exact_area(clean, 0.0, u) - 0.5 * u

    gaps = []
    for i in range(mine.candidates.counts[0]):
        x, branch = int(mine.candidates.node[i]), branch_of(mine.candidates, i)
        assert x < first_stem
        assert branch.upper <= cut_time
        for t in rng.uniform(branch.lower, branch.upper, 3):
            grown = graft(rest, parent, c, x, float(t))
            values = {}
            for stem in stems:
                root = int(tree.child[stem, 0])
                values[parent if root == x else root] = tree.mean[stem].tolist()
            joint = reference.log_part(
                grown, list(values), values, cut_time, problem.W.tolist(), noise, before, other, path
            )
            gaps.append(joint - log_density(branch, target, mine.tree.lineages, t))
    assert len(gaps) >= 3
    assert np.ptp(gaps) < 1e-9 * max(1.0, np.abs(gaps).max())


BINS = ("by_bin", "by_group", "by_block")


# --- values at the cut --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut_time", [0.3, 5.0])
def test_values_at_the_cut_have_mean_and_covariance_given_all_else(cut_time):
    problem, tree = problem_of(6, 1, seed=3, noise=0.2)
    n, times = 6, np.append(np.zeros(6), tree.times)
    n_stems = int(np.sum(tree.times > cut_time)) + 1
    rng, n_draws = np.random.default_rng(0), 4000
    engine = engine_of(problem, rng)._replace(tree=empty_working_tree(6, 1, n_stems))
    found = []
    for _ in range(n_draws):
        load(engine.tree, tree.children.astype(np.int64), tree.times, engine.W, engine.leaf_var)
        parts._cut(engine, cut_time, n_stems, make_streams(rng, 1)[0])
        found.append(engine.tree.mean[2 * n - 1 :, 0].copy())
    stems = engine.tree.child[2 * n - 1 :, 0]
    # the same from the covariance matrix of leaves and stems, under a root of all but endless variance
    leaves = [sorted(leaves_of(engine.tree, stem)) for stem in stems]
    nodes = [frozenset([i]) for i in range(n)]
    shared = np.zeros((n, n))
    for k, (a, b) in enumerate(tree.children):
        for i in nodes[a]:
            for j in nodes[b]:
                shared[i, j] = shared[j, i] = times[n + k]
        nodes.append(nodes[a] | nodes[b])
    far = 1e6
    of_leaves = far - shared + 0.2 * np.eye(n)
    first = [own[0] for own in leaves]
    between = far - np.maximum(shared[first], cut_time)  # where a stem and a leaf under it part: at the cut
    of_stems = far - np.maximum(shared[np.ix_(first, first)], cut_time)
    gain = np.linalg.solve(of_leaves, between.T).T
    mean, cov = gain @ problem.W[:, 0], of_stems - gain @ between.T
    found = np.array(found)
    error = np.sqrt(np.diag(cov) / n_draws)
    assert np.all(np.abs(found.mean(axis=0) - mean) < 5.0 * error)
    spread = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / n_draws)
    assert np.all(np.abs(np.cov(found.T).reshape(cov.shape) - cov) < 5.0 * spread + 1e-6)


def leaves_of(tree, x):
    if tree.child[x, 0] < 0:
        return frozenset([int(x)])
    return leaves_of(tree, tree.child[x, 0]) | leaves_of(tree, tree.child[x, 1])


# --- the noise between parts --------------------------------------------------------------------------------------


def test_the_path_is_brownian_and_the_same_for_both_parts_but_for_its_sign():
    rng, n_draws = np.random.default_rng(0), 4000
    one, two = empty_lineages(16, 1.0), empty_lineages(16, -1.0)
    # far apart, within one bin, and within a fiftieth of one
    moments = np.array([1e-3, 0.0013, 0.05, 0.0502, 0.05021, 0.2, 0.39])
    paths = np.empty((n_draws, len(moments)))
    for i in range(n_draws):
        draw_noise([one, two], make_streams(rng, 1)[0])
        for j, t in enumerate(moments):
            paths[i, j] = -exact_area(one, 0.0, t) - 0.5 * t
            assert -exact_area(two, 0.0, t) - 0.5 * t == pytest.approx(-paths[i, j], abs=1e-14)
    steps = np.diff(paths, axis=1, prepend=0.0) / np.sqrt(np.diff(moments, prepend=0.0))
    products = steps[:, :, None] * steps[:, None, :]
    error = products.std(axis=0) / math.sqrt(n_draws)
    assert np.all(np.abs(products.mean(axis=0) - np.eye(len(moments))) < 5.0 * error)
    again = [-exact_area(one, 0.0, t) - 0.5 * t for t in moments]
    np.testing.assert_array_equal(again, paths[-1])


# --- trees and bits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut_time", [1e-9, 0.05, 0.5, 50.0])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_sweeps_give_valid_trees_and_two_threads_the_same_bits(cut_time, noise):
    problem, tree = problem_of(60, 4, noise=noise)
    found = []
    for n_threads in (1, 2):
        rng = np.random.default_rng(1)
        engine = engine_of(problem, rng)
        merges = tree.children, tree.times
        for _ in range(5):
            merges = parts.sweep_in_parts(engine, merges, cut_time, rng, n_threads)
            ct.Tree(*merges)
        assert engine.tally[0] >= 5
        assert not engine.part.any()
        found.append(merges)
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert not np.array_equal(found[0][1], tree.times)


def test_what_hangs_on_a_stem_is_put_back_with_true_messages_and_lineages():
    problem, made = problem_of(40, 3, noise=0.1)
    rng = np.random.default_rng(0)
    engine, both, _, cut = cut_tree(problem, made, 0.1, rng)
    for which, state in enumerate(make_streams(rng, 2)):
        parts._sweep_part(both[which], which, state)
    tree = engine.tree
    assert np.all(tree.time[tree.child[79:, 0]] < 0.1)
    parts._join(engine, cut)
    inner = {x: (int(tree.child[x, 0]), int(tree.child[x, 1]), float(tree.time[x])) for x in range(40, 79)}
    assert not np.array_equal(sorted(time for _, _, time in inner.values()), made.times)
    assert sum(time > 0.1 for _, _, time in inner.values()) == len(cut.joint) - 1
    for x in range(79):
        mean, var, _ = message(inner, x, problem.W.tolist(), 0.1)
        np.testing.assert_allclose(tree.mean[x], mean, rtol=1e-9, atol=1e-12)
        assert tree.var[x] == pytest.approx(var, rel=1e-9)
    assert sorted(tree.lineages.time[40:]) == sorted(time for _, _, time in inner.values())


def test_a_fit_is_the_same_with_one_thread_or_two_and_after_an_interruption(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "_SECONDS_A_BLOCK", 0.0)
    monkeypatch.setattr(checkpoint, "SECONDS_BETWEEN", 0.0)
    asked, swept = [], parts.sweep_in_parts
    monkeypatch.setattr(regraft, "sweep_in_parts", lambda *given: asked.append(given[-1]) or swept(*given))
    monkeypatch.setattr(fit, "_judge", lambda post: None)  # of five trees there is nothing to say
    X = problem_of(40, 3, noise=0.1)[0].W

    def fitted(**options):
        length = {"n_samples": 5, "n_warmup": 2, "n_chains": 1}
        return ct.fit(X, "spherical", InParts(), **length, random_state=0, progress=False, **options)

    with parallel_config("threading"):
        one, two = fitted(n_jobs=1), fitted(n_jobs=2)
    assert asked == [1] * 7 + [min(2, cpu_count())] * 7
    monkeypatch.setattr(InParts, "steps", 0)
    monkeypatch.setattr(InParts, "stop_at", 5)
    with pytest.warns(errors.InterruptedWarning):
        part = fitted(checkpoint=tmp_path / "run.checkpoint")
    assert len(part) < 5
    monkeypatch.setattr(InParts, "stop_at", -1)
    for other in (two, fitted(checkpoint=tmp_path / "run.checkpoint")):
        np.testing.assert_array_equal(one.times, other.times)
        np.testing.assert_array_equal(one.children, other.children)
        np.testing.assert_array_equal(one.log_joint, other.log_joint)


def test_only_many_rows_with_lists_and_all_their_columns_go_in_parts(monkeypatch):
    swept = []
    monkeypatch.setattr(regraft, "sweep_in_parts", lambda engine, tree, *rest: swept.append(len(engine.W)) or tree)
    for sampler, n, d, expected in (
        (InParts(), 21, 3, 1),
        (InParts(), 20, 3, 0),
        (InParts("all"), 21, 3, 0),
        (Regraft("local"), 21, 3, 0),
    ):
        problem, tree = problem_of(n, d)
        sampler.step(problem, (tree.children, tree.times), np.random.default_rng(0))
        assert len(swept) == expected
        swept.clear()
    rotated = problem._replace(d=4)  # a value has a column that the rows have not
    InParts().step(rotated, (tree.children, tree.times), np.random.default_rng(0))
    assert not swept
    assert Regraft._many == 20_000
