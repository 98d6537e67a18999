"""One leaf of a block of outliers: a noise scale and a place, proposed together, and how likely that was.

With y = log s, the density of the scale and of a place is p(s) s f_y(branch, time). The proposal of y is this with f_y
integrated over the candidates, roughly, in log-linear pieces between knots; branch and time given s come from the
proposal of an ordinary update. With many columns the density of y is narrow: knots are added where its mass is.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammainccinv

from ..._runtime.jit import jit
from ..._runtime.random_streams import uniform
from ..._runtime.typing import Int
from ..base import Tails
from .candidates import estimate_weights, is_candidate, log_total, proposal_row, weigh
from .update import Engine, log_ratio, propose, target_of

_QUANTILES = np.concatenate([[0.002], np.linspace(0.02, 0.98, 25), [0.999]])  # of the prior: scales that are proposed
_MULTIPLES = 2.0 ** np.arange(1, 10)  # of the last of these, for large errors
_FIRST_KNOTS, _MAX_KNOTS = 7, 25  # of a density of log s
_SPACING = 2.0  # between knots where the mass is, times √(columns + degrees of freedom): log s is known to about that

LEAF = np.dtype([("scale", np.float64), ("unit", np.float64)])  # the current scale, the variance at a scale of 1


class Knots(NamedTuple):
    """A density of y in log-linear pieces between knots."""

    y: np.ndarray
    level: np.ndarray  # its logarithm at the knots, not normalised


class Scales(NamedTuple):
    """The scales of all leaves, inverse gamma (half_df, half_df), and a proposal from that prior."""

    leaves: np.ndarray  # (n,) LEAF
    half_df: float
    prior: Knots


def scales_of(tails: Tails) -> Scales:
    """The scales of leaves as kernels take them."""
    leaves = np.empty(len(tails.scale), LEAF)
    leaves["scale"], leaves["unit"] = tails.scale, tails.unit
    return Scales(leaves, tails.half_df, _prior_of(tails.half_df))


@lru_cache(maxsize=8)  # asked for in each step of a chain, always with the same number
def _prior_of(half_df: float) -> Knots:
    """The prior of y between knots; not to be changed."""
    s = half_df / gammainccinv(half_df, _QUANTILES)
    y = np.log(np.concatenate([s, s[-1] * _MULTIPLES]))
    return Knots(y, -half_df * (y + np.exp(-y)))


@jit(inline="always")
def level_at(knots: Knots, y: float) -> float:
    """The log density at y; NaN outside, so that no move leads there or from there."""
    if not knots.y[0] <= y <= knots.y[knots.y.size - 1]:
        return math.nan
    g = 0
    while y > knots.y[g + 1]:
        g += 1
    return knots.level[g] + (y - knots.y[g]) / (knots.y[g + 1] - knots.y[g]) * (knots.level[g + 1] - knots.level[g])


@jit
def _mass(knots: Knots, g: Int, best: float) -> float:
    """The mass of the piece after knot g, divided by e^best."""
    rise = abs(knots.level[g + 1] - knots.level[g])
    highest = (knots.y[g + 1] - knots.y[g]) * math.exp(max(knots.level[g], knots.level[g + 1]) - best)
    return highest * (-math.expm1(-rise) / rise if rise > 1e-9 else 1.0)


@jit
def total_mass(knots: Knots) -> tuple[float, float]:
    """The largest log density at a knot, and the mass of all pieces, divided by its exponential."""
    best, total = -math.inf, 0.0
    for g in range(knots.level.size):
        best = max(best, knots.level[g])
    for g in range(knots.level.size - 1):
        total += _mass(knots, g, best)
    return best, total


@jit(inline="always")
def draw_from(knots: Knots, state: np.ndarray) -> float:
    """Draw y."""
    best, total = total_mass(knots)
    rest, g = uniform(state) * total, 0
    while g < knots.level.size - 2 and rest > _mass(knots, g, best):
        rest -= _mass(knots, g, best)
        g += 1
    rise, u = knots.level[g + 1] - knots.level[g], uniform(state)
    share = -math.log1p(u * math.expm1(-abs(rise))) / abs(rise) if abs(rise) > 1e-9 else u
    return knots.y[g] + (knots.y[g + 1] - knots.y[g]) * (share if rise < 0.0 else 1.0 - share)


@jit
def _level(engine: Engine, c: Int, m: float, scales: Scales, y: float) -> float:
    """The log density of y over all candidates of leaf c, roughly; its scale on the tree is left changed."""
    engine.tree.nodes[c].var = scales.leaves[c].unit * math.exp(y)
    best = estimate_weights(engine.candidates, target_of(engine, c, m))
    return log_total(engine.candidates, best) - scales.half_df * (y + math.exp(-y))


@jit(inline="always")
def knots_of(engine: Engine, c: Int, m: float, scales: Scales) -> Knots:
    """Make the proposal of y for leaf c, whose candidates are made: evenly spaced knots, and more where its mass is."""
    ys, levels = np.empty(_MAX_KNOTS), np.empty(_MAX_KNOTS)
    first, last = scales.prior.y[0], scales.prior.y[scales.prior.y.size - 1]
    for g in range(_FIRST_KNOTS):
        ys[g] = first + g * (last - first) / (_FIRST_KNOTS - 1)
        levels[g] = _level(engine, c, m, scales, ys[g])
    spacing = _SPACING / math.sqrt(2.0 * (engine.half_d + scales.half_df))
    for n_knots in range(_FIRST_KNOTS, _MAX_KNOTS):
        knots = Knots(ys[:n_knots], levels[:n_knots])
        best, total = total_mass(knots)
        place, largest = -1, 0.03 * total  # pieces with less are not divided
        for g in range(n_knots - 1):
            if ys[g + 1] - ys[g] > spacing and _mass(knots, g, best) > largest:
                place, largest = g, _mass(knots, g, best)
        if place < 0:
            return knots
        for g in range(n_knots, place + 1, -1):
            ys[g], levels[g] = ys[g - 1], levels[g - 1]
        ys[place + 1] = 0.5 * (ys[place] + ys[place + 2])
        levels[place + 1] = _level(engine, c, m, scales, ys[place + 1])
    return Knots(ys, levels)


@jit(inline="always")
def _log_prior_over_proposal(knots: Knots, half_df: float, y: float) -> float:
    """log p(y) / q(y), up to a constant; NaN for a scale that is never proposed."""
    best, total = total_mass(knots)
    return best + math.log(total) - level_at(knots, y) - half_df * (y + math.exp(-y))


@jit(inline="always")
def weigh_old_leaf(engine: Engine, c: Int, m: float, scales: Scales, knots: Knots, s: float, x: Int, t: float) -> float:
    """log f p(s) / q of a leaf where it was; NaN for what is never proposed, so that no move leads back."""
    cand, y, quadrature = engine.candidates, math.log(s), engine.rule.quadrature
    if not is_candidate(cand, x):
        return math.nan
    engine.tree.nodes[c].var = scales.leaves[c].unit * s
    target = target_of(engine, c, m)
    log_sum, i = log_total(cand, weigh(cand, target, quadrature)), cand.nodes[x].place
    ratio = log_ratio(cand, target, i, proposal_row(cand, i, target, quadrature), t)
    return ratio + log_sum + _log_prior_over_proposal(knots, scales.half_df, y)


@jit
def draw_new_leaf(
    engine: Engine, c: Int, m: float, scales: Scales, knots: Knots, state: np.ndarray
) -> tuple[float, np.int64, float, float]:
    """Draw a scale, one of the candidates (-1 where none could be drawn) and a time; also returns log f p(s) / q."""
    cand, quadrature, y = engine.candidates, engine.rule.quadrature, draw_from(knots, state)
    engine.tree.nodes[c].var = scales.leaves[c].unit * math.exp(y)
    target = target_of(engine, c, m)
    i, t, ratio, log_sum = propose(cand, target, weigh(cand, target, quadrature), quadrature, state)
    x = np.int64(cand.branches[i].node) if i >= 0 else np.int64(-1)
    return math.exp(y), x, t, ratio + log_sum + _log_prior_over_proposal(knots, scales.half_df, y)
