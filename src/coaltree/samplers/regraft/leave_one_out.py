"""How likely each leaf is, given all others: the leaf is pruned, and the mass of all places to regraft it summed.

    Z_i = p(x_i | other rows, tree without i, Φ) = Σ_b ∫ f(b, t) dt ,

for Kingman's coalescent without a leaf is Kingman's coalescent. Student's scale of the row is integrated out, as for
new rows (`placement`).

Of many branches, those on the paths to the root from near leaves are all counted, and of the rest a sample: the paths
from m leaves drawn at random. A branch above n_b of n leaves is met with probability π_b, and counts 1 / π_b,

    π_b = 1 - (1 - n_b / n)^m ,

so that the expected sum is Z.
"""

import math

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.typing import Int
from ...model.process.diffusion import LOG_2PI, squared_distance
from ...model.process.leaf_messages import Walk, begin_walk, expected_var, next_leaf
from ...model.process.student_scales import scale_mode
from ...model.process.whitened import Problem
from ..base import Merges
from .branch_density import Target, log_mass_bound, trace
from .candidates import Candidates, Care, add_clade, add_path, begin, branch_of, pass_down
from .lineage_counts import view_of
from .placement import MAX_STEPS, NEGLIGIBLE, STEP, at_scale, log_scale_weight, log_sum, modes_of_scale
from .update import Engine, borrowed, make_engine
from .working_tree import load, prune, regraft

_CARE = Care(coarse=0.25, negligible=10.0)  # two thousandths of a nat
_N_SCALES, _SCALES_BELOW = 13, 4  # one standard deviation apart: more above, where the tail is heavy


def log_density_of_leaves(
    children: np.ndarray,
    times: np.ndarray,
    problem: Problem,
    leaves: np.ndarray,
    unit: np.ndarray,
    half_df: float = 0.0,
    neighbors: np.ndarray | None = None,
    random_leaves: np.ndarray | None = None,
) -> np.ndarray:
    """(k,) log Z of the `leaves` (k,), whose noise has variance `unit` (k,), times a scale where `half_df` > 0.

    With `neighbors` (levels, n, …) only branches on the paths to the root from these and from `random_leaves` (k, m)
    are counted; without random leaves Z is too small.
    """
    engine = make_engine(problem, np.ascontiguousarray(problem.W), neighbors)
    merges = np.array(children, dtype=np.int64), np.array(times, dtype=np.float64)
    found = np.array(unit, dtype=np.float64)
    random_leaves = np.empty((len(leaves), 0), np.int64) if random_leaves is None else random_leaves
    _leave_out(engine, merges, np.array(leaves), half_df, random_leaves, found)
    return found - 0.5 * (problem.d * LOG_2PI + problem.log_det)


@jit
def _leave_out(
    engine: Engine, merges: Merges, leaves: np.ndarray, half_df: float, random_leaves: np.ndarray, found: np.ndarray
) -> None:
    """Write log Z of each leaf into `found`, which holds the variances of their noise."""
    engine, (children, times) = borrowed(engine), merges
    number = load(engine.tree, children, times, engine.W, engine.leaf_var)
    share = np.empty(number.size)  # of the leaves under each node
    n = times.size + 1
    for x in range(number.size):
        below = share[number[children[x - n, 0]]] + share[number[children[x - n, 1]]] if x >= n else 1.0 / n
        share[number[x]] = below
    for k in range(leaves.size):
        found[k] = _log_mass(engine, leaves[k], found[k], half_df, random_leaves[k], share)


@jit
def _log_mass(
    engine: Engine, leaf: Int, unit: float, half_df: float, random_leaves: np.ndarray, share: np.ndarray
) -> float:
    """Take a leaf off, sum the mass of all branches, and put it back where it was."""
    tree, cand = engine.tree, engine.candidates
    parent, x, t = prune(tree, leaf)
    begin(cand.counts)
    if engine.neighbors.shape[0] == 0:
        add_clade(cand, tree.nodes, tree.top[0], 0.0)
    else:
        for level in range(engine.neighbors.shape[0]):
            for y in engine.neighbors[level, leaf]:
                if y >= 0:
                    add_path(cand, tree.nodes, np.int64(y), leaf, 0.0)
    n_near = cand.counts[0]
    for y in random_leaves:
        add_path(cand, tree.nodes, y, leaf, 0.0)
    for i in range(cand.counts[0]):
        missed = (1.0 - share[cand.branches[i].node]) ** random_leaves.size if i >= n_near else 0.0
        cand.branches[i].log_multiple = -math.log1p(-missed)
    pass_down(cand, tree, tree.mean[leaf], 0.0)
    total = _integrate(cand, Target(unit, tree.top[1] - 1.0, engine.half_d, view_of(tree.lineages)), half_df)
    regraft(tree, leaf, parent, x, t)
    return total


@jit
def _integrate(cand: Candidates, target: Target, half_df: float) -> float:
    """Log of the mass of all candidates, the scale integrated out by the trapezoidal rule over log s.

    From the likelier mode of log s to either side, past the other one, until little is left.
    """
    if half_df == 0.0:
        return _total(cand, target, -math.inf)
    mode, other, spread = modes_of_scale(cand, target, half_df, _CARE)
    total = _total_at(cand, target, half_df, mode, 0.0, -math.inf)
    if other != mode:
        beside = _total_at(cand, target, half_df, other, 0.0, -math.inf)
        if beside > total:
            mode, other, total, beside = other, mode, beside, total
        if beside < total - NEGLIGIBLE:
            other = mode
    step = STEP * spread
    total += math.log(step)
    for sign in (1.0, -1.0):
        for k in range(1, MAX_STEPS):
            y = mode + sign * k * step
            here = _total_at(cand, target, half_df, y, math.log(step), total)
            total = log_sum(total, here)
            if here < total - NEGLIGIBLE and k > 1 and sign * (y - other) > 0.0:
                break
    return total


@jit
def _total_at(cand: Candidates, target: Target, half_df: float, y: float, log_step: float, floor: float) -> float:
    log_weight = log_scale_weight(y, half_df) + log_step
    return _total(cand, at_scale(target, y), floor - log_weight) + log_weight


@jit
def _total(cand: Candidates, target: Target, floor: float) -> float:
    """Log of the mass of all candidates, without those far below the most likely one or below the floor."""
    branches, n = cand.branches, cand.counts[0]
    highest, first = -math.inf, np.int64(0)
    for i in range(n):
        branches[i].log_weight = log_mass_bound(branch_of(branches, i), target) + branches[i].log_multiple
        if branches[i].log_weight > highest:
            highest, first = branches[i].log_weight, i
    if highest < floor - _CARE.negligible:
        return -math.inf
    total = _traced(cand, target, first)
    branches[first].log_weight = -math.inf
    floor = max(total, floor)
    for i in range(n):
        if branches[i].log_weight > floor - _CARE.negligible:
            mass = _traced(cand, target, i)
            total, floor = log_sum(total, mass), max(floor, mass)
    return total


@jit
def _traced(cand: Candidates, target: Target, i: Int) -> float:
    """Log of the mass of the i-th candidate, times what it counts."""
    log_mass = trace(branch_of(cand.branches, i), target, cand.proposals, np.int64(0), _CARE.coarse)
    return log_mass + cand.branches[i].log_multiple


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


@jit
def _beside_others(walk: Walk, unit: np.ndarray, half_d: float, half_df: float, found: np.ndarray) -> None:
    i = next_leaf(walk)
    while i >= 0:
        eps, v = squared_distance(walk.mean[i], walk.outward[walk.depth[0]]), expected_var(walk)
        if half_df == 0.0:
            found[i] = _log_normal(eps, v + unit[i], half_d)
        else:
            centre, spread = scale_mode(v, unit[i], half_d, half_df, eps)
            found[i] = -math.inf
            for k in range(_N_SCALES):
                log_s = _log_scale(centre, spread, k)
                here = _log_normal(eps, v + unit[i] * math.exp(log_s), half_d)
                found[i] = log_sum(found[i], here + log_scale_weight(log_s, half_df) + math.log(spread))
        i = next_leaf(walk)


@jit(inline="always")
def _log_scale(centre: float, spread: float, k: Int) -> float:
    """The k-th log scale at which a density is evaluated."""
    return centre + spread * (k - _SCALES_BELOW)


@jit(inline="always")
def _log_normal(eps: float, v: float, half_d: float) -> float:
    return -half_d * math.log(v) - 0.5 * eps / v
