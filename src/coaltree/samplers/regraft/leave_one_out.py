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
from ...model.process.student_scales import student_density, student_table
from ...model.process.whitened import Problem
from ...numerics.borrow import borrow
from ..base import Merges
from .candidates import add_clade, add_path, begin, log_total, pass_down, weigh
from .placement import CLOSE, target_of_row
from .update import Engine, make_engine
from .working_tree import load, prune, regraft


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
    engine = make_engine(problem, np.ascontiguousarray(problem.W), neighbors, half_df=half_df)
    merges = np.array(children, dtype=np.int64), np.array(times, dtype=np.float64)
    random_leaves = np.empty((len(leaves), 0), np.int64) if random_leaves is None else random_leaves
    log_density, unit = np.empty(len(leaves)), np.array(unit, dtype=np.float64)
    _leave_out(engine, merges, np.array(leaves), unit, half_df > 0.0, random_leaves, log_density)
    return log_density - 0.5 * (problem.d * LOG_2PI + problem.log_det)


@jit
def _leave_out(
    engine: Engine,
    merges: Merges,
    leaves: np.ndarray,
    unit: np.ndarray,
    is_student: bool,
    random_leaves: np.ndarray,
    log_density: np.ndarray,
) -> None:
    """Take each leaf off, sum the mass of all branches, and put it back where it was."""
    engine, (children, times) = borrow(engine), merges
    tree, cand = engine.tree, engine.candidates
    load(tree, children, times, engine.W, engine.leaf_var)
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
        target = target_of_row(engine, unit[k], is_student, float(times.size))
        log_density[k] = log_total(cand, weigh(cand, target, CLOSE))
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
    table = student_table(0.5 * problem.d, half_df) if half_df > 0.0 else np.empty((0, 0, 0))
    _beside_others(walk, np.array(unit), 0.5 * problem.d, table, log_density)
    return log_density - 0.5 * (problem.d * LOG_2PI + problem.log_det)


@jit
def _beside_others(walk: Walk, unit: np.ndarray, half_d: float, table: np.ndarray, log_density: np.ndarray) -> None:
    i = next_leaf(walk)
    while i >= 0:
        eps, v = squared_distance(walk.mean[i], walk.outward[walk.depth[0]]), expected_var(walk)
        if table.size > 0:
            log_density[i] = student_density(table, v, unit[i], half_d, eps)[0]
        else:
            log_density[i] = -half_d * math.log(v + unit[i]) - 0.5 * eps / (v + unit[i])
        i = next_leaf(walk)
