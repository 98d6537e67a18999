"""One leaf of a block of odd rows: a scale of its noise and a place, proposed together, and how likely that was.

The scale s is one of a few cells, by its share of ∫ p(s) f ds over all places that the leaf has, and log-uniform in the
cell; branch and time given s come from the proposal of an ordinary update.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, gammainccinv

from ..._runtime.jit import jit
from ..._runtime.random_streams import uniform
from ..base import Tails
from .branch_density import Target
from .candidates import Care, add_all_above, begin, pass_down, proposal_row, weigh
from .update import log_ratio, propose

_INNER_CELLS = (0.002, 0.35, 0.7, 0.9)  # bounds of cells, as shares of the prior below them
_OUTER_CELLS = (4.0, 16.0, 64.0, 4096.0)  # and as multiples of the last one: large errors are what this is about
# (an odd number of cells in all: the first and the last one are looked at)
_LEAST_MASS = 1e-300
_ROUGHLY = Care(coarse=2.0, negligible=3.0)  # how well masses over cells are known


class Cells(NamedTuple):
    """Cells from which scales are proposed, and what their prior needs."""

    unit: np.ndarray  # (n,) leaf variances at a scale of 1
    half_df: float
    bounds: np.ndarray  # (cells + 1,)
    log_prior: np.ndarray  # (cells,) log of the prior's mass in each


def cells_of(tails: Tails) -> Cells:
    """Cells for scales that are inverse gamma (half_df, half_df)."""
    inner = tails.half_df / gammainccinv(tails.half_df, _INNER_CELLS)
    bounds = np.concatenate([inner, inner[-1] * np.array(_OUTER_CELLS)])
    mass = np.diff(gammaincc(tails.half_df, tails.half_df / bounds))
    mass = np.maximum(mass, _LEAST_MASS)  # with many degrees of freedom large scales have none
    return Cells(np.ascontiguousarray(tails.unit), tails.half_df, bounds, np.log(mass / mass.sum()))


@jit(allocates=False)
def _log_total(cand, best):
    total = 0.0
    for i in range(cand.counts[0]):
        total += math.exp(cand.log_weight[i] - best)
    return best + math.log(total)


@jit(allocates=False)
def look_everywhere(engine, c):
    """Make every branch a candidate for c, which is off the tree."""
    tree, cand = engine.tree, engine.candidates
    begin(cand)
    add_all_above(cand, tree, tree.time[c])
    pass_down(cand, tree, tree.mean[c], tree.time[c])


@jit(allocates=False)
def _weigh_cells(engine, c, m, cells, log_share):
    """Fill in the log probability of every cell of the scale of leaf c, whose candidates are made.

    Every second cell is looked at; the likelihood of the others is the geometric mean of both sides.
    """
    for g in range(0, log_share.size, 2):
        s = math.sqrt(cells.bounds[g] * cells.bounds[g + 1])
        target = Target(cells.unit[c] * s, m, engine.half_d)
        best = weigh(engine.candidates, target, engine.tree.lineages, _ROUGHLY)
        log_share[g] = _log_total(engine.candidates, best)
    for g in range(1, log_share.size, 2):
        log_share[g] = 0.5 * (log_share[g - 1] + log_share[g + 1])
    top = -math.inf
    for g in range(log_share.size):
        log_share[g] += cells.log_prior[g]
        top = max(top, log_share[g])
    total = 0.0
    for g in range(log_share.size):
        total += math.exp(log_share[g] - top)
    for g in range(log_share.size):
        log_share[g] -= top + math.log(total)


@jit(allocates=False)
def log_prior_over_proposal(cells, log_share, g, s):
    """log p(s) / q(s), up to a constant, for a scale in cell g; p inverse gamma."""
    log_p = -cells.half_df * (math.log(s) + 1.0 / s)
    return log_p - log_share[g] + math.log(math.log(cells.bounds[g + 1] / cells.bounds[g]))


@jit(allocates=False)
def cell_of(cells, s):
    for g in range(cells.log_prior.size):
        if cells.bounds[g] <= s < cells.bounds[g + 1]:
            return g
    return -1


@jit(allocates=False)
def draw_scale(cells, log_share, state):
    """A cell and a scale in it."""
    rest = uniform(state)
    g = 0
    while g < log_share.size - 1 and rest > math.exp(log_share[g]):
        rest -= math.exp(log_share[g])
        g += 1
    return g, cells.bounds[g] * math.exp(uniform(state) * math.log(cells.bounds[g + 1] / cells.bounds[g]))


@jit(allocates=False)
def log_weight_of(engine, target, x, t):
    """log f / q of the candidate above x at time t."""
    cand, lin, care = engine.candidates, engine.tree.lineages, engine.rule.care
    log_total = _log_total(cand, weigh(cand, target, lin, care))
    i = np.int64(cand.place[x])
    return log_ratio(cand, target, lin, i, proposal_row(cand, i, target, lin, care), t) + log_total


@jit(allocates=False)
def weigh_old_leaf(engine, c, m, cells, s, log_share, x, t):
    """log f p(s) / q of a leaf where it was; NaN for a scale that is never proposed, from which there is no way."""
    g = cell_of(cells, s)
    if g < 0:
        return math.nan
    look_everywhere(engine, c)
    _weigh_cells(engine, c, m, cells, log_share)
    log_weight = log_weight_of(engine, Target(cells.unit[c] * s, m, engine.half_d), x, t)
    return log_weight + log_prior_over_proposal(cells, log_share, g, s)


@jit(allocates=False)
def draw_new_leaf(engine, c, m, cells, log_share, state):
    """A scale, a branch (-1 where none could be drawn) and a time for leaf c, with log f p(s) / q."""
    look_everywhere(engine, c)
    _weigh_cells(engine, c, m, cells, log_share)
    g, s = draw_scale(cells, log_share, state)
    target = Target(cells.unit[c] * s, m, engine.half_d)
    i, t, ratio, log_total = propose(engine.candidates, target, engine.tree.lineages, engine.rule.care, state)
    x = np.int64(engine.candidates.node[i]) if i >= 0 else -1
    return s, x, t, ratio + log_total + log_prior_over_proposal(cells, log_share, g, s)
