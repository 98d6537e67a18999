"""One regrafting update: prune, weigh the branches, draw, Metropolis–Hastings, regraft.

The proposal q over (branch, time) is a function of the pruned tree and the candidate set; a move from `old` to `new` is
accepted with probability min(1, f(new) q(old) / (f(old) q(new))), f the exact conditional density. So the target is
exact whatever the estimates behind q.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import integer_below, uniform
from ..._runtime.typing import Int
from ...model.process.whitened import Problem
from ...numerics.borrow import borrow
from ..base import Merges
from .branch_density import Target, draw_time, log_density, log_proposal
from .candidates import (
    Candidates,
    Care,
    add_clade,
    add_clade_around,
    add_path,
    add_scattered,
    begin,
    borrow_candidates,
    branch_of,
    empty_candidates,
    estimate_weights,
    forget_close,
    pass_down,
    proposal_row,
    sum_of_weights,
    weigh,
)
from .lineage_counts import count_and_area, remove, view_of
from .working_tree import (
    WorkingTree,
    attach,
    borrow_tree,
    detach,
    empty_working_tree,
    load,
    refresh,
    regraft,
    sibling_of,
    unload,
)


class Rule(NamedTuple):
    """How candidates are selected and the proposal is built."""

    max_global: float = 16.0  # up to so many lineages every branch is a candidate
    random_leaf: float = 0.25  # probability of adding the path of one uniformly drawn leaf
    around: float = 0.5  # probability that the candidates are the clade around the subtree's place
    min_around: float = 8.0  # lineages of that clade, from
    max_around: float = 64.0  # to
    n_scattered: int = 8  # random leaves, whose paths are candidates where those of near leaves miss the place; 0: none
    min_scattered: float = 32.0  # leaves of the clade that they are drawn from, from
    max_scattered: float = 1024.0  # to
    global_share: float = 0.0  # probability that a local update considers every branch all the same
    traced: float = 0.125  # probability of weighing with care, so that no estimate that is far off holds a subtree
    care: Care = Care()
    correct: bool = True  # the Metropolis–Hastings step; tests leave it out to see that it is needed


class Engine(NamedTuple):
    """All that sweeps need beside the tree they start from."""

    tree: WorkingTree
    candidates: Candidates
    W: np.ndarray  # (n, p)
    leaf_var: np.ndarray  # (n,)
    half_d: float
    neighbors: np.ndarray  # (levels, n, k); no levels: every branch is a candidate
    rule: Rule
    tally: np.ndarray  # (4,) updates, moves, candidates, updates whose old branch was no candidate


class Workspace(NamedTuple):
    """Arrays that one engine after another may overwrite: for few rows they take as long to make as to use."""

    tree: WorkingTree
    candidates: Candidates


def make_workspace(n: int, p: int) -> Workspace:
    """Allocate what engines for n rows of p columns need."""
    return Workspace(empty_working_tree(n, p), empty_candidates(n, p))


def make_engine(
    problem: Problem,
    W: np.ndarray,
    neighbors: np.ndarray | None = None,
    rule: Rule | None = None,
    workspace: Workspace | None = None,
) -> Engine:
    """Make an engine for contiguous rows W of a problem; its tree is still to be loaded.

    It overwrites the arrays of a workspace of its size, and with them those of engines made of it before.
    """
    n, p = W.shape
    if workspace is None or workspace.tree.mean.shape != (2 * n - 1, p):
        workspace = make_workspace(n, p)
    tree, candidates = workspace
    forget_close(candidates)
    neighbors = np.empty((0, n, 0)) if neighbors is None else neighbors
    neighbors = np.ascontiguousarray(neighbors, dtype=np.int32)
    tally = np.zeros(4, np.int64)
    return Engine(tree, candidates, W, problem.leaf_vars(), 0.5 * problem.d, neighbors, rule or Rule(), tally)


@jit(inline="always")
def borrowed(engine: Engine) -> Engine:
    """The same without owners of arrays (`numerics.borrow`), for the loops of a kernel."""
    return Engine(
        borrow_tree(engine.tree),
        borrow_candidates(engine.candidates),
        borrow(engine.W),
        borrow(engine.leaf_var),
        engine.half_d,
        borrow(engine.neighbors),
        engine.rule,
        borrow(engine.tally),
    )


@jit
def choose(cand: Candidates, best: float, state: np.ndarray) -> tuple[int, float]:
    """Draw a candidate with probability proportional to its weight; returns it and the log of all weights' sum."""
    total = sum_of_weights(cand, best)
    rest = uniform(state) * total
    last, branches = -1, borrow(cand.branches)
    for i in range(cand.counts[0]):
        share = math.exp(branches[i].log_weight - best)
        if share > 0.0:
            last = i
            rest -= share
            if rest <= 0.0:
                break
    return last, best + math.log(total)


@jit
def log_ratio(cand: Candidates, target: Target, i: Int, row: Int, t: float) -> float:
    """log f(t) - log q(t) on candidate i with its proposal's row; q is not normalised over candidates."""
    branch, proposals = branch_of(cand.branches, i), cand.proposals
    log_q = log_proposal(branch, proposals, row, t) + (cand.branches[i].log_weight - proposals.rows[row].log_mass)
    return log_density(branch, target, t) + cand.branches[i].log_multiple - log_q


@jit
def propose(
    cand: Candidates, target: Target, best: float, coarse: float, state: np.ndarray
) -> tuple[int, float, float, float]:
    """Draw (candidate, time) from q; returns them with log f - log q, q not normalised, and log of q's total.

    Candidates have been weighed, `best` is the largest log weight. The candidate is -1 where nothing could be drawn.
    """
    cand = borrow_candidates(cand)
    if not best > -math.inf:
        return -1, 0.0, 0.0, 0.0
    i, log_total = choose(cand, best, state)
    branch = branch_of(cand.branches, i)
    row = proposal_row(cand, i, target, coarse)
    t = draw_time(branch, cand.proposals, row, state)
    if not branch.lower < t < branch.upper:
        return -1, 0.0, 0.0, 0.0
    return i, t, log_ratio(cand, target, i, row, t), log_total


@jit(inline="always")
def gather(engine: Engine, c: Int, leaf: Int, x: Int, state: np.ndarray) -> None:
    """Make the candidate set of c, which is `leaf` or above it, and was beside x.

    Every branch that reaches beyond τ_c where no neighbours are given, with probability `global_share`, and where few
    lineages are alive at τ_c. Else the clade around x, the largest with at most m lineages at τ_c, log m drawn anew
    each time; or paths from near leaves; or, where these miss x, paths to random leaves of a larger clade (with much
    noise a subtree may be anywhere in a large group).
    """
    tree, cand, rule = engine.tree, engine.candidates, engine.rule
    nodes, time = borrow(tree.nodes), tree.nodes[c].time
    begin(cand.counts)
    if engine.neighbors.shape[0] == 0 or uniform(state) < rule.global_share:
        add_clade(cand, nodes, tree.top[0], time)
        return
    looks_around = uniform(state) < rule.around
    k, _ = count_and_area(view_of(tree.lineages), tree.top[1] - 1.0, time)
    if k <= rule.max_global:
        add_clade(cand, nodes, tree.top[0], time)
    elif looks_around:
        most = rule.min_around * (rule.max_around / rule.min_around) ** uniform(state)
        add_clade_around(cand, tree, x, time, np.int64(most))
    else:
        _add_near(engine, c, leaf, k, state)
        if cand.nodes[x].mark != cand.counts[1] and rule.n_scattered > 0:
            most = rule.min_scattered * (rule.max_scattered / rule.min_scattered) ** uniform(state)
            add_scattered(cand, tree, x, time, np.int64(most), np.int64(rule.n_scattered), state)


@jit(inline="always")
def _add_near(engine: Engine, c: Int, leaf: Int, k: float, state: np.ndarray) -> None:
    """Add the paths to the root from leaves near one under c, where k lineages are alive at τ_c.

    Half of them are the nearest neighbours, half drawn from the others, at the level with about as many leaves as there
    are lineages, and the next smaller one if it has many more. Now and then one leaf drawn from all is added.
    """
    tree, cand, neighbors = engine.tree, engine.candidates, borrow(engine.neighbors)
    nodes, time = borrow(tree.nodes), tree.nodes[c].time
    n_levels, _, n_neighbors = neighbors.shape
    level, size = 0, float(tree.top[1])
    while level + 1 < n_levels and size >= 4.0 * k:
        level += 1
        size /= 4.0
    last = level + 1 if size > 1.5 * k and level + 1 < n_levels else level
    n_paths = (n_neighbors + 1) // 2
    n_nearest = (n_paths + 1) // 2
    for i in range(level, last + 1):
        for j in range(n_paths):
            place = j if j < n_nearest else n_nearest + integer_below(state, n_neighbors - n_nearest)
            y = np.int64(neighbors[i, leaf, place])
            if y >= 0:
                add_path(cand, nodes, y, c, time)
    if uniform(state) < engine.rule.random_leaf:
        add_path(cand, nodes, integer_below(state, tree.top[1]), c, time)


@jit(inline="always")
def update(engine: Engine, c: Int, leaf: Int, state: np.ndarray) -> None:
    """Regraft c, which is `leaf` or above it."""
    tree, cand, rule, tally = engine.tree, engine.candidates, engine.rule, engine.tally
    nodes, parent, x = borrow(tree.nodes), np.int64(tree.nodes[c].parent), sibling_of(tree, c)
    t = nodes[parent].time
    detach(tree, c)
    gather(engine, c, leaf, x, state)
    tally[0] += 1
    tally[2] += cand.counts[0]
    if cand.nodes[x].mark != cand.counts[1]:
        attach(tree, c, parent, x, t)
        tally[3] += 1
        return
    remove(tree.lineages, parent)
    refresh(tree, np.int64(nodes[x].parent))
    pass_down(cand, tree, tree.mean[c], nodes[c].time)
    target = Target(nodes[c].var - nodes[c].time, tree.top[1] - 1.0, engine.half_d, view_of(tree.lineages))
    is_traced, coarse = uniform(state) < rule.traced, rule.care.coarse
    best = weigh(cand, target, rule.care) if is_traced else estimate_weights(cand, target)
    i, new_t, ratio, _ = propose(cand, target, best, coarse, state)
    if i >= 0:
        old = cand.nodes[x].place
        old_ratio = log_ratio(cand, target, old, proposal_row(cand, old, target, coarse), t)
        if math.log(uniform(state)) < ratio - old_ratio or not rule.correct:
            x, t = np.int64(cand.branches[i].node), new_t
            tally[1] += 1
    regraft(tree, c, parent, x, t)


@jit
def _sweep(engine: Engine, children: np.ndarray, times: np.ndarray, state: np.ndarray) -> None:
    load(engine.tree, children, times, engine.W, engine.leaf_var)
    engine, state = borrowed(engine), borrow(state)
    nodes = engine.tree.nodes
    for leaf in range(engine.tree.top[1]):
        c = np.int64(leaf)
        for turn in range(2):  # the leaf and an ancestor: in one place, since the update is inlined
            if turn == 1:
                c = np.int64(nodes[leaf].parent)
                while c >= 0 and uniform(state) < 0.5:
                    c = np.int64(nodes[c].parent)
                if c < 0 or nodes[c].parent < 0:
                    break
            update(engine, c, leaf, state)
    unload(engine.tree, children, times)


def sweeps(engine: Engine, merges: Merges, kept: Merges, state: np.ndarray) -> None:
    """Sweep from a tree (children, times), which is overwritten, and keep (T, …) the tree after each of T sweeps.

    A sweep updates every leaf, and after each leaf the ancestor j steps above it, P(j) = 2^-j. Since Σ 2^-j over the
    leaves under a node is 1, each inner node is updated once per sweep on average. A subtree keeps its leaves and their
    depth when it moves, so which node is drawn does not depend on where it is. All caches are renewed before each
    sweep, so that a resumed chain gives the same bits.
    """
    children, times = merges
    for kept_children, kept_times in zip(*kept, strict=True):
        _sweep(engine, children, times, state)
        kept_children[:], kept_times[:] = children, times
