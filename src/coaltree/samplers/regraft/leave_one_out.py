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
from ...model.process.diffusion import LOG_2PI, squared_distance
from ...model.process.leaf_messages import Walk, begin_walk, expected_var, next_leaf
from ...model.process.student_scales import scale_mode
from ...model.process.whitened import Problem
from ...numerics.borrow import borrow
from ..base import Merges
from .branch_density import Target
from .candidates import Quadrature, add_clade, add_path, begin, pass_down
from .placement import Located, integrate, log_add, log_scale_weight
from .update import Engine, make_engine
from .working_tree import load, prune, regraft

_QUADRATURE = Quadrature(spacing=0.25, negligible=10.0)  # two thousandths of a nat
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
    random_leaves = np.empty((len(leaves), 0), np.int64) if random_leaves is None else random_leaves
    k = len(leaves)
    located = Located(np.empty(k), np.empty((k, 0)), np.empty(k, np.int64), np.empty(k))
    _leave_out(engine, merges, np.array(leaves), np.array(unit, dtype=np.float64), half_df, random_leaves, located)
    return located.log_density - 0.5 * (problem.d * LOG_2PI + problem.log_det)


@jit
def _leave_out(
    engine: Engine,
    merges: Merges,
    leaves: np.ndarray,
    unit: np.ndarray,
    half_df: float,
    random_leaves: np.ndarray,
    located: Located,
) -> None:
    """Take each leaf off, sum the mass of all branches, and put it back where it was."""
    engine, (children, times) = borrow(engine), merges
    tree, cand = engine.tree, engine.candidates
    load(tree, children, times, engine.W, engine.leaf_var)
    nothing = np.empty(4, np.uint64)  # nothing is drawn
    for k in range(leaves.size):
        leaf = leaves[k]
        parent, x, t = prune(tree, leaf)
        begin(cand)
        if engine.neighbors.shape[0] == 0:
            add_clade(cand, tree.nodes, tree.top[0].root, 0.0)
        for level in range(engine.neighbors.shape[0]):
            for y in engine.neighbors[level, leaf]:
                if y >= 0:
                    add_path(cand, tree.nodes, np.int64(y), leaf, 0.0)
        n_near = cand.counts[0].candidates
        for y in random_leaves[k]:
            add_path(cand, tree.nodes, y, leaf, 0.0)
        for i in range(n_near, cand.counts[0].candidates):
            share = tree.nodes[cand.branches[i].node].size / (times.size + 1)
            cand.branches[i].log_multiple = -math.log1p(-((1.0 - share) ** random_leaves.shape[1]))
        pass_down(cand, tree, tree.mean[leaf], 0.0)
        target = Target(unit[k], float(times.size), engine.half_d, tree.lineages)
        integrate(cand, target, half_df, _QUADRATURE, located, k, nothing)
        regraft(tree, leaf, parent, x, t)


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
    log_density = np.full(len(rows), np.nan)
    _beside_others(walk, np.array(unit), 0.5 * problem.d, half_df, log_density)
    return log_density - 0.5 * (problem.d * LOG_2PI + problem.log_det)


@jit
def _beside_others(walk: Walk, unit: np.ndarray, half_d: float, half_df: float, log_density: np.ndarray) -> None:
    i = next_leaf(walk)
    while i >= 0:
        eps, v = squared_distance(walk.mean[i], walk.outward[walk.depth[0]]), expected_var(walk)
        if half_df == 0.0:
            log_density[i] = _log_normal(eps, v + unit[i], half_d)
        else:
            centre, spread = scale_mode(v, unit[i], half_d, half_df, eps)
            log_density[i] = -math.inf
            for k in range(_N_SCALES):
                log_s = centre + spread * (k - _SCALES_BELOW)
                here = _log_normal(eps, v + unit[i] * math.exp(log_s), half_d)
                log_density[i] = log_add(log_density[i], here + log_scale_weight(log_s, half_df) + math.log(spread))
        i = next_leaf(walk)


@jit(inline="always")
def _log_normal(eps: float, v: float, half_d: float) -> float:
    return -half_d * math.log(v) - 0.5 * eps / v
