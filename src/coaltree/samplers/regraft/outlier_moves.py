"""Odd rows that resemble each other, moved together, with the scales of their noise.

Two or three such rows are either a small branch of their own or rows of a larger one with large errors, each by
itself. Between the two no update of one row leads: the first to leave would have to stand alone. So a block of them is
taken off, and put back in the other way:

    scattered   one after another anywhere on the tree, and not as a clade of their own
    gathered    joined with each other alone, one after another, and then to the tree as one subtree .

In both a leaf gets a new scale s of Student's noise with its place (`scale_cells`). A block that is a clade is
scattered, any other gathered, in one Metropolis–Hastings step with the product of f p(s) / q for the new places against
that for the old ones; a block of one row finds a new place and scale.

Which rows are tried is decided in `odd_blocks`, by the data and chance alone.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import uniform
from ..base import Merges, Tails
from .branch_density import Target
from .lineage_counts import add, remove
from .outlier_blocks import draw_block, neighborhoods
from .outlier_scales import (
    cell_of,
    cells_of,
    draw_new_leaf,
    draw_scale,
    log_prior_over_proposal,
    log_weight_of,
    look_everywhere,
    weigh_old_leaf,
)
from .update import Engine, propose
from .working_tree import attach, detach, load, refresh, sibling_of, unload


@jit(allocates=False)
def _prune(tree, c):
    """Take a leaf off; return the free node, the node it was joined to, and when."""
    parent, x = np.int64(tree.parent[c]), sibling_of(tree, c)
    t = tree.time[parent]
    detach(tree, c)
    remove(tree.lineages, parent)
    refresh(tree, np.int64(tree.parent[x]))
    return parent, x, t


@jit(allocates=False)
def _graft(tree, c, parent, x, t):
    attach(tree, c, parent, x, t)
    add(tree.lineages, parent, t)
    refresh(tree, parent)


class Places(NamedTuple):
    """Where the leaves of a block are: leaf j is joined through node `free` to the branch above x at time t.

    In a clade of their own the first leaf has no such place; its entries are those of the clade.
    """

    free: np.ndarray
    x: np.ndarray
    t: np.ndarray
    s: np.ndarray


@jit
def _empty_places(k):
    return Places(np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k), np.empty(k))


@jit(allocates=False)
def _top_of_clade(tree, block):
    """The node whose leaves are just those of the block, or -1."""
    k = block.size
    node = np.int64(block[0])
    for _ in range(k):  # the top of a clade of k leaves is at most k - 1 steps above each of them
        n_inside = 0
        for j in range(k):
            c, steps = np.int64(block[j]), 0
            while c >= 0 and c != node and steps < k:
                c = np.int64(tree.parent[c])
                steps += 1
            n_inside += c == node
        if n_inside == k:
            return node if _n_leaves(tree, node, k) == k else -1
        node = np.int64(tree.parent[node])
        if node < 0:
            break
    return -1


@jit(allocates=False)
def _n_leaves(tree, node, most):
    """The number of leaves under a node, or some number above `most`."""
    if tree.child[node, 0] < 0:
        return 1
    if most < 2:
        return 2
    left = _n_leaves(tree, np.int64(tree.child[node, 0]), most - 1)
    return left + _n_leaves(tree, np.int64(tree.child[node, 1]), most - left)


# --- scattered ---------------------------------------------------------------------------------------------------


@jit(allocates=False)
def _take_off(tree, block, places):
    for j in range(block.size - 1, -1, -1):
        places.free[j], places.x[j], places.t[j] = _prune(tree, block[j])


@jit(allocates=False)
def _put_back(tree, block, places, cells):
    for j in range(block.size):
        c = block[j]
        tree.var[c] = cells.unit[c] * places.s[j]
        _graft(tree, c, places.free[j], places.x[j], places.t[j])


@jit(allocates=False)
def _weigh_scattered(engine, block, places, cells, log_share):
    """Put the leaves where they were, one after another; return the sum of log f p(s) / q."""
    tree, n, k = engine.tree, engine.tree.top[1], block.size
    log_weight = 0.0
    for j in range(k):
        c, m = block[j], float(n - k + j)
        log_weight += weigh_old_leaf(engine, c, m, cells, places.s[j], log_share, places.x[j], places.t[j])
        tree.var[c] = cells.unit[c] * places.s[j]
        _graft(tree, c, places.free[j], places.x[j], places.t[j])
    return log_weight


@jit(allocates=False)
def _scatter(engine, block, places, cells, log_share, state):
    """Put the leaves anywhere, one after another; return the sum of log f p(s) / q and how many are on the tree."""
    tree, n, k = engine.tree, engine.tree.top[1], block.size
    log_weight = 0.0
    for j in range(k):
        c, m = block[j], float(n - k + j)
        places.s[j], x, places.t[j], of_leaf = draw_new_leaf(engine, c, m, cells, log_share, state)
        if x < 0:
            return -math.inf, j
        places.x[j] = x
        log_weight += of_leaf
        tree.var[c] = cells.unit[c] * places.s[j]
        _graft(tree, c, places.free[j], x, places.t[j])
    return log_weight, k


# --- gathered ----------------------------------------------------------------------------------------------------
#
# While a clade is apart from the tree it takes the place of its root, so that the same functions serve. With k_c(u)
# lineages of its own, the coalescent has exp(-∫ [k k_c + k_c (k_c - 1) / 2] du) for the clade: joining its leaves to
# each other beside the k lineages of the tree gives all but ∫_0^t k du. What the lineages say then is
# ∫_0^t (k + k_c - 1) du, more by the sum of the times of its merges.


@jit(allocates=False)
def _take_clade_off(tree, top, block, places):
    """Take a clade off the tree, and its leaves off each other."""
    places.free[0], places.x[0], places.t[0] = _prune(tree, top)
    root = tree.top[0]
    tree.top[0] = top
    for j in range(block.size - 1, 0, -1):
        places.free[j], places.x[j], places.t[j] = _prune(tree, block[j])
    tree.top[0] = root


@jit(allocates=False)
def _join(tree, top, places):
    """Put a clade that is apart onto the tree."""
    _graft(tree, top, places.free[0], places.x[0], places.t[0])


@jit(allocates=False)
def _put_clade_back(tree, block, places, cells):
    """Make the clade as it was and join it where it was."""
    root = tree.top[0]
    tree.var[block[0]] = cells.unit[block[0]] * places.s[0]
    tree.top[0] = block[0]
    for j in range(1, block.size):
        c = block[j]
        tree.var[c] = cells.unit[c] * places.s[j]
        _graft(tree, c, places.free[j], places.x[j], places.t[j])
    top = tree.top[0]
    tree.top[0] = root
    _join(tree, top, places)


@jit(allocates=False)
def _extra_time(places):
    """What the lineages say too much of the time before a clade joins the tree."""
    total = 0.0
    for j in range(1, places.t.size):
        total += places.t[j]
    return total


@jit(allocates=False)
def _weigh_gathered(engine, block, places, cells, log_share):
    """Make the clade as it was and join it where it was; return log f p(s) / q."""
    tree, n, k = engine.tree, engine.tree.top[1], block.size
    root = tree.top[0]
    g = cell_of(cells, places.s[0])
    log_weight = log_prior_over_proposal(cells, cells.log_prior, g, places.s[0]) if g >= 0 else math.nan
    tree.var[block[0]] = cells.unit[block[0]] * places.s[0]
    tree.top[0] = block[0]
    for j in range(1, k):
        c, m = block[j], float(n - k + j)
        log_weight += weigh_old_leaf(engine, c, m, cells, places.s[j], log_share, places.x[j], places.t[j])
        tree.var[c] = cells.unit[c] * places.s[j]
        _graft(tree, c, places.free[j], places.x[j], places.t[j])
    top = tree.top[0]
    tree.top[0] = root
    look_everywhere(engine, top)
    target = Target(tree.var[top] - tree.time[top], n - 1.0, engine.half_d)
    log_weight += log_weight_of(engine, target, places.x[0], places.t[0]) + _extra_time(places)
    _join(tree, top, places)
    return log_weight


@jit(allocates=False)
def _gather(engine, block, places, cells, log_share, state):
    """Make a clade of the leaves and join it to the tree; return log f p(s) / q, the top of the clade, and whether.

    Where nothing could be drawn the weight is -inf, and the leaves are left apart.
    """
    tree, n, k = engine.tree, engine.tree.top[1], block.size
    root = tree.top[0]
    g, places.s[0] = draw_scale(cells, cells.log_prior, state)
    log_weight = log_prior_over_proposal(cells, cells.log_prior, g, places.s[0])
    tree.var[block[0]] = cells.unit[block[0]] * places.s[0]
    tree.top[0] = block[0]
    n_joined = 1
    for j in range(1, k):
        c, m = block[j], float(n - k + j)
        places.s[j], x, places.t[j], of_leaf = draw_new_leaf(engine, c, m, cells, log_share, state)
        if x < 0:
            break
        places.x[j] = x
        log_weight += of_leaf
        tree.var[c] = cells.unit[c] * places.s[j]
        _graft(tree, c, places.free[j], x, places.t[j])
        n_joined += 1
    top = tree.top[0]
    tree.top[0] = root
    if n_joined == k:
        look_everywhere(engine, top)
        target = Target(tree.var[top] - tree.time[top], n - 1.0, engine.half_d)
        i, t, ratio, log_total = propose(engine.candidates, target, tree.lineages, engine.rule.care, state)
        if i >= 0:
            places.x[0], places.t[0] = np.int64(engine.candidates.node[i]), t
            _join(tree, top, places)
            return log_weight + ratio + log_total + _extra_time(places), top, True
    tree.top[0] = top
    for j in range(n_joined - 1, 0, -1):
        _prune(tree, block[j])
    tree.top[0] = root
    return -math.inf, top, False


# --- the move ----------------------------------------------------------------------------------------------------


@jit
def _take_off_weighed(engine, block, top, places, cells, log_share):
    """Take a block off; return log f p(s) / q of where it was. Where that is NaN the block is left there."""
    tree, is_clade = engine.tree, top >= 0 and block.size > 1
    if is_clade:
        _take_clade_off(tree, top, block, places)
        log_weight = _weigh_gathered(engine, block, places, cells, log_share)
    else:
        _take_off(tree, block, places)
        log_weight = _weigh_scattered(engine, block, places, cells, log_share)
    if log_weight < math.inf:
        if is_clade:
            _take_clade_off(tree, top, block, places)
        else:
            _take_off(tree, block, places)
    return log_weight


@jit
def _to_scattered(engine, block, top, old, new, cells, log_share, state):
    """From a clade, or from one leaf, to places anywhere; return whether it came to that."""
    tree, k = engine.tree, block.size
    log_old = _take_off_weighed(engine, block, top, old, cells, log_share)
    if not log_old < math.inf:
        return False
    for j in range(k):
        new.free[j] = old.free[j]
    log_new, n_back = _scatter(engine, block, new, cells, log_share, state)
    if math.log(uniform(state)) < log_new - log_old and (k == 1 or _top_of_clade(tree, block) < 0):
        return True
    for j in range(n_back - 1, -1, -1):
        _prune(tree, block[j])
    if k == 1:
        _put_back(tree, block, old, cells)
    else:
        _put_clade_back(tree, block, old, cells)
    return False


@jit
def _to_gathered(engine, block, old, new, cells, log_share, state):
    """From places anywhere to a clade; return whether it came to that."""
    tree = engine.tree
    log_old = _take_off_weighed(engine, block, np.int64(-1), old, cells, log_share)
    if not log_old < math.inf:
        return False
    for j in range(block.size):
        new.free[j] = old.free[j]
    log_new, top, is_joined = _gather(engine, block, new, cells, log_share, state)
    if math.log(uniform(state)) < log_new - log_old:
        return True
    if is_joined:
        _take_clade_off(tree, top, block, new)
    _put_back(tree, block, old, cells)
    return False


@jit
def _move(engine, block, cells, s, state):
    """Try to move a block; return whether it moved. `s` is changed then."""
    k = block.size
    old, new, log_share = _empty_places(k), _empty_places(k), np.empty(cells.log_prior.size)
    for j in range(k):
        old.s[j] = s[block[j]]
    top = _top_of_clade(engine.tree, block)
    if k == 1 or top >= 0:
        moved = _to_scattered(engine, block, top, old, new, cells, log_share, state)
    else:
        moved = _to_gathered(engine, block, old, new, cells, log_share, state)
    if moved:
        for j in range(k):
            s[block[j]] = new.s[j]
    return moved


@jit
def _move_blocks(engine, children, times, around, n_blocks, cells, s, state):
    load(engine.tree, children, times, engine.W, engine.leaf_var)
    n_moved = 0
    for _ in range(n_blocks):
        n_moved += _move(engine, draw_block(around, state), cells, s, state)
    unload(engine.tree, children, times)
    return n_moved


def move_together(
    engine: Engine, tree: Merges, tails: Tails, n_blocks: int, state: np.ndarray
) -> tuple[Merges, np.ndarray]:
    """Move `n_blocks` blocks one after another; returns the tree and the cells."""
    children, times = np.array(tree[0], dtype=np.int64), np.array(tree[1], dtype=np.float64)
    scale = np.array(tails.scale)
    around = neighborhoods(engine.W, engine.neighbors)
    if len(around.seeds) == 0:
        return tree, tails.scale
    _move_blocks(engine, children, times, around, n_blocks, cells_of(tails), scale, state)
    return (children, times), scale
