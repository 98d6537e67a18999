"""An outlier, or the clade around it, regrafted with a new scale of the outlier's noise.

An outlier is a lineage of its own close to the root, with little noise, or in some clade, with much. Where another row
hangs on it, such as one with so much noise that it fits anywhere, no update of one row leads from one to the other:
the one that stays would be in a bad place alone. So the outlier or an ancestor c of it is taken off with all below, the
scale s of the outlier is drawn anew, and c is put back. With y = log s, the density of y and of a place is

    p(s) s  ·  Π N(merges from the leaf up to c)  ·  f_y(branch, time) ,

the first two functions of y alone and f_y as for any subtree. The proposal of y is this with f_y integrated over the
candidates, in log-linear pieces between knots; the place is then drawn as in an ordinary update. Both depend on what
the move keeps: the pruned tree, the clade and the scales of its other leaves.
"""

import math
from typing import NamedTuple

import numpy as np

from ...._runtime.jit import jit
from ...._runtime.random_streams import integer_below, uniform
from ...._runtime.typing import Int
from ....model.process.diffusion import squared_distance
from ....numerics.borrow import borrow
from ..candidates import estimate_weights, pass_down, renew_distances, sum_of_weights
from ..outlier_scales import ScaleCells, log_weight_of, target_of
from ..update import Engine, borrowed, gather, propose
from ..working_tree import WorkingTree, merge, prune, regraft

_N_KNOTS = 13  # an odd number
_HIGHER = 0.5  # probability that c is one step higher, at each step above the outlier
_MAX_TRIES = 150  # of a call


class Knots(NamedTuple):
    """A density of y in log-linear pieces between evenly spaced knots."""

    first: float
    step: float
    level: np.ndarray  # its logarithm at the knots, not normalised


@jit
def renew_path(tree: WorkingTree, leaf: Int, top: Int, half_d: float) -> float:
    """Renew the messages above a leaf up to a node; returns the log likelihood of these merges, less a constant."""
    nodes, mean = borrow(tree.nodes), borrow(tree.mean)
    node, total = np.int64(leaf), 0.0
    while node != top:
        node = np.int64(nodes[node].parent)
        one, two, time = np.int64(nodes[node].left), np.int64(nodes[node].right), nodes[node].time
        v = nodes[one].var + nodes[two].var + (time - nodes[one].time) + (time - nodes[two].time)
        total -= half_d * math.log(v) + 0.5 * squared_distance(mean[one], mean[two]) / v
        merge(tree, node)
    return total


@jit
def level_at(knots: Knots, y: float) -> float:
    """The log density at y; NaN outside, so that no move leads there or from there."""
    place = (y - knots.first) / knots.step
    if not 0.0 <= place <= knots.level.size - 1.0:
        return math.nan
    g = min(int(place), knots.level.size - 2)
    return knots.level[g] + (place - g) * (knots.level[g + 1] - knots.level[g])


@jit
def _mass(level: np.ndarray, g: Int, top: float) -> float:
    """The mass of the piece after knot g, divided by its width and e^top."""
    rise = abs(level[g + 1] - level[g])
    high = math.exp(max(level[g], level[g + 1]) - top)
    return high * (-math.expm1(-rise) / rise if rise > 1e-9 else 1.0)


@jit
def draw_from(knots: Knots, state: np.ndarray) -> float:
    """Draw y."""
    level, n_pieces = knots.level, knots.level.size - 1
    top, total = -math.inf, 0.0
    for g in range(n_pieces + 1):
        top = max(top, level[g])
    for g in range(n_pieces):
        total += _mass(level, g, top)
    rest, g = uniform(state) * total, 0
    while g < n_pieces - 1 and rest > _mass(level, g, top):
        rest -= _mass(level, g, top)
        g += 1
    rise, u = level[g + 1] - level[g], uniform(state)
    share = -math.log1p(u * math.expm1(-abs(rise))) / abs(rise) if abs(rise) > 1e-9 else u
    return knots.first + knots.step * (g + (share if rise < 0.0 else 1.0 - share))


@jit
def _set_scale(engine: Engine, top: Int, leaf: Int, cells: ScaleCells, y: float) -> float:
    """Give the leaf the scale e^y on the tree; returns the log density of y that is not that of places."""
    engine.tree.nodes[leaf].var = cells.leaves[leaf].unit * math.exp(y)
    return renew_path(engine.tree, leaf, top, engine.half_d) - cells.half_df * (y + math.exp(-y))


@jit
def _log_mass(engine: Engine, top: Int) -> float:
    """log ∫ f over all candidates, roughly, for the clade as it is."""
    tree, cand = engine.tree, engine.candidates
    renew_distances(cand, tree.mean, tree.mean[top])
    target = target_of(engine, tree.nodes[top].var - tree.nodes[top].time, tree.top[1] - 1.0)
    best = estimate_weights(cand, target)
    return best + math.log(sum_of_weights(cand, best))


@jit
def _fill(knots: Knots, engine: Engine, top: Int, leaf: Int, cells: ScaleCells) -> None:
    """Make the proposal of y for a pruned clade and its candidates; the scale is left changed.

    The mass of all places is computed at every second knot; at the others it is the geometric mean of both sides.
    """
    before = 0.0
    for g in range(knots.level.size):
        knots.level[g] = _set_scale(engine, top, leaf, cells, knots.first + g * knots.step)
        if g % 2 == 0:
            log_mass = _log_mass(engine, top)
            knots.level[g] += log_mass
            if g > 0:
                knots.level[g - 1] += 0.5 * (before + log_mass)
            before = log_mass


@jit
def _move(engine: Engine, top: Int, leaf: Int, cells: ScaleCells, knots: Knots, state: np.ndarray) -> bool:
    tree, cand, m = engine.tree, engine.candidates, engine.tree.top[1] - 1.0
    y = math.log(cells.leaves[leaf].scale)
    parent, x, t = prune(tree, top)
    gather(engine, top, leaf, x, state)
    if cand.nodes[x].mark != cand.counts[1]:
        regraft(tree, top, parent, x, t)
        return False
    pass_down(cand, tree, tree.mean[top], tree.nodes[top].time)
    _fill(knots, engine, top, leaf, cells)
    log_old = _set_scale(engine, top, leaf, cells, y) - level_at(knots, y)
    renew_distances(cand, tree.mean, tree.mean[top])
    target = target_of(engine, tree.nodes[top].var - tree.nodes[top].time, m)
    log_old += log_weight_of(engine, target, estimate_weights(cand, target), x, t)
    new_y = draw_from(knots, state)
    log_new = _set_scale(engine, top, leaf, cells, new_y) - level_at(knots, new_y)
    renew_distances(cand, tree.mean, tree.mean[top])
    target = target_of(engine, tree.nodes[top].var - tree.nodes[top].time, m)
    best = estimate_weights(cand, target)
    i, new_t, ratio, log_total = propose(cand, target, best, engine.rule.care.coarse, state)
    moved = i >= 0 and math.log(uniform(state)) < log_new + ratio + log_total - log_old
    if moved:
        x, t = np.int64(cand.branches[i].node), new_t
        cells.leaves[leaf].scale = math.exp(new_y)
    else:
        _set_scale(engine, top, leaf, cells, y)
    regraft(tree, top, parent, x, t)
    return moved


@jit
def move_clade(engine: Engine, top: Int, leaf: Int, cells: ScaleCells, state: np.ndarray) -> bool:
    """Try to move what is below `top`, not the root, with the scale of one of its leaves; whether it moved."""
    first, last = math.log(cells.bounds[0]), math.log(cells.bounds[cells.bounds.size - 1])
    knots = Knots(first, (last - first) / (_N_KNOTS - 1), np.empty(_N_KNOTS))
    return _move(engine, top, leaf, cells, knots, state)


@jit
def move_clades(
    engine: Engine, outliers: np.ndarray, cells: ScaleCells, tries_per_outlier: Int, state: np.ndarray
) -> int:
    """Try so many outliers, or clades around them, for each of the outliers that are drawn from; how many moved.

    The top of what is moved is j steps above the outlier, P(j) = 2^-(j+1), and as many after the move.
    """
    engine = borrowed(engine)
    nodes, n_moved = engine.tree.nodes, 0
    for _ in range(min(tries_per_outlier * outliers.size, _MAX_TRIES)):
        leaf = np.int64(outliers[integer_below(state, outliers.size)])
        top = leaf
        while top >= 0 and uniform(state) < _HIGHER:
            top = np.int64(nodes[top].parent)
        if top >= 0 and nodes[top].parent >= 0:
            n_moved += move_clade(engine, top, leaf, cells, state)
    return n_moved
