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
from ...model.process.diffusion import LOG_2PI
from ...model.process.student_scales import scale_mode
from ...model.process.whitened import Problem
from .branch_density import MIDDLE, Target, draw_time, log_mass_bound, trace
from .candidates import (
    Care,
    add_all_above,
    begin,
    branch_of,
    empty_candidates,
    look_from,
    pass_down,
    proposal_row,
    too_close,
    weigh,
)
from .update import choose
from .working_tree import empty_working_tree, load

N_SCALES, _SCALES_BELOW = 13, 4  # one standard deviation apart: more above, where the tail is heavy
STEP = 1.25  # between two scales of a row that may join anywhere, in standard deviations of log s
MOST_STEPS, LITTLE = 24, 9.0  # to either side; it ends where what is added is e^-9 of the whole
NEGLIGIBLE = math.exp(-LITTLE)
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
    assert problem.W is not None
    n, p = problem.W.shape
    m = len(rows)
    tree, cand = empty_working_tree(n, p), empty_candidates(n, p)
    number = load(tree, children, times, problem.W, problem.leaf_vars())
    original = np.empty(2 * n - 1, np.int64)
    original[number] = np.arange(2 * n - 1)
    log_mass = np.full((m, 2 * n - 1), -np.inf)
    node, time = np.empty(m, np.int64), np.empty(m)
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    target = Target(float(level), float(n), 0.5 * problem.d)
    if m:
        _locate(tree, cand, original, rows, target, half_df, _CARE, streams, log_mass, node, time)
    log_mass -= 0.5 * (problem.d * LOG_2PI + problem.log_det)
    top = log_mass.max(axis=1, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        shares = np.where(log_mass == top[:, None], 1.0, np.exp(log_mass - top[:, None]))
    return Located(top + np.log(shares.sum(axis=1)), log_mass, node, time)


@jit(allocates=False)
def _locate(tree, cand, original, rows, target, half_df, care, streams, log_mass, node, time):
    begin(cand)
    add_all_above(cand, tree, 0.0)
    pass_down(cand, tree, rows[0], 0.0)
    for r in range(rows.shape[0]):
        look_from(cand, tree, rows[r])
        same = _identical(cand, target)
        if same >= 0:
            log_mass[r, original[cand.node[same]]] = math.inf
            node[r], time[r] = original[cand.node[same]], 0.0
            continue
        if half_df == 0.0:
            _add_scale(cand, tree, original, target, 0.0, care, r, -math.inf, streams, log_mass, node, time)
            continue
        mode, other, step = _span_of_scales(cand, target, tree.lineages, half_df, care)
        log_total = -math.inf
        for sign in (1.0, -1.0):
            for k in range(0 if sign > 0.0 else 1, MOST_STEPS):
                y = mode + sign * k * step
                scaled = Target(target.var_less_time * math.exp(y), target.m, target.half_d)
                log_weight = log_scale_weight(y, half_df) + math.log(step)
                before = log_total
                log_total = _add_scale(
                    cand, tree, original, scaled, log_weight, care, r, before, streams, log_mass, node, time
                )
                if k > 1 and sign * (y - other) > 0.0 and log_total - before < NEGLIGIBLE:
                    break


@jit(allocates=False)
def _add_scale(cand, tree, original, target, log_weight, care, r, log_total, streams, log_mass, node, time):
    """Add the mass that row r has on every branch at one scale, and perhaps draw its place there.

    `log_total` is the mass at the scales before; returned is that with this one.
    """
    lin = tree.lineages
    best = weigh(cand, target, lin, care)
    for i in range(cand.counts[0]):
        if cand.row[i] != -2:
            place = original[cand.node[i]]
            log_mass[r, place] = log_sum(log_mass[r, place], cand.log_weight[i] + log_weight)
    i, log_here = choose(cand, best, streams[r])
    log_total = log_sum(log_total, log_here + log_weight)
    if uniform(streams[r]) < math.exp(log_here + log_weight - log_total):
        row = proposal_row(cand, i, target, lin, care)
        node[r] = original[cand.node[i]]
        time[r] = draw_time(branch_of(cand, i), cand.proposals, row, streams[r])
    return log_total


@jit(allocates=False)
def _span_of_scales(cand, target, lin, half_df, care):
    """Where log s has its modes, the likelier first and one of them twice where the other is nothing; and a step."""
    mode, other, spread = modes_of_scale(cand, target, lin, half_df, care)
    if other != mode:
        log_mass, log_mass_of_other = -math.inf, -math.inf
        for which in range(2):
            y = other if which else mode
            scaled = Target(target.var_less_time * math.exp(y), target.m, target.half_d)
            best = weigh(cand, scaled, lin, care)
            total = 0.0
            for i in range(cand.counts[0]):
                total += math.exp(cand.log_weight[i] - best)
            here = best + math.log(total) + log_scale_weight(y, half_df)
            log_mass, log_mass_of_other = (log_mass, here) if which else (here, log_mass_of_other)
        if min(log_mass, log_mass_of_other) < max(log_mass, log_mass_of_other) - LITTLE:
            mode = mode if log_mass > log_mass_of_other else other
            other = mode
    return mode, other, STEP * spread


@jit(allocates=False)
def modes_of_scale(cand, target, lin, half_df, care):
    """The two log scales that an odd row may have, equal where they are one, and the smaller of their spreads.

    It may be a branch of its own with little noise, or be close to others with much.
    """
    mode, spread = _mode_from(cand, target, lin, care, half_df, 0.0)
    mode, spread = _mode_from(cand, target, lin, care, half_df, mode)  # a larger scale may have it join elsewhere
    other, other_spread = _mode_from(cand, target, lin, care, half_df, _nearest_scale(cand, target, half_df))
    spread = min(spread, other_spread)
    return mode, (other if abs(other - mode) > spread else mode), spread


@jit(allocates=False)
def _mode_from(cand, target, lin, care, half_df, y):
    """Mode and spread of log s on the branch that seems best at a scale."""
    scaled = Target(target.var_less_time * math.exp(y), target.m, target.half_d)
    highest, best = -math.inf, 0
    for i in range(cand.counts[0]):
        branch = branch_of(cand, i)
        bound = log_mass_bound(branch, scaled, lin) if branch.upper > branch.lower else -math.inf
        if bound > highest:
            highest, best = bound, i
    branch = branch_of(cand, best)
    trace(branch, scaled, lin, cand.proposals, 0, care.coarse)
    v, eps = variance_and_distance(branch, cand.proposals.t[0, MIDDLE])
    return scale_mode(v, target.var_less_time, target.half_d, half_df, eps)


@jit(allocates=False)
def _nearest_scale(cand, target, half_df):
    """The log scale that a row most likely has if it joins the nearest node."""
    nearest, v = math.inf, 0.0
    for i in range(cand.counts[0]):
        branch = branch_of(cand, i)
        v_here, eps = variance_and_distance(branch, branch.lower)
        if eps < nearest:
            nearest, v = eps, v_here
    return scale_mode(v, target.var_less_time, target.half_d, half_df, nearest)[0]


@jit(inline="always", allocates=False)
def log_scale(centre, spread, k):
    """The k-th log scale at which a density is asked."""
    return centre + spread * (k - _SCALES_BELOW)


@jit(inline="always", allocates=False)
def log_scale_weight(log_s, half_df):
    """Log density of log s under its prior."""
    return half_df * (math.log(half_df) - log_s - math.exp(-log_s)) - math.lgamma(half_df)


@jit(inline="always", allocates=False)
def log_sum(a, b):
    """log(e^a + e^b)."""
    high = max(a, b)
    return high if high == -math.inf else high + math.log(math.exp(a - high) + math.exp(b - high))


@jit(inline="always", allocates=False)
def variance_and_distance(branch, t):
    """What the tree says of a leaf that joins a branch at t: its variance, and the squared distance to the row."""
    A = t - branch.t0
    z = A * branch.inv_length
    return t + A * (1.0 - z), max(branch.e0 + z * (branch.e1 + z * branch.e2), 0.0)


@jit(allocates=False)
def _identical(cand, target):
    """The candidate above a leaf that equals the row, where the density has no bound: no leaf noise, d > 1; or -1."""
    if target.half_d <= 0.5:
        return -1
    for i in range(cand.counts[0]):
        if too_close(branch_of(cand, i), target):
            return i
    return -1
