"""The conditional of a pruned subtree: against the full joint density, and its proposal against quadrature."""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from coaltree._runtime.jit import jit
from coaltree._runtime.random_streams import make_streams
from coaltree.samplers.regraft.branch_density import Target, draw_time, log_density, log_mass_bound, log_proposal
from coaltree.samplers.regraft.candidates import (
    Care,
    add_all_above,
    add_path,
    begin,
    branch_of,
    empty_candidates,
    pass_down,
    proposal_row,
    weigh,
)
from coaltree.samplers.regraft.lineage_counts import remove
from coaltree.samplers.regraft.working_tree import detach, empty_working_tree, load, refresh, sibling_of
from tests.reference import regraft as reference


class Case(NamedTuple):
    """A pruned tree, twice: as the reference sees it and as the kernels do."""

    tree: object
    cand: object
    target: Target
    rest: dict
    parent: int
    c: int
    X: list
    noise: float


def simulate(n, d, rng):
    alive, children, times, t = list(range(n)), [], [], 0.0
    for k in range(n - 1):
        m = len(alive)
        t += rng.exponential() / (m * (m - 1) / 2)
        a, b = (alive.pop(int(rng.integers(len(alive)))) for _ in range(2))
        children.append((a, b))
        times.append(t)
        alive.append(n + k)
    z = np.zeros((2 * n - 1, d))
    at = np.append(np.zeros(n), times)
    for k in reversed(range(n - 1)):
        for x in children[k]:
            z[x] = z[n + k] + rng.normal(size=d) * math.sqrt(times[k] - at[x])
    return np.array(children), np.array(times), z[:n]


def leaves_of(tree, x):
    if tree.child[x, 0] < 0:
        return frozenset([int(x)])
    return leaves_of(tree, tree.child[x, 0]) | leaves_of(tree, tree.child[x, 1])


def make_case(seed, d, noise=0.0, n=None):
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(2, 9))
    children, times, X = simulate(n, d, rng)
    named = reference.from_arrays(children, times)
    c = int(rng.integers(0, 2 * n - 2))
    rest, parent, _ = reference.prune(named, c)
    tree, cand = empty_working_tree(n, d), empty_candidates(n, d)
    load(tree, children, times, X, np.full(len(X), float(noise)))
    leaves = frozenset(reference.leaves_under(named, c))
    node = next(x for x in range(2 * n - 1) if leaves_of(tree, x) == leaves)
    lost, sibling = tree.parent[node], sibling_of(tree, node)
    detach(tree, node)
    remove(tree.lineages, lost)
    refresh(tree, np.int64(tree.parent[sibling]))
    begin(cand)
    add_all_above(cand, tree, tree.time[node])
    pass_down(cand, tree, tree.mean[node], tree.time[node])
    target = Target(tree.var[node] - tree.time[node], n - 1.0, 0.5 * d)
    return Case(tree, cand, target, rest, parent, c, X.tolist(), noise)


def candidate_of(case, x):
    leaves = frozenset(reference.leaves_under(case.rest, x))
    return next(i for i in range(case.cand.counts[0]) if leaves_of(case.tree, case.cand.node[i]) == leaves)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("d", [0, 1, 3, 40])
def test_density_differs_from_the_joint_by_a_constant(d, noise):
    for seed in range(12):
        case = make_case(seed, d, noise)
        rng = np.random.default_rng(seed)
        n = len(case.X)
        found = reference.branches(case.rest, n, case.c)
        assert len(found) == case.cand.counts[0]
        gaps = []
        for x, lower, upper in found:
            branch = branch_of(case.cand, candidate_of(case, x))
            assert branch.lower == pytest.approx(lower)
            assert branch.upper == pytest.approx(upper)
            for t in rng.uniform(lower, min(upper, lower + 3.0), 3):
                joint = reference.log_joint(reference.graft(case.rest, case.parent, case.c, x, t), case.X, noise)
                gaps.append(joint - log_density(branch, case.target, case.tree.lineages, t))
        assert np.ptp(gaps) < 1e-9 * max(1.0, np.abs(gaps).max())


def proposals(case):
    """(branch, row) of every candidate, each traced alone."""
    weigh(case.cand, case.target, case.tree.lineages, Care())
    for i in range(case.cand.counts[0]):
        row = proposal_row(case.cand, i, case.target, case.tree.lineages, Care())
        yield i, branch_of(case.cand, i), row


def grid_on(case, row):
    """Many points between the knots of a proposal, and beyond them where the branch is endless."""
    made = case.cand.proposals
    first, end = made.ends[row]
    knots = made.t[row, first : end + 1].copy()
    if math.isinf(knots[-1]):
        knots[-1] = knots[-2] + 40.0
    near = np.append(0.0, np.geomspace(1e-9, 0.5, 200))  # dense towards both knots, where a steep piece has its mass
    pieces = [np.append(a + (b - a) * near, b - (b - a) * near) for a, b in pairwise(knots)]
    grid = np.unique(np.concatenate(pieces))
    return np.maximum(grid, 1e-9 * grid[1])  # at 0 two leaves have no density


@jit
def densities_at(t, branch, target, lineages, proposals, row):
    """log f and log q at many times: one call instead of two a time."""
    log_f, log_q = np.empty(t.size), np.empty(t.size)
    for i in range(t.size):
        log_f[i] = log_density(branch, target, lineages, t[i])
        log_q[i] = log_proposal(branch, proposals, row, t[i])
    return log_f, log_q


@pytest.mark.parametrize("d", [0, 1, 2, 8, 64, 1000, 10_000])
def test_proposal_is_close_to_the_density_and_knows_its_own_mass(d):
    distances, log_ratios = [], []
    for seed in range(15):
        case = make_case(100 + seed, d)
        for _, branch, row in proposals(case):
            t = grid_on(case, row)
            log_f, log_q = densities_at(t, branch, case.target, case.tree.lineages, case.cand.proposals, row)
            log_mass = case.cand.proposals.log_mass[row]
            assert np.trapezoid(np.exp(log_q - log_mass), t) == pytest.approx(1.0, abs=0.02)
            total = np.trapezoid(np.exp(log_f - log_f.max()), t)
            f = np.exp(log_f - log_f.max()) / total
            distances.append(0.5 * np.trapezoid(np.abs(f - np.exp(log_q - log_mass)), t))
            log_ratios.append(np.max((log_f - log_q)[log_f > log_f.max() - 20]))
    assert len(distances) > 40
    assert np.mean(distances) < 0.03
    assert np.max(log_ratios) < math.log(1e5)


@pytest.mark.parametrize("d", [0, 1, 8, 300])
def test_no_branch_holds_more_than_its_bound(d):
    for seed in range(20):
        case = make_case(200 + seed, d)
        for _, branch, row in proposals(case):
            bound = log_mass_bound(branch, case.target, case.tree.lineages)
            assert case.cand.proposals.log_mass[row] < bound + 0.05


def test_times_are_drawn_from_the_proposal():
    state = make_streams(np.random.default_rng(0), 1)[0]
    for seed in range(6):
        case = make_case(300 + seed, 4)
        for _, branch, row in proposals(case):
            made = case.cand.proposals
            t = grid_on(case, row)
            density = np.exp([log_proposal(branch, made, row, u) - made.log_mass[row] for u in t])
            steps = 0.5 * (density[1:] + density[:-1]) * np.diff(t)
            cdf = np.append(0.0, np.cumsum(steps)) + max(0.0, 1.0 - steps.sum()) * (t - t[0]) / (t[-1] - t[0])
            draws = np.array([draw_time(branch, made, row, state) for _ in range(400)])
            assert np.all((draws >= branch.lower) & (draws <= branch.upper))
            assert stats.kstest(np.interp(draws, t, cdf), "uniform").pvalue > 1e-5


def test_weights_of_untraced_branches_are_small_beside_the_best():
    case = make_case(7, 32, n=40)
    best = weigh(case.cand, case.target, case.tree.lineages, Care())
    rows = case.cand.row[: case.cand.counts[0]]
    weights = case.cand.log_weight[: case.cand.counts[0]]
    assert (rows == -2).sum() > 40
    assert np.all(weights[rows == -2] <= best - 7.0)
    assert weights[rows != -2].max() == best


def test_paths_make_a_set_closed_upwards_that_leaves_out_the_subtree():
    case = make_case(11, 3, n=30)
    tree, cand = case.tree, case.cand
    c = next(x for x in range(59) if tree.parent[x] < 0 and x != tree.top[0] and (x < 30 or tree.child[x, 0] >= 0))
    under = leaves_of(tree, c)
    begin(cand)
    for leaf in range(0, 30, 3):
        add_path(cand, tree, leaf, c, tree.time[c])
    nodes = [int(x) for x in cand.node[: cand.counts[0]]]
    assert nodes[0] == tree.top[0]
    assert len(set(nodes)) == len(nodes)
    for i, x in enumerate(nodes):
        assert cand.place[x] == i
        assert not leaves_of(tree, x) & under
        parent = int(tree.parent[x])
        if parent >= 0:
            assert parent in nodes[:i]
            assert tree.time[parent] > tree.time[c]
