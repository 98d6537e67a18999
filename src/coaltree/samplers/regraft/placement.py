"""The mass of all branches that a row may join: p(row | tree, other rows), and where new rows join a tree.

    Z = Σ_b ∫ f(b, t) dt      or, with Student's noise,      Z = ∫ p(s) Σ_b ∫ f_s(b, t) dt ds ,      P(b) = Z_b / Z ,

with the density f of an insertion (`insertion`), by the quadrature of `branch_density` on each branch, and by the
trapezoidal rule over log s, from the mode of the row's density to either side, past a second mode. The tree stays as it
is.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from ..._runtime.jit import jit
from ..._runtime.random_streams import uniform
from ..._runtime.typing import Int
from ...model.process.diffusion import LOG_2PI
from ...model.process.student_scales import scale_mode
from ...model.process.whitened import Problem
from ...numerics.borrow import borrow
from .branch_density import MIDDLE, Target, distance_at, draw_time, trace, variance_at
from .candidates import (
    Candidates,
    Quadrature,
    add_every_branch,
    branch_of,
    estimate_weights,
    log_total,
    proposal_row,
    renew_distances,
    too_close,
    weigh,
)
from .update import Engine, choose, make_engine
from .working_tree import load

_QUADRATURE = Quadrature(spacing=0.1, negligible=16.0)  # three digits of the log density
_STEP = 1.25  # between two scales, in standard deviations of log s: the trapezoidal rule is right to three digits
_MAX_STEPS, _NEGLIGIBLE = 24, 9.0  # to either side; they end where what is added is e^-9 of the whole


class Located(NamedTuple):
    """Rows on one tree, up to the constant of their density."""

    log_density: np.ndarray  # (m,) log Z
    log_mass: np.ndarray  # (m, 2n-1) log of each branch's part, by the node below it; (m, 0) if not asked for
    node: np.ndarray  # (m,) a branch drawn for each row, and
    time: np.ndarray  # (m,) a time on it, where masses are asked for


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
    out.
    """
    n, m = problem.n, len(rows)
    engine = make_engine(problem, problem.W)
    number = load(engine.tree, children, times, engine.W, engine.leaf_var)
    located = Located(np.empty(m), np.full((m, 2 * n - 1), -np.inf), np.empty(m, np.int64), np.empty(m))
    if m:
        _locate(engine, np.ascontiguousarray(rows, dtype=np.float64), float(level), half_df, streams, located)
    log_mass = located.log_mass.take(number, axis=1) - 0.5 * (problem.d * LOG_2PI + problem.log_det)
    return Located(logsumexp(log_mass, axis=1), log_mass, np.argsort(number)[located.node], located.time)


@jit
def _locate(
    engine: Engine, rows: np.ndarray, level: float, half_df: float, streams: np.ndarray, located: Located
) -> None:
    """Write masses and draws, with nodes as the working tree numbers them."""
    engine = borrow(engine)
    tree, cand = engine.tree, engine.candidates
    target = Target(level, float(len(engine.leaf_var)), engine.half_d, tree.lineages)
    add_every_branch(cand, tree, rows[0], 0.0)
    for r in range(rows.shape[0]):
        renew_distances(cand, tree.mean, rows[r])
        same = _identical(cand, target)
        if same >= 0:
            located.node[r], located.time[r] = cand.branches[same].node, 0.0
            located.log_mass[r, located.node[r]] = math.inf
        else:
            integrate(cand, target, half_df, _QUADRATURE, located, r, streams[r])


@jit
def _identical(cand: Candidates, target: Target) -> int:
    """The candidate above a leaf that equals the row, where the density is unbounded: no leaf noise, d > 1; or -1."""
    if target.half_d > 0.5:
        for i in range(cand.counts[0].candidates):
            if too_close(branch_of(cand.branches, i), target):
                return i
    return -1


@jit
def integrate(
    cand: Candidates,
    target: Target,
    half_df: float,
    quadrature: Quadrature,
    located: Located,
    r: Int,
    state: np.ndarray,
) -> None:
    """Write log Z of row r, whose candidates are made; the noise at a scale of 1 is that of the target."""
    located.log_density[r] = -math.inf
    if half_df == 0.0:
        _add_scale(cand, target, 0.0, quadrature, located, r, state)
        return
    mode, other, step = _span_of_scales(cand, target, half_df, quadrature)
    for sign in (1.0, -1.0):
        for k in range(0 if sign > 0.0 else 1, _MAX_STEPS):
            y = mode + sign * k * step
            log_weight = log_scale_weight(y, half_df) + math.log(step)
            here = _add_scale(cand, _at_scale(target, y), log_weight, quadrature, located, r, state)
            if k > 1 and sign * (y - other) > 0.0 and here < located.log_density[r] - _NEGLIGIBLE:
                break


@jit
def _add_scale(
    cand: Candidates,
    target: Target,
    log_weight: float,
    quadrature: Quadrature,
    located: Located,
    r: Int,
    state: np.ndarray,
) -> float:
    """Add the mass of row r at one scale, which is returned, and perhaps draw its place there."""
    cand, located = borrow(cand), borrow(located)
    best = weigh(cand, target, quadrature)
    log_sum = log_total(cand, best)
    located.log_density[r] = log_add(located.log_density[r], log_sum + log_weight)
    if located.log_mass.shape[1] > 0:
        for i in range(cand.counts[0].candidates):
            x, log_mass = cand.branches[i].node, cand.branches[i].log_weight
            if log_mass >= best - quadrature.negligible:
                located.log_mass[r, x] = log_add(located.log_mass[r, x], log_mass + log_weight)
        if uniform(state) < math.exp(log_sum + log_weight - located.log_density[r]):
            i = choose(cand, best, log_sum, state)
            row = proposal_row(cand, i, target, quadrature)
            located.node[r] = cand.branches[i].node
            located.time[r] = draw_time(branch_of(cand.branches, i), cand.proposals, row, state)
    return log_sum + log_weight


@jit
def _span_of_scales(
    cand: Candidates, target: Target, half_df: float, quadrature: Quadrature
) -> tuple[float, float, float]:
    """The likely log scales, that of a row alone on a branch and that of one close to others, and a step.

    They are equal where the mass at one of them is negligible.
    """
    mode, spread = _mode_from(cand, target, half_df, quadrature, 0.0)
    mode, spread = _mode_from(cand, target, half_df, quadrature, mode)  # a larger scale may have it join elsewhere
    other, other_spread = _mode_from(cand, target, half_df, quadrature, _nearest_scale(cand, target, half_df))
    spread = min(spread, other_spread)
    if abs(other - mode) > spread:
        log_mass = _log_mass_at(cand, target, half_df, quadrature, mode)
        log_mass_of_other = _log_mass_at(cand, target, half_df, quadrature, other)
        if abs(log_mass - log_mass_of_other) > _NEGLIGIBLE:
            mode = mode if log_mass > log_mass_of_other else other
            other = mode
    else:
        other = mode
    return mode, other, _STEP * spread


@jit
def _log_mass_at(cand: Candidates, target: Target, half_df: float, quadrature: Quadrature, y: float) -> float:
    best = weigh(cand, _at_scale(target, y), quadrature)
    return log_total(cand, best) + log_scale_weight(y, half_df)


@jit
def _mode_from(
    cand: Candidates, target: Target, half_df: float, quadrature: Quadrature, y: float
) -> tuple[float, float]:
    """Mode and spread of log s on the branch that seems best at a scale."""
    cand, scaled = borrow(cand), _at_scale(target, y)
    best, i = estimate_weights(cand, scaled), 0
    while cand.branches[i].log_weight < best:
        i += 1
    branch = branch_of(cand.branches, i)
    trace(branch, scaled, cand.proposals, np.int64(0), quadrature.spacing)
    t = cand.proposals.pieces[0, MIDDLE].t
    eps = distance_at(branch, (t - branch.t0) * branch.inv_length)
    return scale_mode(variance_at(branch, 0.0, t), target.var_less_time, target.half_d, half_df, eps)


@jit
def _nearest_scale(cand: Candidates, target: Target, half_df: float) -> float:
    """The log scale that a row most likely has if it joins the nearest node."""
    nearest, v = math.inf, 0.0
    for i in range(cand.counts[0].candidates):
        branch = branch_of(cand.branches, i)
        eps = distance_at(branch, (branch.lower - branch.t0) * branch.inv_length)
        if eps < nearest:
            nearest, v = eps, variance_at(branch, 0.0, branch.lower)
    return scale_mode(v, target.var_less_time, target.half_d, half_df, nearest)[0]


@jit(inline="always")
def _at_scale(target: Target, y: float) -> Target:
    """The density at log scale y of the noise."""
    return Target(target.var_less_time * math.exp(y), target.m, target.half_d, target.lineages)


@jit(inline="always")
def log_scale_weight(log_s: float, half_df: float) -> float:
    """Log density of log s under its prior."""
    return half_df * (math.log(half_df) - log_s - math.exp(-log_s)) - math.lgamma(half_df)


@jit(inline="always")
def log_add(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    high = max(a, b)
    return high if high == -math.inf else high + math.log(math.exp(a - high) + math.exp(b - high))
