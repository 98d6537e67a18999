"""The conditional of a pruned subtree: against the full joint density, and its proposal against quadrature."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from coaltree._runtime.jit import jit
from coaltree._runtime.random_streams import make_streams
from coaltree.samplers.regraft.branch_density import draw_time, log_density, log_mass_estimate, log_proposal
from coaltree.samplers.regraft.candidates import Quadrature, branch_of, proposal_row, weigh
from tests.pruned_trees import leaves_of, make_case
from tests.reference import regraft as reference


def candidate_of(case, x):
    leaves = frozenset(reference.leaves_under(case.rest, x))
    return next(
        i
        for i in range(case.cand.counts["candidates"][0])
        if leaves_of(case.tree, case.cand.branches["node"][i]) == leaves
    )


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("d", [0, 1, 3, 40])
def test_log_density_differs_from_the_joint_by_a_constant(d, noise):
    for seed in range(12):
        case = make_case(seed, d, noise)
        rng = np.random.default_rng(seed)
        n = len(case.X)
        found = reference.branches(case.rest, n, case.c)
        assert len(found) == case.cand.counts["candidates"][0]
        gaps = []
        for x, lower, upper in found:
            branch = branch_of(case.cand.branches, candidate_of(case, x))
            assert branch.lower == pytest.approx(lower)
            assert branch.upper == pytest.approx(upper)
            for t in rng.uniform(lower, min(upper, lower + 3.0), 3):
                joint = reference.log_joint(reference.graft(case.rest, case.parent, case.c, x, t), case.X, noise)
                gaps.append(joint - log_density(branch, case.target, t))
        assert np.ptp(gaps) < 1e-9 * max(1.0, np.abs(gaps).max())


def proposals(case):
    """(branch, row) of every candidate, each traced alone."""
    weigh(case.cand, case.target, Quadrature())
    for i in range(case.cand.counts["candidates"][0]):
        row = proposal_row(case.cand, i, case.target, Quadrature())
        yield i, branch_of(case.cand.branches, i), row


def grid_on(case, row):
    """Many points between the knots of a proposal, and beyond them where the branch is endless."""
    made = case.cand.proposals
    first, end, _ = made.rows[row]
    knots = made.pieces["t"][row, first : end + 1].copy()
    if math.isinf(knots[-1]):
        knots[-1] = knots[-2] + 40.0
    near = np.append(0.0, np.geomspace(1e-9, 0.5, 200))  # dense towards both knots, where a steep piece has its mass
    pieces = [np.append(a + (b - a) * near, b - (b - a) * near) for a, b in pairwise(knots)]
    grid = np.unique(np.concatenate(pieces))
    return np.maximum(grid, 1e-9 * grid[1])  # at 0 two leaves have no density


@jit
def densities_at(t, branch, target, proposals, row):
    """log f and log q at many times: one call instead of two a time."""
    log_f, log_q = np.empty(t.size), np.empty(t.size)
    for i in range(t.size):
        log_f[i] = log_density(branch, target, t[i])
        log_q[i] = log_proposal(branch, proposals, row, t[i])
    return log_f, log_q


@pytest.mark.parametrize("d", [0, 1, 2, 8, 64, 1000, 10_000])
def test_log_proposal_is_close_to_the_density_and_knows_its_own_mass(d):
    distances, log_ratios = [], []
    for seed in range(15):
        case = make_case(100 + seed, d)
        for _, branch, row in proposals(case):
            t = grid_on(case, row)
            log_f, log_q = densities_at(t, branch, case.target, case.cand.proposals, row)
            log_mass = case.cand.proposals.rows["log_mass"][row]
            assert np.trapezoid(np.exp(log_q - log_mass), t) == pytest.approx(1.0, abs=0.02)
            total = np.trapezoid(np.exp(log_f - log_f.max()), t)
            f = np.exp(log_f - log_f.max()) / total
            distances.append(0.5 * np.trapezoid(np.abs(f - np.exp(log_q - log_mass)), t))
            log_ratios.append(np.max((log_f - log_q)[log_f > log_f.max() - 20]))
    assert len(distances) > 40
    assert np.mean(distances) < 0.03
    assert np.max(log_ratios) < math.log(1e5)


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("d", [0, 1, 2, 8, 300])
def test_log_mass_estimate_is_close_to_the_mass_and_never_far_below(d, noise):
    """A branch that is proposed far less often than it should be would hold a subtree for long."""
    errors, weights = [], []
    for seed in range(40):
        case = make_case(400 + seed, d, noise, n=12)
        best = weigh(case.cand, case.target, Quadrature())
        for _, branch, row in proposals(case):
            log_mass = case.cand.proposals.rows["log_mass"][row]
            errors.append(log_mass_estimate(branch, case.target) - log_mass)
            weights.append(math.exp(min(log_mass - best, 0.0)))
    assert len(errors) > 50
    assert min(errors) > -2.6
    assert np.average(np.abs(errors - np.average(errors, weights=weights)), weights=weights) < 1.2


def test_draw_time_draws_from_the_proposal():
    state = make_streams(np.random.default_rng(0), 1)[0]
    for seed in range(6):
        case = make_case(300 + seed, 4)
        for _, branch, row in proposals(case):
            made = case.cand.proposals
            t = grid_on(case, row)
            density = np.exp([log_proposal(branch, made, row, u) - made.rows["log_mass"][row] for u in t])
            steps = 0.5 * (density[1:] + density[:-1]) * np.diff(t)
            cdf = np.append(0.0, np.cumsum(steps)) + max(0.0, 1.0 - steps.sum()) * (t - t[0]) / (t[-1] - t[0])
            draws = np.array([draw_time(branch, made, row, state) for _ in range(400)])
            assert np.all((draws >= branch.lower) & (draws <= branch.upper))
            assert stats.kstest(np.interp(draws, t, cdf), "uniform").pvalue > 1e-5
