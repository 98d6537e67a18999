"""Candidate sets: closed upwards, counted by how likely they are made, with the messages of the whole tree."""

import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.samplers.regraft.branch_density import Branch, Target, trace
from coaltree.samplers.regraft.candidates import (
    Quadrature,
    add_every_branch,
    add_path,
    add_scattered,
    begin,
    branch_of,
    log_total,
    pass_down,
    rows_are_apart,
    weigh,
)
from coaltree.samplers.regraft.update import make_engine
from coaltree.samplers.regraft.working_tree import load, prune
from tests.pruned_trees import leaves_of, make_case
from tests.reference import regraft as reference
from tests.sampler_cases import problem_of

N = 40


def pruned(seed, c):
    """An engine with node c taken off its tree, and the tree that is left as a dict."""
    problem, truth = problem_of(N, 3, seed, noise=0.1), ct.simulate(N, 3, random_state=seed)[1]
    engine = make_engine(problem, problem.W)
    tree = engine.tree
    load(tree, truth.children, truth.times, engine.W, engine.leaf_var)
    prune(tree, c)
    left = {}
    below = [int(tree.top["root"][0])]
    while below:
        node = below.pop()
        if tree.nodes["left"][node] >= 0:
            left[node] = tuple(tree.nodes[["left", "right", "time"]][node].tolist())
            below.extend(left[node][:2])
    return engine, left


def scattered(engine, x, time, most, state, before=()):
    """{node: multiple} of paths to three leaves around x, in place of paths from the nodes `before`."""
    cand = engine.candidates
    begin(cand)
    for node in before:
        add_path(cand, engine.tree.nodes, node, -1, time)
    add_scattered(cand, engine.tree.nodes, x, time, most, 3, state)
    found = cand.branches[cand.counts["passing"][0] : cand.counts["candidates"][0]]
    return dict(zip(found["node"].tolist(), np.exp(found["log_multiple"]), strict=True))


@pytest.mark.parametrize("most", [3, 6, 9])
def test_add_scattered_counts_branches_by_how_likely_they_make_the_set(most):
    engine, left = pruned(3, 3)
    state = make_streams(np.random.default_rng(0), 1)[0]
    unequal = 0
    for x in range(2 * N - 1):
        size = len(reference.leaves_under(left, x))
        if x == 3 or (x >= N and x not in left):
            continue
        multiples = scattered(engine, x, 0.0, most, state)
        if size > most:
            assert not multiples
            continue
        top = x
        while (up := reference.parent_of(left, top)) and len(reference.leaves_under(left, up)) <= most:
            top = up
        drawn = [leaf for leaf, multiple in multiples.items() if leaf < N for _ in range(round(multiple))]
        assert len(drawn) == 3 and set(drawn) & reference.leaves_under(left, x)
        paths = set().union(
            *({node for node in multiples if leaf in reference.leaves_under(left, node)} for leaf in drawn)
        )
        assert (
            set(multiples) == paths and max(multiples, key=lambda node: len(reference.leaves_under(left, node))) == top
        )
        expected = reference.probabilities_of_scattered(left, multiples, top, drawn)
        ratios = [multiples[node] / expected[node] for node in multiples]
        np.testing.assert_allclose(ratios, ratios[0], rtol=1e-12)
        unequal += max(expected.values()) > 1.5 * min(expected.values())
    assert unequal > 20  # counted once each, they would not do


@pytest.mark.parametrize("c", [7, N + 5])
def test_add_scattered_counts_no_branch_of_the_set_before(c):
    engine, left = pruned(c, c)
    state, time = make_streams(np.random.default_rng(1), 1)[0], engine.tree.nodes["time"][c]
    n_shared = 0
    for x in left:
        if left[x][2] <= time or x == engine.tree.top["root"][0]:
            continue
        above = reference.parent_of(left, x)
        multiples = scattered(engine, x, time, 100, state, before=[above])
        while above is not None:
            assert multiples[above] == 0.0
            above = reference.parent_of(left, above)
            n_shared += 1
        assert multiples[x] > 0.0
    assert n_shared > 5


def test_pass_down_makes_the_messages_of_the_whole_tree():
    engine, _ = pruned(3, 3)
    cand, tree = engine.candidates, engine.tree
    add_every_branch(cand, tree, tree.mean[3], 0.0)
    fields = ["node", *Branch._fields]
    whole = {int(branch["node"]): branch for branch in cand.branches[fields][: cand.counts["candidates"][0]].copy()}
    for x in range(N):
        if x == 3:
            continue
        begin(cand)
        add_path(cand, tree.nodes, x, -1, 0.0)
        pass_down(cand, tree, tree.mean[3], 0.0)
        for branch in cand.branches[fields][: cand.counts["candidates"][0]]:
            assert branch == whole[int(branch["node"])]


def test_weigh_estimates_the_weights_of_unlikely_branches():
    case = make_case(7, 32, n=40)
    best = weigh(case.cand, case.target, Quadrature())
    branches = case.cand.branches[: case.cand.counts["candidates"][0]]
    rows, weights = branches["row"], branches["log_weight"]
    assert (rows < 0).sum() > 40
    assert weights.max() == best
    for i in np.flatnonzero(weights > best - 7.0):
        log_mass = trace(branch_of(case.cand.branches, i), case.target, case.cand.proposals, 31, 0.1)
        assert weights[i] == pytest.approx(log_mass, abs=0.03)
    assert log_total(case.cand, best) == pytest.approx(np.logaddexp.reduce(weights))


def test_add_path_makes_a_set_closed_upwards_without_the_subtree():
    case = make_case(11, 3, n=30)
    tree, cand = case.tree, case.cand
    parents, times = tree.nodes["parent"], tree.nodes["time"]
    off = np.flatnonzero(parents < 0)
    c = next(x for x in off.tolist() if x != tree.top["root"][0] and (x < 30 or tree.nodes["left"][x] >= 0))
    under = leaves_of(tree, c)
    begin(cand)
    for leaf in range(0, 30, 3):
        add_path(cand, tree.nodes, leaf, c, times[c])
    nodes = [int(x) for x in cand.branches["node"][: cand.counts["candidates"][0]]]
    assert nodes[0] == tree.top["root"][0]
    assert len(set(nodes)) == len(nodes)
    for i, x in enumerate(nodes):
        assert cand.nodes["place"][x] == i
        assert not leaves_of(tree, x) & under
        parent = int(parents[x])
        if parent >= 0:
            assert parent in nodes[:i]
            assert times[parent] > times[c]


def test_weigh_counts_rows_that_coincide_without_noise():
    for shift, apart in ((0.0, False), (0.5, True)):
        problem = problem_of(6, 3)
        problem.W[4] = problem.W[1] + shift
        engine = make_engine(problem, problem.W)
        tree, truth = engine.tree, ct.simulate(6, 3, random_state=0)[1]
        load(tree, truth.children, truth.times, engine.W, engine.leaf_var)
        prune(tree, 4)
        add_every_branch(engine.candidates, tree, tree.mean[4], 0.0)
        weigh(engine.candidates, Target(0.0, 5.0, 1.5, tree.lineages, 0.0, engine.student), Quadrature())
        assert rows_are_apart(engine.candidates) == apart
