"""Outliers that resemble each other, moved together with the scales of their noise.

A few such rows are either a small branch of their own, or rows of a larger one with large errors. No update of
one row leads from one to the other: the first to leave would have to stand alone. So a block of them (`outlier_blocks`)
is taken off, and put back the other way, one after another:

    scattered   each anywhere on the tree, and in the end not as a clade of their own
    gathered    the first one anywhere, with a scale that is drawn from the prior, since alone it would not choose the
                little noise with which others join it; each other one within the clade of those before it .

All others get a new scale s of Student's noise with their place (`outlier_scales`). A block that is a clade is
scattered, any other gathered, in one Metropolis–Hastings step with the product of f p(s) / q for the new places against
that for the old ones; a block of one row gets a new place and scale. "Anywhere" is on the paths to the root from near
leaves, from one drawn from all, and from those of the block that are on the tree: none depends on where it was.
"""

import math

import numpy as np
from numpy.random import Generator

from ..._runtime.jit import jit
from ..._runtime.random_streams import integer_below, make_streams, uniform
from ..._runtime.typing import Int
from ...numerics.borrow import borrow
from ..base import Merges, Tails
from .candidates import add_clade, add_every_branch, add_path, begin, pass_down
from .outlier_blocks import draw_block, neighborhoods
from .outlier_scales import Scales, draw_new_leaf, knots_of, scales_of, weigh_old_leaf
from .update import Engine
from .working_tree import WorkingTree, load, prune, regraft, unload

LEAVES_PER_BLOCK, MAX_BLOCKS = 30, 20  # blocks that are moved after a sweep: a part of what it costs
# Where a leaf of a block is, beside those before it: joined through node `free` to the branch above x at time t.
PLACE = np.dtype([("free", np.int64), ("x", np.int64), ("t", np.float64), ("s", np.float64)])


@jit
def _top_of_clade(tree: WorkingTree, block: np.ndarray) -> np.int64:
    """The node whose leaves are just those of the block, or -1."""
    k = block.size
    node = np.int64(block[0])
    for _ in range(k):  # the top of a clade of k leaves is at most k - 1 steps above each of them
        n_inside = 0
        for j in range(k):
            c, steps = np.int64(block[j]), 0
            while c >= 0 and c != node and steps < k:
                c = np.int64(tree.nodes[c].parent)
                steps += 1
            n_inside += c == node
        if n_inside == k:
            return node if tree.nodes[node].size == k else np.int64(-1)
        node = np.int64(tree.nodes[node].parent)
        if node < 0:
            break
    return np.int64(-1)


@jit
def _take_off(tree: WorkingTree, block: np.ndarray, places: np.ndarray) -> None:
    """Take the leaves off the tree, the last one first, and note their places."""
    for j in range(block.size - 1, -1, -1):
        places[j].free, places[j].x, places[j].t = prune(tree, block[j])


@jit(inline="always")
def _join_leaf(tree: WorkingTree, c: Int, places: np.ndarray, j: Int, scales: Scales) -> None:
    tree.nodes[c].var = scales.leaves[c].unit * places[j].s
    regraft(tree, c, places[j].free, places[j].x, places[j].t)


@jit(inline="always")
def _near_leaves(engine: Engine, block: np.ndarray, state: np.ndarray) -> np.ndarray:
    """(k, m) leaves near each of the block, and one drawn from all; none where every branch is a candidate."""
    neighbors, n = engine.neighbors, engine.tree.top[0].n_leaves
    if neighbors.shape[0] == 0:
        return np.empty((block.size, 0), np.int64)
    n_near = neighbors.shape[2]
    near = np.empty((block.size, n_near + 1), np.int64)
    for j in range(block.size):
        for i in range(near.shape[1]):
            near[j, i] = neighbors[0, block[j], i] if i < n_near else integer_below(state, n)
    return near


@jit(inline="always")
def _gather(engine: Engine, block: np.ndarray, j: Int, near: np.ndarray, top: Int) -> None:
    """Make the candidates of the j-th leaf of a block, of which those before it are on the tree.

    They are the branches of the clade below `top` and the one above it, or where this is -1, paths from near leaves
    and from those before it, or every branch where no near leaves are known.
    """
    tree, cand, c = engine.tree, engine.candidates, block[j]
    nodes, time = tree.nodes, tree.nodes[c].time
    if top < 0 and near.shape[1] == 0:
        add_every_branch(cand, tree, tree.mean[c], time)
        return
    begin(cand)
    if top >= 0:
        if nodes[top].parent >= 0:
            add_path(cand, nodes, np.int64(nodes[top].parent), np.int64(-1), time)
        cand.counts[0].passing = cand.counts[0].candidates
        add_clade(cand, nodes, top, time)
    else:
        for i in range(j):
            add_path(cand, nodes, block[i], np.int64(-1), time)
        for i in range(near.shape[1]):
            is_on = near[j, i] >= 0
            for other in block[j:]:
                is_on = is_on and near[j, i] != other
            if is_on:
                add_path(cand, nodes, near[j, i], np.int64(-1), time)
    pass_down(cand, tree, tree.mean[c], time)


@jit
def _put(
    engine: Engine,
    block: np.ndarray,
    near: np.ndarray,
    places: np.ndarray,
    scales: Scales,
    is_clade: bool | np.bool,
    is_new: bool | np.bool,
    state: np.ndarray,
) -> float:
    """Put the leaves at their places, or at new ones, as a clade or anywhere; returns log f p(s) / q.

    Where nothing new could be drawn, or weighed, this is -inf, and the leaves are left off the tree.
    """
    engine = borrow(engine)
    n, k, top, log_weight = engine.tree.top[0].n_leaves, block.size, np.int64(-1), 0.0
    for j in range(k):
        c, m, x = block[j], float(n - k + j), places[j].x
        _gather(engine, block, j, near, top)
        knots = scales.prior if is_clade and j == 0 else knots_of(engine, c, m, scales)
        if is_new:
            places[j].s, x, places[j].t, of_leaf = draw_new_leaf(engine, c, m, scales, knots, state)
        else:
            of_leaf = weigh_old_leaf(engine, c, m, scales, knots, places[j].s, x, places[j].t)
        log_weight += of_leaf
        if is_new and (x < 0 or not log_weight > -math.inf):
            for i in range(j - 1, -1, -1):
                prune(engine.tree, block[i])
            return -math.inf
        places[j].x = x
        _join_leaf(engine.tree, c, places, j, scales)
        if is_clade:
            top = np.int64(c) if j == 0 else (places[j].free if x == top else top)
    return log_weight


@jit
def _move(engine: Engine, block: np.ndarray, scales: Scales, state: np.ndarray) -> bool:
    """Try to move a block with its scales, from a clade to anywhere or the other way; returns whether it moved."""
    engine = borrow(engine)
    tree, k = engine.tree, block.size
    old, new, near = np.empty(k, PLACE), np.empty(k, PLACE), _near_leaves(engine, block, state)
    for j in range(k):
        old[j].s = scales.leaves[block[j]].scale
    was_clade = k > 1 and _top_of_clade(tree, block) >= 0
    is_clade = k > 1 and not was_clade
    _take_off(tree, block, old)
    log_old = _put(engine, block, near, old, scales, was_clade, np.bool_(False), state)
    if not log_old < math.inf:
        return False
    _take_off(tree, block, old)
    for j in range(k):
        new[j].free = old[j].free
    log_new = _put(engine, block, near, new, scales, is_clade, np.bool_(True), state)
    moved = math.log(uniform(state)) < log_new - log_old
    if moved and (not was_clade or _top_of_clade(tree, block) < 0):
        for j in range(k):
            scales.leaves[block[j]].scale = new[j].s
        return True
    if log_new > -math.inf:
        _take_off(tree, block, new)
    for j in range(k):
        _join_leaf(tree, block[j], old, j, scales)
    return False


def move_together(engine: Engine, tree: Merges, tails: Tails, rng: Generator) -> tuple[Merges, np.ndarray]:
    """Move blocks of outliers one after another; returns the tree and the scales."""
    around = neighborhoods(engine.W, engine.neighbors)
    if len(around.seeds) == 0:
        return tree, tails.scale
    children, times = np.array(tree[0], dtype=np.int64), np.array(tree[1], dtype=np.float64)
    scales, state = scales_of(tails), make_streams(rng, 1)[0]
    load(engine.tree, children, times, engine.W, engine.leaf_var)
    for _ in range(min(math.ceil(len(scales.leaves) / LEAVES_PER_BLOCK), MAX_BLOCKS)):
        _move(engine, draw_block(around, rng), scales, state)
    unload(engine.tree, children, times)
    return (children, times), scales.leaves["scale"].copy()
