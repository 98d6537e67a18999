"""The mass of all branches that a row may join: p(row | tree, other rows), and where new rows join a tree.

    Z = Σ_b ∫ f(b, t) dt ,      P(b) = Z_b / Z ,

with the density f of an insertion (`insertion`), by the quadrature of `branch_density` on each branch; Student's scale
of the row is integrated out in f. The tree stays as it is, and so do its messages: rows that are placed later, or by
several threads, use the same.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ...model.process.diffusion import LOG_2PI
from ...model.process.whitened import Problem
from ...numerics.borrow import borrow
from .branch_density import Target, draw_time
from .candidates import (
    Candidates,
    Quadrature,
    add_every_branch,
    branch_of,
    proposal_row,
    renew_distances,
    scratch_of,
    too_close,
    weigh,
)
from .update import Engine, choose, make_engine
from .working_tree import load

CLOSE = Quadrature(spacing=0.2, negligible=9.5)  # a hundredth of a nat at most, mostly a thousandth


class Located(NamedTuple):
    """Rows on one tree."""

    log_density: np.ndarray  # (m,) log Z
    share: np.ndarray  # (m, 2n-1) of each branch, by the node below it
    node: np.ndarray  # (m,) a branch drawn for each row, and
    time: np.ndarray  # (m,) a time on it


class Places(NamedTuple):
    """A tree with the messages on all of its branches."""

    engine: Engine
    nodes: np.ndarray  # (2n-1,) what nodes of the engine's tree are on the tree
    log_constant: float
    is_student: bool

    @classmethod
    def of(cls, children: np.ndarray, times: np.ndarray, problem: Problem, half_df: float = 0.0) -> "Places":
        """Of a tree of the rows of a problem; with `half_df` > 0 the noise of new rows is Student's."""
        engine = make_engine(problem, np.ascontiguousarray(problem.W), half_df=half_df)
        number = load(engine.tree, children, times, engine.W, engine.leaf_var)
        add_every_branch(engine.candidates, engine.tree, engine.W[0], 0.0)
        engine = engine._replace(candidates=scratch_of(engine.candidates, 0))
        return cls(engine, np.argsort(number), -0.5 * (problem.d * LOG_2PI + problem.log_det), half_df > 0.0)

    def locate(self, rows: np.ndarray, streams: np.ndarray, level: float = 0.0) -> Located:
        """Place whitened rows (m, p), whose noise has variance `level`; `streams` (m, 4) move on."""
        m = len(rows)
        located = Located(np.empty(m), np.zeros((m, len(self.nodes))), np.empty(m, np.int64), np.empty(m))
        engine = self.engine._replace(candidates=scratch_of(self.engine.candidates))
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        _locate(engine, rows, float(level), self.is_student, streams, self.nodes, located)
        located.log_density[:] += self.log_constant
        return located


@jit
def _locate(
    engine: Engine,
    rows: np.ndarray,
    level: float,
    is_student: bool,
    streams: np.ndarray,
    nodes: np.ndarray,
    located: Located,
) -> None:
    """Write densities, shares and draws."""
    engine, located = borrow(engine), borrow(located)
    tree, cand = engine.tree, engine.candidates
    branches, target = cand.branches, target_of_row(engine, level, is_student, float(len(engine.leaf_var)))
    for r in range(rows.shape[0]):
        renew_distances(cand, tree.mean, rows[r])
        same = _identical(cand, target)
        if same >= 0:
            located.node[r], located.time[r] = nodes[branches[same].node], 0.0
            located.log_density[r], located.share[r, located.node[r]] = math.inf, 1.0
            continue
        best, total = weigh(cand, target, CLOSE), 0.0
        for i in range(cand.counts[0].candidates):
            share = math.exp(branches[i].log_weight - best)
            located.share[r, nodes[branches[i].node]] = share
            total += share
        for x in range(nodes.size):
            located.share[r, x] /= total
        log_sum = best + math.log(total)
        i = choose(cand, best, log_sum, streams[r])
        row = proposal_row(cand, i, target, CLOSE)
        located.log_density[r], located.node[r] = log_sum, nodes[branches[i].node]
        located.time[r] = draw_time(branch_of(branches, i), cand.proposals, row, streams[r])


@jit(inline="always")
def target_of_row(engine: Engine, level: float, is_student: bool, m: float) -> Target:
    """The density of a row with noise of this variance beside m leaves."""
    level, unit = (0.0, level) if is_student else (level, 0.0)
    return Target(level, m, engine.half_d, engine.tree.lineages, unit, engine.student)


@jit
def _identical(cand: Candidates, target: Target) -> int:
    """The candidate above a leaf that equals the row, where the density is unbounded: no leaf noise, d > 1; or -1."""
    if target.half_d > 0.5:
        for i in range(cand.counts[0].candidates):
            if too_close(branch_of(cand.branches, i), target):
                return i
    return -1
