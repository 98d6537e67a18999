"""Outliers that resemble each other, moved together with the scales of their noise.

Two or three such rows are either a small branch of their own, or rows of a larger one with large errors. No update of
one row leads from one to the other: the first to leave would have to stand alone. So a block of them (`outlier_blocks`)
is taken off, and put back the other way:

    scattered   one after another anywhere on the tree, and not as a clade of their own
    gathered    joined with each other alone, one after another, and then to the tree as one subtree .

In both a leaf gets a new scale s of Student's noise with its place (`outlier_scales`). A block that is a clade is
scattered, any other gathered, in one Metropolis–Hastings step with the product of f p(s) / q for the new places against
that for the old ones; a block of one row gets a new place and scale.

While a clade is apart from the tree it takes the place of its root, so that the same functions serve. With k_c(u)
lineages of its own, the coalescent has exp(-∫ [k k_c + k_c (k_c - 1) / 2] du) for the clade: joining its leaves to
each other beside the k lineages of the tree gives all but ∫_0^t k du. The lineage counts then say
∫_0^t (k + k_c - 1) du, more by the sum of the times of its merges.
"""

import math

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import uniform
from ..._runtime.typing import Int
from ..base import Merges, Tails
from .candidates import add_every_branch, weigh
from .clades.outlier_clades import move_clades
from .outlier_blocks import draw_block, neighborhoods
from .outlier_scales import (
    ScaleCells,
    cell_of,
    cells_of,
    draw_new_leaf,
    draw_scale,
    log_prior_over_proposal,
    log_weight_of,
    target_of,
    weigh_old_leaf,
)
from .update import Engine, borrowed, propose
from .working_tree import WorkingTree, load, prune, regraft, unload

_TRIES_PER_OUTLIER = 4  # of a call: a try costs as much as a few updates of a sweep

# Where a leaf of a block is: joined through node `free` to the branch above x at time t, with scale s. In a clade of
# their own the first leaf has no such place; its entries are those of the clade.
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
def _take_off(tree: WorkingTree, block: np.ndarray, top: Int, places: np.ndarray) -> None:
    """Take the leaves off the tree, and note their places; where top >= 0, as the clade below it, then one by one."""
    root, first = tree.top[0], 0
    if top >= 0:
        places[0].free, places[0].x, places[0].t = prune(tree, top)
        root, first = tree.top[0], 1
        tree.top[0] = top
    for j in range(block.size - 1, first - 1, -1):
        places[j].free, places[j].x, places[j].t = prune(tree, block[j])
    if top >= 0:
        tree.top[0] = root


@jit(inline="always")
def _join_leaf(tree: WorkingTree, c: Int, places: np.ndarray, j: Int, cells: ScaleCells) -> None:
    tree.nodes[c].var = cells.leaves[c].unit * places[j].s
    regraft(tree, c, places[j].free, places[j].x, places[j].t)


@jit(inline="always")
def _begin_clade(tree: WorkingTree, c: Int, s: float, cells: ScaleCells) -> int:
    """Make a leaf a tree of its own, to which others are joined; returns the root of the tree."""
    root = tree.top[0]
    tree.nodes[c].var = cells.leaves[c].unit * s
    tree.top[0] = c
    return root


@jit(inline="always")
def _extra_time(places: np.ndarray) -> float:
    """How much the area under the lineages is too large before a clade joins the tree."""
    total = 0.0
    for j in range(1, places.size):
        total += places[j].t
    return total


@jit
def _put_back(
    engine: Engine, block: np.ndarray, places: np.ndarray, cells: ScaleCells, is_clade: bool | np.bool, weighs: np.bool
) -> float:
    """Put the leaves where they were, as a clade or one by one; returns log f p(s) / q if it is to be computed."""
    tree, n, k = engine.tree, engine.tree.top[1], block.size
    root, log_weight = tree.top[0], 0.0
    if is_clade:
        root = _begin_clade(tree, block[0], places[0].s, cells)
        g = cell_of(cells, places[0].s)
        log_weight = log_prior_over_proposal(cells, cells.log_prior, g, places[0].s) if g >= 0 else math.nan
    for j in range(1 if is_clade else 0, k):
        c, m = block[j], float(n - k + j)
        if weighs:
            log_weight += weigh_old_leaf(engine, c, m, cells, places[j].s, places[j].x, places[j].t)
        _join_leaf(tree, c, places, j, cells)
    if is_clade:
        top = tree.top[0]
        tree.top[0] = root
        if weighs:
            add_every_branch(engine.candidates, tree, tree.mean[top], tree.nodes[top].time)
            target = target_of(engine, tree.nodes[top].var - tree.nodes[top].time, n - 1.0)
            best = weigh(engine.candidates, target, engine.rule.care)
            log_weight += log_weight_of(engine, target, best, places[0].x, places[0].t) + _extra_time(places)
        regraft(tree, top, places[0].free, places[0].x, places[0].t)
    return log_weight


@jit(inline="always")
def _put_anew(
    engine: Engine,
    block: np.ndarray,
    places: np.ndarray,
    cells: ScaleCells,
    is_clade: bool | np.bool,
    state: np.ndarray,
) -> tuple[float, np.int64, bool]:
    """Put the leaves at new places, as a clade or one by one; returns log f p(s) / q, the clade's top or -1, and True.

    Where nothing could be drawn these are -inf, -1 and False, and the leaves are left off the tree.
    """
    tree, n, k = engine.tree, engine.tree.top[1], block.size
    root, top, first, log_weight = tree.top[0], np.int64(-1), 0, 0.0
    if is_clade:
        g, places[0].s = draw_scale(cells, cells.log_prior, state)
        log_weight = log_prior_over_proposal(cells, cells.log_prior, g, places[0].s)
        root, first = _begin_clade(tree, block[0], places[0].s, cells), 1
    n_joined = first
    for j in range(first, k):
        c, m = block[j], float(n - k + j)
        places[j].s, x, places[j].t, of_leaf = draw_new_leaf(engine, c, m, cells, state)
        if x < 0:
            break
        places[j].x = x
        log_weight += of_leaf
        _join_leaf(tree, c, places, j, cells)
        n_joined += 1
    if n_joined == k and not is_clade:
        return log_weight, top, True
    if is_clade:
        top = tree.top[0]
        tree.top[0] = root
    if n_joined == k:
        add_every_branch(engine.candidates, tree, tree.mean[top], tree.nodes[top].time)
        target = target_of(engine, tree.nodes[top].var - tree.nodes[top].time, n - 1.0)
        best = weigh(engine.candidates, target, engine.rule.care)
        i, t, ratio, log_total = propose(engine.candidates, target, best, engine.rule.care.coarse, state)
        if i >= 0:
            places[0].x, places[0].t = np.int64(engine.candidates.branches[i].node), t
            regraft(tree, top, places[0].free, places[0].x, t)
            return log_weight + ratio + log_total + _extra_time(places), top, True
    if is_clade:
        tree.top[0] = top
    for j in range(n_joined - 1, first - 1, -1):
        prune(tree, block[j])
    if is_clade:
        tree.top[0] = root
    return -math.inf, np.int64(-1), False


@jit
def _move(engine: Engine, block: np.ndarray, cells: ScaleCells, state: np.ndarray) -> bool:
    """Try to move a block with its scales, from a clade to anywhere or the other way; returns whether it moved."""
    engine = borrowed(engine)
    tree, k = engine.tree, block.size
    old, new = np.empty(k, PLACE), np.empty(k, PLACE)
    for j in range(k):
        old[j].s = cells.leaves[block[j]].scale
    top = _top_of_clade(tree, block) if k > 1 else np.int64(-1)
    was_clade, is_clade = top >= 0, top < 0 and k > 1
    _take_off(tree, block, top, old)
    log_old = _put_back(engine, block, old, cells, was_clade, np.bool_(True))
    if not log_old < math.inf:
        return False
    _take_off(tree, block, top, old)
    for j in range(k):
        new[j].free = old[j].free
    log_new, new_top, is_put = _put_anew(engine, block, new, cells, is_clade, state)
    moved = math.log(uniform(state)) < log_new - log_old
    if moved and (not was_clade or _top_of_clade(tree, block) < 0):
        for j in range(k):
            cells.leaves[block[j]].scale = new[j].s
        return True
    if is_put:
        _take_off(tree, block, new_top, new)
    _put_back(engine, block, old, cells, was_clade, np.bool_(False))
    return False


def move_together(
    engine: Engine, tree: Merges, tails: Tails, n_blocks: int, state: np.ndarray, *, clades: bool = False
) -> tuple[Merges, np.ndarray]:
    """Move so many blocks of outliers one after another, then perhaps clades; returns the tree and the scales."""
    around = neighborhoods(engine.W, engine.neighbors)
    if len(around.seeds) == 0:
        return tree, tails.scale
    children, times = np.array(tree[0], dtype=np.int64), np.array(tree[1], dtype=np.float64)
    cells = cells_of(tails)
    load(engine.tree, children, times, engine.W, engine.leaf_var)
    for _ in range(n_blocks):
        _move(engine, draw_block(around, state), cells, state)
    if clades:
        move_clades(engine, around.seeds, cells, np.int64(_TRIES_PER_OUTLIER), state)
    unload(engine.tree, children, times)
    return (children, times), cells.leaves["scale"].copy()
