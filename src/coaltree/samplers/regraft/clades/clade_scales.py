"""A small clade regrafted together with the noise scales of its leaves.

Two outliers that are near each other are a pair close to the root, whose noise is small, or a pair within a larger
clade, whose noise is large. To lead from one to the other the pair has to move as it is, and its scales with it. So a
clade is taken off, the scales s of one of its leaves, or of all of them, are multiplied by the same number, and it is
put back anywhere. With y the mean of their logarithms, the density of y and of a place is

    Π p(s) s  ·  Π N(merges within the clade)  ·  f_y(branch, time) ,

the first two functions of y alone and f_y as for any subtree. The proposal of y is the density with f_y integrated over
all places, in log-linear pieces between knots; the place is then drawn as in an ordinary update. Both depend on what
the move keeps: the pruned tree, the clade and the ratios of the scales.
"""

import math
from typing import NamedTuple

import numpy as np

from ...._runtime.jit import jit
from ...._runtime.random_streams import uniform
from ...._runtime.typing import Int
from ....model.process.diffusion import squared_distance
from ....numerics.borrow import borrow
from ..candidates import Care, add_every_branch, renew_distances, sum_of_weights, weigh
from ..outlier_scales import ScaleCells, log_weight_of, target_of
from ..update import Engine, borrowed, propose
from ..working_tree import WorkingTree, merge, prune, regraft

_N_KNOTS = 13  # an odd number
_MAX_LEAVES = 32
_ABOVE = 0.75  # probability that it is not a leaf
_HIGHER = 0.5  # probability that it is one step higher, at each step
_ALONE = 0.75  # probability that the scale of one leaf alone is drawn anew
_ROUGH = Care(coarse=2.0, negligible=3.0)  # how precisely masses at knots are known


class Knots(NamedTuple):
    """A density of y in log-linear pieces between evenly spaced knots."""

    first: float
    step: float
    level: np.ndarray  # its logarithm at the knots, not normalised


@jit
def renew_clade(tree: WorkingTree, node: Int, half_d: float) -> float:
    """Renew the messages under a node and its own; returns the log likelihood of the merges, less a constant."""
    nodes = borrow(tree.nodes)
    one, two = np.int64(nodes[node].left), np.int64(nodes[node].right)
    if one < 0:
        return 0.0
    below = renew_clade(tree, one, half_d) + renew_clade(tree, two, half_d)
    merge(tree, node)
    time = nodes[node].time
    v = nodes[one].var + nodes[two].var + (time - nodes[one].time) + (time - nodes[two].time)
    return below - half_d * math.log(v) - 0.5 * squared_distance(tree.mean[one], tree.mean[two]) / v


@jit
def leaves_under(tree: WorkingTree, node: Int, most: Int) -> np.ndarray:
    """The leaves under a node; none where they are more than `most`."""
    found, stack = np.empty(most, np.int64), np.empty(most + 1, np.int64)
    stack[0], n_open, n_found = node, 1, 0
    while n_open > 0:
        n_open -= 1
        c = stack[n_open]
        if tree.nodes[c].left < 0:
            found[n_found] = c
            n_found += 1
        else:
            stack[n_open], stack[n_open + 1] = tree.nodes[c].left, tree.nodes[c].right
            n_open += 2
        if n_found + n_open > most:
            return found[:0]
    return found[:n_found]


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
def _mean_log_scale(cells: ScaleCells, leaves: np.ndarray) -> float:
    total = 0.0
    for j in range(leaves.size):
        total += math.log(cells.leaves[leaves[j]].scale)
    return total / leaves.size


@jit
def _set_scales(engine: Engine, top: Int, leaves: np.ndarray, cells: ScaleCells, shift: float) -> float:
    """Multiply the leaves' scales by e^shift on the tree; returns the log density of y that is not that of places."""
    total = 0.0
    for j in range(leaves.size):
        leaf = cells.leaves[leaves[j]]
        log_s = math.log(leaf.scale) + shift
        engine.tree.nodes[leaves[j]].var = leaf.unit * math.exp(log_s)
        total -= cells.half_df * (log_s + math.exp(-log_s))
    return total + renew_clade(engine.tree, top, engine.half_d)


@jit
def _log_mass(engine: Engine, top: Int) -> float:
    """log ∫ f over all candidates, roughly, for the clade as it is."""
    tree, cand = engine.tree, engine.candidates
    renew_distances(cand, tree.mean, tree.mean[top])
    best = weigh(cand, target_of(engine, tree.nodes[top].var - tree.nodes[top].time, tree.top[1] - 1.0), _ROUGH)
    return best + math.log(sum_of_weights(cand, best))


@jit
def _fill(knots: Knots, engine: Engine, top: Int, leaves: np.ndarray, cells: ScaleCells, y: float) -> None:
    """Make the proposal of y for a pruned clade, for which every branch becomes a candidate; scales are left changed.

    The mass of all places is computed at every second knot; at the others it is the geometric mean of both sides.
    """
    add_every_branch(engine.candidates, engine.tree, engine.tree.mean[top], engine.tree.nodes[top].time)
    before = 0.0
    for g in range(knots.level.size):
        knots.level[g] = _set_scales(engine, top, leaves, cells, knots.first + g * knots.step - y)
        if g % 2 == 0:
            log_mass = _log_mass(engine, top)
            knots.level[g] += log_mass
            if g > 0:
                knots.level[g - 1] += 0.5 * (before + log_mass)
            before = log_mass


@jit
def _move(engine: Engine, top: Int, leaves: np.ndarray, cells: ScaleCells, knots: Knots, state: np.ndarray) -> bool:
    tree, cand, m = engine.tree, engine.candidates, engine.tree.top[1] - 1.0
    y = _mean_log_scale(cells, leaves)
    parent, x, t = prune(tree, top)
    _fill(knots, engine, top, leaves, cells, y)
    log_old = _set_scales(engine, top, leaves, cells, 0.0) - level_at(knots, y)
    renew_distances(cand, tree.mean, tree.mean[top])
    log_old += log_weight_of(engine, target_of(engine, tree.nodes[top].var - tree.nodes[top].time, m), x, t)
    new_y = draw_from(knots, state)
    log_new = _set_scales(engine, top, leaves, cells, new_y - y) - level_at(knots, new_y)
    renew_distances(cand, tree.mean, tree.mean[top])
    target = target_of(engine, tree.nodes[top].var - tree.nodes[top].time, m)
    i, new_t, ratio, log_total = propose(cand, target, engine.rule.care, state)
    moved = i >= 0 and math.log(uniform(state)) < log_new + ratio + log_total - log_old
    if moved:
        x, t = np.int64(cand.branches[i].node), new_t
    for j in range(leaves.size):
        leaf = cells.leaves[leaves[j]]
        leaf.scale *= math.exp(new_y - y) if moved else 1.0
        tree.nodes[leaves[j]].var = leaf.unit * leaf.scale
    renew_clade(tree, top, engine.half_d)
    regraft(tree, top, parent, x, t)
    return moved


@jit
def move_clade(engine: Engine, top: Int, leaves: np.ndarray, cells: ScaleCells, state: np.ndarray) -> bool:
    """Try to move the clade below `top`, not the root, with the scales of some of its leaves; whether it moved."""
    first, last = math.log(cells.bounds[0]), math.log(cells.bounds[cells.bounds.size - 1])
    knots = Knots(first, (last - first) / (_N_KNOTS - 1), np.empty(_N_KNOTS))
    return _move(engine, top, leaves, cells, knots, state)


@jit
def move_one_clade(engine: Engine, seeds: np.ndarray, cells: ScaleCells, state: np.ndarray) -> bool:
    """Try to move a seed, the first most often, or one of its ancestors, its parent most often.

    Where the seed is in its clade, and how many leaves that has, are the same after the move.
    """
    engine = borrowed(engine)
    tree, u = engine.tree, uniform(state)
    leaf = np.int64(seeds[int(u * u * seeds.size)])
    top = leaf
    if uniform(state) < _ABOVE:
        top = np.int64(tree.nodes[leaf].parent)
        while top >= 0 and uniform(state) < _HIGHER:
            top = np.int64(tree.nodes[top].parent)
    alone = uniform(state) < _ALONE
    if top < 0 or tree.nodes[top].parent < 0:
        return False
    leaves = leaves_under(tree, top, _MAX_LEAVES)
    if leaves.size == 0:
        return False
    if alone:
        leaves[0] = leaf
        leaves = leaves[:1]
    return move_clade(engine, top, leaves, cells, state)
