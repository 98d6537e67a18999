"""One leaf of a block of outliers: a noise scale and a place, proposed together, and how likely that was.

The scale s falls into one of a few cells, by its share of ∫ p(s) f ds over all places of the leaf, and is log-uniform
in the cell; branch and time given s come from the proposal of an ordinary update.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, gammainccinv

from ..._runtime.jit import jit
from ..._runtime.random_streams import uniform
from ..._runtime.typing import Int
from ..base import Tails
from .branch_density import Target
from .candidates import Care, add_every_branch, proposal_row, sum_of_weights, weigh
from .lineage_counts import view_of
from .update import Engine, log_ratio, propose

# Bounds of cells: quantiles of the prior, then multiples of the last one, for large errors. Their number must be odd.
_INNER_QUANTILES = (0.002, 0.35, 0.7, 0.9)
_OUTER_MULTIPLES = (4.0, 16.0, 64.0, 4096.0)
_MIN_MASS = 1e-300
_ROUGH = Care(coarse=2.0, negligible=3.0)  # how precisely masses over cells are known


LEAF = np.dtype([("scale", np.float64), ("unit", np.float64)])  # the current scale, the variance at a scale of 1


class ScaleCells(NamedTuple):
    """Cells from which scales are proposed, and their prior."""

    leaves: np.ndarray  # (n,) LEAF
    half_df: float
    bounds: np.ndarray  # (cells + 1,)
    log_prior: np.ndarray  # (cells,) log of the prior's mass in each
    log_share: np.ndarray  # (cells,) scratch: log probability of each for one leaf


def cells_of(tails: Tails) -> ScaleCells:
    """Make cells for scales that are inverse gamma (half_df, half_df)."""
    bounds, log_prior = _bounds_and_log_prior(tails.half_df)
    leaves = np.empty(len(tails.scale), LEAF)
    leaves["scale"], leaves["unit"] = tails.scale, tails.unit
    return ScaleCells(leaves, tails.half_df, bounds, log_prior, np.empty(len(log_prior)))


@cache  # asked for in each step of a chain, always with the same number
def _bounds_and_log_prior(half_df: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the cells, and the log of the prior's mass in each; not to be changed."""
    inner = half_df / gammainccinv(half_df, _INNER_QUANTILES)
    bounds = np.concatenate([inner, inner[-1] * np.array(_OUTER_MULTIPLES)])
    mass = np.diff(gammaincc(half_df, half_df / bounds))
    mass = np.maximum(mass, _MIN_MASS)  # with many degrees of freedom large scales have none
    return bounds, np.log(mass / mass.sum())


@jit(inline="always")
def target_of(engine: Engine, var_less_time: float, m: float) -> Target:
    """The density of a subtree beside m leaves of the engine's tree."""
    return Target(var_less_time, m, engine.half_d, view_of(engine.tree.lineages))


@jit
def _weigh_cells(engine: Engine, c: Int, m: float, cells: ScaleCells) -> None:
    """Write the log probability of every cell for leaf c, for which every branch is made a candidate.

    Every second cell is computed; the likelihood of the others is the geometric mean of both sides.
    """
    tree, cand, log_share = engine.tree, engine.candidates, cells.log_share
    add_every_branch(cand, tree, tree.mean[c], tree.nodes[c].time)
    for g in range(0, log_share.size, 2):
        s = math.sqrt(cells.bounds[g] * cells.bounds[g + 1])
        best = weigh(cand, target_of(engine, cells.leaves[c].unit * s, m), _ROUGH)
        log_share[g] = best + math.log(sum_of_weights(cand, best))
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


@jit(inline="always")
def cell_of(cells: ScaleCells, s: float) -> int:
    """The cell of a scale; -1 for one that is never proposed."""
    for g in range(cells.log_prior.size):
        if cells.bounds[g] <= s < cells.bounds[g + 1]:
            return g
    return -1


@jit
def draw_scale(cells: ScaleCells, log_share: np.ndarray, state: np.ndarray) -> tuple[int, float]:
    """Draw a cell and a scale in it."""
    rest = uniform(state)
    g = 0
    while g < log_share.size - 1 and rest > math.exp(log_share[g]):
        rest -= math.exp(log_share[g])
        g += 1
    return g, cells.bounds[g] * math.exp(uniform(state) * math.log(cells.bounds[g + 1] / cells.bounds[g]))


@jit
def log_prior_over_proposal(cells: ScaleCells, log_share: np.ndarray, g: Int, s: float) -> float:
    """log p(s) / q(s), up to a constant, for a scale in cell g; p inverse gamma."""
    log_p = -cells.half_df * (math.log(s) + 1.0 / s)
    return log_p - log_share[g] + math.log(math.log(cells.bounds[g + 1] / cells.bounds[g]))


@jit
def log_weight_of(engine: Engine, target: Target, best: float, x: Int, t: float) -> float:
    """log f / q of the candidate above x at time t, where candidates are weighed and `best` is the largest."""
    cand = engine.candidates
    log_total = best + math.log(sum_of_weights(cand, best))
    i = cand.nodes[x].place
    return log_ratio(cand, target, i, proposal_row(cand, i, target, engine.rule.care.coarse), t) + log_total


@jit(inline="always")
def weigh_old_leaf(engine: Engine, c: Int, m: float, cells: ScaleCells, s: float, x: Int, t: float) -> float:
    """log f p(s) / q of a leaf where it was; NaN for a scale that is never proposed, so that no move leads back."""
    g = cell_of(cells, s)
    if g < 0:
        return math.nan
    _weigh_cells(engine, c, m, cells)
    target = target_of(engine, cells.leaves[c].unit * s, m)
    log_weight = log_weight_of(engine, target, weigh(engine.candidates, target, engine.rule.care), x, t)
    return log_weight + log_prior_over_proposal(cells, cells.log_share, g, s)


@jit(inline="always")
def draw_new_leaf(
    engine: Engine, c: Int, m: float, cells: ScaleCells, state: np.ndarray
) -> tuple[float, np.int64, float, float]:
    """Draw a scale, a branch (-1 where none could be drawn) and a time for leaf c; returns them and log f p(s) / q."""
    _weigh_cells(engine, c, m, cells)
    g, s = draw_scale(cells, cells.log_share, state)
    target = target_of(engine, cells.leaves[c].unit * s, m)
    cand, care = engine.candidates, engine.rule.care
    i, t, ratio, log_total = propose(cand, target, weigh(cand, target, care), care.coarse, state)
    x = np.int64(cand.branches[i].node) if i >= 0 else np.int64(-1)
    return s, x, t, ratio + log_total + log_prior_over_proposal(cells, cells.log_share, g, s)
