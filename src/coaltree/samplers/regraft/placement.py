"""Where new rows would join a tree that stays as it is: the mass of every branch, and one draw of branch and time.

The density of (branch, time) is that of an insertion (`insertion`), normalised:

    p(x | X, tree) = Σ_b ∫ f(b, t) dt ,      P(b | x) = ∫ f(b, t) dt / p(x | X, tree) ,

by the quadrature of `branch_density` with knots close enough for three digits of the log density.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import uniform
from ..._runtime.typing import Int
from ...model.process.diffusion import LOG_2PI
from ...model.process.student_scales import scale_mode
from ...model.process.whitened import Problem
from .branch_density import MIDDLE, Target, distance_at, draw_time, log_mass_bound, trace, variance_at
from .candidates import (
    Candidates,
    Care,
    add_every_branch,
    branch_of,
    proposal_row,
    renew_distances,
    sum_of_weights,
    too_close,
    weigh,
)
from .lineage_counts import view_of
from .update import Engine, borrowed, choose, make_engine
from .working_tree import load

STEP = 1.25  # between two scales of a row that may join anywhere, in standard deviations of log s
MAX_STEPS, NEGLIGIBLE = 24, 9.0  # to either side; they end where what is added is e^-9 of the whole
_NEGLIGIBLE_SHARE = math.exp(-NEGLIGIBLE)
_CARE = Care(coarse=0.1, negligible=16.0)


class Located(NamedTuple):
    """New rows on one tree."""

    log_density: np.ndarray  # (m,) log p(x | X, tree, Φ)
    log_mass: np.ndarray  # (m, 2n-1) log p(x, b | X, tree, Φ) of the branch above each node, -inf where it is nothing
    node: np.ndarray  # (m,) a branch drawn for each row, by the node below it
    time: np.ndarray  # (m,) and a time on it


def locate(
    children: np.ndarray,
    times: np.ndarray,
    problem: Problem,
    rows: np.ndarray,
    streams: np.ndarray,
    level: float = 0.0,
    half_df: float = 0.0,
) -> Located:
    """Place whitened rows (m, p) on a tree of the rows of a `Problem`; `streams` (m, 4) move on.

    `level` is the variance of their noise. With `half_df` > 0 its tails are Student's, and the scales are integrated
    out: by the trapezoidal rule over log s, from the mode of each row's density to either side, past a second mode.
    """
    n, m = problem.n, len(rows)
    engine = make_engine(problem, problem.W)
    number = load(engine.tree, children, times, engine.W, engine.leaf_var)
    found = Located(np.empty(m), np.full((m, 2 * n - 1), -np.inf), np.empty(m, np.int64), np.empty(m))
    if m:
        _locate(engine, np.ascontiguousarray(rows, dtype=np.float64), float(level), half_df, streams, found)
    log_mass = found.log_mass.take(number, axis=1) - 0.5 * (problem.d * LOG_2PI + problem.log_det)
    top = log_mass.max(axis=1, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        shares = np.where(log_mass == top[:, None], 1.0, np.exp(log_mass - top[:, None]))
    return Located(top + np.log(shares.sum(axis=1)), log_mass, np.argsort(number)[found.node], found.time)


@jit
def _locate(
    engine: Engine, rows: np.ndarray, level: float, half_df: float, streams: np.ndarray, found: Located
) -> None:
    """Fill in masses and draws, with nodes as the working tree numbers them."""
    engine = borrowed(engine)
    tree, cand = engine.tree, engine.candidates
    target = Target(level, float(len(engine.leaf_var)), engine.half_d, view_of(tree.lineages))
    add_every_branch(cand, tree, rows[0], 0.0)
    for r in range(rows.shape[0]):
        renew_distances(cand, tree.mean, rows[r])
        same = _identical(cand, target)
        if same >= 0:
            found.node[r], found.time[r] = cand.branches[same].node, 0.0
            found.log_mass[r, found.node[r]] = math.inf
            continue
        log_total = -math.inf
        if half_df == 0.0:
            _add_scale(cand, target, 0.0, r, log_total, streams[r], found)
            continue
        mode, other, step = _span_of_scales(cand, target, half_df)
        for sign in (1.0, -1.0):
            for k in range(0 if sign > 0.0 else 1, MAX_STEPS):
                y = mode + sign * k * step
                before, log_weight = log_total, log_scale_weight(y, half_df) + math.log(step)
                log_total = _add_scale(cand, at_scale(target, y), log_weight, r, before, streams[r], found)
                if k > 1 and sign * (y - other) > 0.0 and log_total - before < _NEGLIGIBLE_SHARE:
                    break


@jit
def _add_scale(
    cand: Candidates, target: Target, log_weight: float, r: Int, log_total: float, state: np.ndarray, found: Located
) -> float:
    """Add the mass of row r on every branch at one scale to `log_total`, and perhaps draw its place there."""
    best = weigh(cand, target, _CARE)
    for i in range(cand.counts[0]):
        branch = cand.branches[i]
        if branch.row != -2:
            here = branch.log_weight + log_weight
            found.log_mass[r, branch.node] = log_sum(found.log_mass[r, branch.node], here)
    i, log_here = choose(cand, best, state)
    log_total = log_sum(log_total, log_here + log_weight)
    if uniform(state) < math.exp(log_here + log_weight - log_total):
        row = proposal_row(cand, i, target, _CARE.coarse)
        found.node[r] = cand.branches[i].node
        found.time[r] = draw_time(branch_of(cand.branches, i), cand.proposals, row, state)
    return log_total


@jit
def _span_of_scales(cand: Candidates, target: Target, half_df: float) -> tuple[float, float, float]:
    """The two modes of log s, equal where one of them has negligible mass, and a step."""
    mode, other, spread = modes_of_scale(cand, target, half_df, _CARE)
    if other != mode:
        log_mass = _log_mass_at(cand, target, half_df, mode)
        log_mass_of_other = _log_mass_at(cand, target, half_df, other)
        if min(log_mass, log_mass_of_other) < max(log_mass, log_mass_of_other) - NEGLIGIBLE:
            mode = mode if log_mass > log_mass_of_other else other
            other = mode
    return mode, other, STEP * spread


@jit
def _log_mass_at(cand: Candidates, target: Target, half_df: float, y: float) -> float:
    """Log of the mass of all candidates at log scale y, times the density of y."""
    best = weigh(cand, at_scale(target, y), _CARE)
    return best + math.log(sum_of_weights(cand, best)) + log_scale_weight(y, half_df)


@jit
def modes_of_scale(cand: Candidates, target: Target, half_df: float, care: Care) -> tuple[float, float, float]:
    """The two likely log scales of a row, alone on a branch or close to others, and the smaller of their spreads."""
    mode, spread = _mode_from(cand, target, care, half_df, 0.0)
    mode, spread = _mode_from(cand, target, care, half_df, mode)  # a larger scale may have it join elsewhere
    other, other_spread = _mode_from(cand, target, care, half_df, _nearest_scale(cand, target, half_df))
    spread = min(spread, other_spread)
    return mode, (other if abs(other - mode) > spread else mode), spread


@jit
def _mode_from(cand: Candidates, target: Target, care: Care, half_df: float, y: float) -> tuple[float, float]:
    """Mode and spread of log s on the branch that seems best at a scale."""
    scaled = at_scale(target, y)
    highest, best = -math.inf, 0
    for i in range(cand.counts[0]):
        bound = log_mass_bound(branch_of(cand.branches, i), scaled)
        if bound > highest:
            highest, best = bound, i
    branch = branch_of(cand.branches, best)
    trace(branch, scaled, cand.proposals, np.int64(0), care.coarse)
    t = cand.proposals.pieces[0, MIDDLE].t
    eps = distance_at(branch, (t - branch.t0) * branch.inv_length)
    return scale_mode(variance_at(branch, 0.0, t), target.var_less_time, target.half_d, half_df, eps)


@jit
def _nearest_scale(cand: Candidates, target: Target, half_df: float) -> float:
    """The log scale that a row most likely has if it joins the nearest node."""
    nearest, v = math.inf, 0.0
    for i in range(cand.counts[0]):
        branch = branch_of(cand.branches, i)
        eps = distance_at(branch, (branch.lower - branch.t0) * branch.inv_length)
        if eps < nearest:
            nearest, v = eps, variance_at(branch, 0.0, branch.lower)
    return scale_mode(v, target.var_less_time, target.half_d, half_df, nearest)[0]


@jit(inline="always")
def at_scale(target: Target, y: float) -> Target:
    """The density at log scale y of the noise."""
    return Target(target.var_less_time * math.exp(y), target.m, target.half_d, target.lineages)


@jit(inline="always")
def log_scale_weight(log_s: float, half_df: float) -> float:
    """Log density of log s under its prior."""
    return half_df * (math.log(half_df) - log_s - math.exp(-log_s)) - math.lgamma(half_df)


@jit(inline="always")
def log_sum(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    high = max(a, b)
    return high if high == -math.inf else high + math.log(math.exp(a - high) + math.exp(b - high))


@jit
def _identical(cand: Candidates, target: Target) -> int:
    """The candidate above a leaf that equals the row, where the density is unbounded: no leaf noise, d > 1; or -1."""
    if target.half_d > 0.5:
        for i in range(cand.counts[0]):
            if too_close(branch_of(cand.branches, i), target):
                return i
    return -1
