"""How likely each leaf is, given all others: the leaf is pruned, and the mass of all places to regraft it summed.

    Z_i = p(x_i | other rows, tree without i, Φ) = Σ_b ∫ f(b, t) dt ,

for Kingman's coalescent without a leaf is Kingman's coalescent. Student's scale of the row is integrated out, as for
new rows (`placement`). The tree is as it was after each leaf.

Of many branches, those on the paths to the root from near leaves are all looked at, and of the rest a sample: the paths
from m strays, leaves drawn at random. A branch above n_b of n leaves is met with probability π_b, and counts 1 / π_b,

    π_b = 1 - (1 - n_b / n)^m ,

so that the expected sum is Z.
"""

import math

import numpy as np

from ..._runtime.jit import jit
from ...model.process.diffusion import LOG_2PI, squared_distance
from ...model.process.leaf_messages import begin_walk, expected_var, next_leaf
from ...model.process.student_scales import scale_mode
from ...model.process.whitened import Problem
from .branch_density import Target, log_mass_bound, trace
from .candidates import Care, add_all_above, add_path, begin, branch_of, pass_down
from .lineage_counts import add, remove
from .placement import LITTLE, MOST_STEPS, N_SCALES, STEP, log_scale, log_scale_weight, log_sum, modes_of_scale
from .update import make_engine
from .working_tree import attach, detach, load, refresh, sibling_of

_CARE = Care(coarse=0.25, negligible=10.0)  # two thousandths of a nat
_MULTIPLE = 7  # where the log of what a candidate counts is kept, behind the scalars of its branch


def log_density_of_leaves(
    children: np.ndarray,
    times: np.ndarray,
    problem: Problem,
    leaves: np.ndarray,
    unit: np.ndarray,
    half_df: float = 0.0,
    neighbors: np.ndarray | None = None,
    strays: np.ndarray | None = None,
) -> np.ndarray:
    """(k,) log Z of the `leaves` (k,), whose noise has variance `unit` (k,), times a scale where `half_df` > 0.

    With lists of `neighbors` (levels, n, …) only branches on the paths to the root from these and from `strays` (k, m)
    are looked at; without strays Z is too small.
    """
    assert problem.W is not None
    engine = make_engine(problem, np.ascontiguousarray(problem.W), neighbors)
    children, times = np.array(children, dtype=np.int64), np.array(times, dtype=np.float64)
    found = np.empty(len(leaves))
    strays = np.empty((len(leaves), 0), np.int64) if strays is None else strays
    _leave_out(engine, children, times, np.array(leaves), np.array(unit), half_df, _CARE, strays, found)
    return found - 0.5 * (problem.d * LOG_2PI + problem.log_det)


@jit
def _leave_out(engine, children, times, leaves, unit, half_df, care, strays, found):
    number = load(engine.tree, children, times, engine.W, engine.leaf_var)
    share = np.empty(number.size)  # of the leaves under each node
    n = times.size + 1
    for x in range(number.size):
        below = share[number[children[x - n, 0]]] + share[number[children[x - n, 1]]] if x >= n else 1.0 / n
        share[number[x]] = below
    for k in range(leaves.size):
        found[k] = _log_mass(engine, leaves[k], unit[k], half_df, care, strays[k], share)


@jit(allocates=False)
def _log_mass(engine, leaf, unit, half_df, care, strays, share):
    """Take a leaf off, sum the mass of all branches, and put it back where it was."""
    tree, cand = engine.tree, engine.candidates
    parent, x = np.int64(tree.parent[leaf]), sibling_of(tree, leaf)
    t = tree.time[parent]
    detach(tree, leaf)
    remove(tree.lineages, parent)
    refresh(tree, np.int64(tree.parent[x]))
    begin(cand)
    if engine.neighbors.shape[0] == 0:
        add_all_above(cand, tree, 0.0)
    else:
        for level in range(engine.neighbors.shape[0]):
            for y in engine.neighbors[level, leaf]:
                if y >= 0:
                    add_path(cand, tree, np.int64(y), leaf, 0.0)
    n_near = cand.counts[0]
    for y in strays:
        add_path(cand, tree, y, leaf, 0.0)
    for i in range(cand.counts[0]):
        missed = (1.0 - share[cand.node[i]]) ** strays.size if i >= n_near else 0.0
        cand.scalars[i, _MULTIPLE] = -math.log1p(-missed)
    pass_down(cand, tree, tree.mean[leaf], 0.0)
    total = _integrate(cand, Target(unit, tree.top[1] - 1.0, engine.half_d), tree.lineages, half_df, care)
    attach(tree, leaf, parent, x, t)
    add(tree.lineages, parent, t)
    refresh(tree, parent)
    return total


@jit(allocates=False)
def _integrate(cand, target, lin, half_df, care):
    """Log of the mass of all candidates, the scale integrated out by the trapezoidal rule over log s.

    An odd row may be a branch of its own with little noise, or be close to others with much: from the likelier of
    these two modes to either side, past the other one, until little is left.
    """
    if half_df == 0.0:
        return _total(cand, target, lin, care, -math.inf)
    mode, other, spread = modes_of_scale(cand, target, lin, half_df, care)
    total = _at_scale(cand, target, lin, care, half_df, mode, 0.0, -math.inf)
    if other != mode:
        beside = _at_scale(cand, target, lin, care, half_df, other, 0.0, -math.inf)
        if beside > total:
            mode, other, total, beside = other, mode, beside, total
        if beside < total - LITTLE:
            other = mode
    step = STEP * spread
    total += math.log(step)
    for sign in (1.0, -1.0):
        for k in range(1, MOST_STEPS):
            y = mode + sign * k * step
            here = _at_scale(cand, target, lin, care, half_df, y, math.log(step), total)
            total = log_sum(total, here)
            if here < total - LITTLE and k > 1 and sign * (y - other) > 0.0:
                break
    return total


@jit(allocates=False)
def _at_scale(cand, target, lin, care, half_df, y, log_step, floor):
    log_weight = log_scale_weight(y, half_df) + log_step
    scaled = Target(target.var_less_time * math.exp(y), target.m, target.half_d)
    return _total(cand, scaled, lin, care, floor - log_weight) + log_weight


@jit(allocates=False)
def _total(cand, target, lin, care, floor):
    """Log of the mass of all candidates; those far below the most likely one, or below the floor, are left out."""
    highest, first = -math.inf, 0
    for i in range(cand.counts[0]):
        branch = branch_of(cand, i)
        bound = log_mass_bound(branch, target, lin) if branch.upper > branch.lower else -math.inf
        cand.log_weight[i] = bound + cand.scalars[i, _MULTIPLE]
        if cand.log_weight[i] > highest:
            highest, first = cand.log_weight[i], i
    if highest < floor - care.negligible:
        return -math.inf
    best = trace(branch_of(cand, first), target, lin, cand.proposals, 0, care.coarse) + cand.scalars[first, _MULTIPLE]
    cand.log_weight[first] = -math.inf
    total, floor = best, max(best, floor)
    for i in range(cand.counts[0]):
        if cand.log_weight[i] > floor - care.negligible:
            mass = trace(branch_of(cand, i), target, lin, cand.proposals, 0, care.coarse) + cand.scalars[i, _MULTIPLE]
            total, floor = log_sum(total, mass), max(floor, mass)
    return total


def log_density_of_replicates(
    children: np.ndarray,
    times: np.ndarray,
    problem: Problem,
    row_var: np.ndarray,
    wanted: np.ndarray,
    unit: np.ndarray,
    half_df: float = 0.0,
) -> np.ndarray:
    """(N,) log density of rows that share their leaf with others, which hold its place: NaN for rows not `wanted` (N,).

    The tree is over the rows of the problem, replicates merged at time 0. Everything else says that a row's leaf has
    value N(m, v Φ), so that x ~ N(m, (v + unit · s) Φ).
    """
    rows = problem.rows
    assert rows is not None
    walk = begin_walk(children, times, rows, row_var, np.array(wanted))
    found = np.full(len(rows), np.nan)
    _beside_others(walk, np.array(unit), 0.5 * problem.d, half_df, found)
    return found - 0.5 * (problem.d * LOG_2PI + problem.log_det)


@jit(allocates=False)
def _beside_others(walk, unit, half_d, half_df, found):
    i = next_leaf(walk)
    while i >= 0:
        eps, v = squared_distance(walk.mean[i], walk.outward[walk.depth[0]]), expected_var(walk)
        if half_df == 0.0:
            found[i] = _log_normal(eps, v + unit[i], half_d)
        else:
            centre, spread = scale_mode(v, unit[i], half_d, half_df, eps)
            found[i] = -math.inf
            for k in range(N_SCALES):
                log_s = log_scale(centre, spread, k)
                here = _log_normal(eps, v + unit[i] * math.exp(log_s), half_d)
                found[i] = log_sum(found[i], here + log_scale_weight(log_s, half_df) + math.log(spread))
        i = next_leaf(walk)


@jit(inline="always", allocates=False)
def _log_normal(eps, v, half_d):
    return -half_d * math.log(v) - 0.5 * eps / v
