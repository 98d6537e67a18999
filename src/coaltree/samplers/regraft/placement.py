"""Where new rows would join a tree that stays as it is: the mass of every branch, and one draw of branch and time.

The density of (branch, time) is that of an insertion (`insertion`), normalised:

    p(x | X, tree) = Σ_b ∫ f(b, t) dt ,      P(b | x) = ∫ f(b, t) dt / p(x | X, tree) ,

by the quadrature of `branch_density` with knots close enough for three digits of the log density.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ...model.diffusion import LOG_2PI
from ...model.problem import Problem
from .branch_density import Target, draw_time
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

_CARE = Care(coarse=0.1, negligible=16.0)


class Located(NamedTuple):
    """New rows on one tree."""

    log_density: np.ndarray  # (m,) log p(x | X, tree, Φ)
    log_mass: np.ndarray  # (m, 2n-1) log p(x, b | X, tree, Φ) of the branch above each node, -inf where it is nothing
    node: np.ndarray  # (m,) a branch drawn for each row, by the node below it
    time: np.ndarray  # (m,) and a time on it


def locate(children: np.ndarray, times: np.ndarray, problem: Problem, rows: np.ndarray, streams: np.ndarray) -> Located:
    """Place whitened rows (m, p) on a tree of the rows of a `Problem`; `streams` (m, 4) move on."""
    assert problem.W is not None
    n, p = problem.W.shape
    m = len(rows)
    tree, cand = empty_working_tree(n, p), empty_candidates(n, p)
    number = load(tree, children, times, problem.W, problem.leaf_noise)
    original = np.empty(2 * n - 1, np.int64)
    original[number] = np.arange(2 * n - 1)
    log_mass = np.full((m, 2 * n - 1), -np.inf)
    node, time = np.empty(m, np.int64), np.empty(m)
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    target = Target(float(problem.leaf_noise), float(n), 0.5 * problem.d)
    if m:
        _locate(tree, cand, original, rows, target, _CARE, streams, log_mass, node, time)
    log_mass -= 0.5 * (problem.d * LOG_2PI + problem.log_det)
    top = log_mass.max(axis=1, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        shares = np.where(log_mass == top[:, None], 1.0, np.exp(log_mass - top[:, None]))
    return Located(top + np.log(shares.sum(axis=1)), log_mass, node, time)


@jit(allocates=False)
def _locate(tree, cand, original, rows, target, care, streams, log_mass, node, time):
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
        best = weigh(cand, target, tree.lineages, care)
        for i in range(cand.counts[0]):
            if cand.row[i] != -2:
                log_mass[r, original[cand.node[i]]] = cand.log_weight[i]
        i, _ = choose(cand, best, streams[r])
        row = proposal_row(cand, i, target, tree.lineages, care)
        node[r] = original[cand.node[i]]
        time[r] = draw_time(branch_of(cand, i), cand.proposals, row, streams[r])


@jit(allocates=False)
def _identical(cand, target):
    """The candidate above a leaf that equals the row, where the density has no bound: no leaf noise, d > 1; or -1."""
    if target.half_d <= 0.5:
        return -1
    for i in range(cand.counts[0]):
        if too_close(branch_of(cand, i), target):
            return i
    return -1
