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
from ...model.process.student_scales import student_table
from ...model.process.whitened import Problem
from ...numerics.borrow import borrow
from .branch_density import Target, draw_time, log_density, log_proposal
from .candidates import (
    Candidates,
    Quadrature,
    add_clade,
    add_path,
    add_scattered,
    begin,
    branch_of,
    empty_candidates,
    estimate_weights,
    is_candidate,
    log_total,
    pass_down,
    proposal_row,
    weigh,
)
from .lineage_counts import count_and_area
from .working_tree import WorkingTree, empty_working_tree, load, prune, regraft, unload

_NO_TABLE = np.zeros((2, 2, 4))


class Rule(NamedTuple):
    """How candidates are selected and the proposal is built."""

    max_global: float = 16.0  # up to so many lineages every branch is a candidate
    random_leaf: float = 0.25  # probability of adding the path of one uniformly drawn leaf
    n_scattered: int = 8  # random leaves, whose paths are candidates where those of near leaves miss the place; 0: none
    min_scattered: float = 32.0  # leaves of the clade that they are drawn from, from
    max_scattered: float = 1024.0  # to
    global_share: float = 0.0  # probability that a local update considers every branch all the same
    traced: float = 0.125  # probability of weights by quadrature, so that no estimate that is far off holds a subtree
    quadrature: Quadrature = Quadrature()
    correct: bool = True  # the Metropolis–Hastings step; tests leave it out to see that it is needed


TALLY = np.dtype([("updates", np.int64), ("moves", np.int64), ("candidates", np.int64), ("missed", np.int64)])


class Engine(NamedTuple):
    """All that sweeps need beside the tree they start from."""

    tree: WorkingTree
    candidates: Candidates
    W: np.ndarray  # (n, p)
    leaf_var: np.ndarray  # (n,)
    half_d: float
    neighbors: np.ndarray  # (levels, n, k); no levels: every branch is a candidate
    rule: Rule
    tally: np.ndarray  # (1,) TALLY
    student: np.ndarray  # `student_table` where a scale is integrated out


def make_engine(
    problem: Problem,
    W: np.ndarray,
    neighbors: np.ndarray | None = None,
    rule: Rule | None = None,
    earlier: Engine | None = None,
    half_df: float = 0.0,
) -> Engine:
    """Make an engine for contiguous rows W of a problem; its tree is still to be loaded.

    It overwrites the arrays of an earlier one of its size: for few rows they take as long to make as to use.
    """
    n, p = W.shape
    if earlier is not None and earlier.tree.mean.shape == (2 * n - 1, p):
        tree, candidates = earlier.tree, earlier.candidates
        candidates.counts["too_close"] = 0
    else:
        tree, candidates = empty_working_tree(n, p), empty_candidates(n, p)
    neighbors = np.empty((0, n, 0)) if neighbors is None else neighbors
    neighbors = np.ascontiguousarray(neighbors, dtype=np.int32)
    tally = np.zeros(1, TALLY)
    leaf_var, half_d = problem.leaf_vars(), 0.5 * problem.d
    table = student_table(half_d, half_df) if half_df > 0.0 else _NO_TABLE
    return Engine(tree, candidates, W, leaf_var, half_d, neighbors, rule or Rule(), tally, table)


@jit(inline="always")
def target_of(engine: Engine, c: Int, m: float) -> Target:
    """The density of a pruned subtree beside m leaves."""
    node = engine.tree.nodes[c]
    return Target(node.var - node.time, m, engine.half_d, engine.tree.lineages, 0.0, engine.student)


@jit
def choose(cand: Candidates, best: float, log_sum: float, state: np.ndarray) -> int:
    """Draw a candidate with probability proportional to its weight; `log_sum` is the log of all weights' sum."""
    rest = uniform(state) * math.exp(log_sum - best)
    last, branches = -1, borrow(cand.branches)
    for i in range(cand.counts[0].candidates):
        share = math.exp(branches[i].log_weight - best)
        if share > 0.0:
            last = i
            rest -= share
            if rest <= 0.0:
                break
    return last


@jit
def log_ratio(cand: Candidates, target: Target, i: Int, row: Int, t: float) -> float:
    """log f(t) - log q(t) on candidate i with its proposal's row; q is not normalised over candidates."""
    cand = borrow(cand)
    branch, proposals = branch_of(cand.branches, i), cand.proposals
    log_q = log_proposal(branch, proposals, row, t) + (cand.branches[i].log_weight - proposals.rows[row].log_mass)
    return log_density(branch, target, t) + cand.branches[i].log_multiple - log_q


@jit
def propose(
    cand: Candidates, target: Target, best: float, quadrature: Quadrature, state: np.ndarray
) -> tuple[int, float, float, float]:
    """Draw (candidate, time) from q; returns them with log f - log q, q not normalised, and log of q's total.

    Candidates have been weighed, `best` is the largest log weight. The candidate is -1 where nothing could be drawn.
    """
    cand = borrow(cand)
    if not best > -math.inf:
        return -1, 0.0, 0.0, 0.0
    log_sum = log_total(cand, best)
    i = choose(cand, best, log_sum, state)
    branch = branch_of(cand.branches, i)
    row = proposal_row(cand, i, target, quadrature)
    t = draw_time(branch, cand.proposals, row, state)
    if not branch.lower < t < branch.upper:
        return -1, 0.0, 0.0, 0.0
    return i, t, log_ratio(cand, target, i, row, t), log_sum


@jit(inline="always")
def gather(engine: Engine, c: Int, leaf: Int, x: Int, state: np.ndarray) -> None:
    """Make the candidate set of c, which is `leaf` or above it, and was beside x.

    Every branch that reaches beyond τ_c where no neighbours are given, with probability `global_share`, and where few
    lineages are alive at τ_c. Else paths from near leaves; or, where these miss x, paths to random leaves of the clade
    around x with at most m leaves, log m drawn anew each time (with much noise a subtree may be anywhere in a large
    group).
    """
    tree, cand, rule = engine.tree, engine.candidates, engine.rule
    nodes, time = tree.nodes, tree.nodes[c].time
    begin(cand)
    k, _ = count_and_area(tree.lineages, tree.top[0].n_leaves - 1.0, time)
    if engine.neighbors.shape[0] == 0 or k <= rule.max_global or uniform(state) < rule.global_share:
        add_clade(cand, nodes, tree.top[0].root, time)
        return
    _add_near(engine, c, leaf, k, state)
    if not is_candidate(cand, x) and rule.n_scattered > 0:
        most = rule.min_scattered * (rule.max_scattered / rule.min_scattered) ** uniform(state)
        add_scattered(cand, nodes, x, time, np.int64(most), np.int64(rule.n_scattered), state)


@jit(inline="always")
def _add_near(engine: Engine, c: Int, leaf: Int, k: float, state: np.ndarray) -> None:
    """Add the paths to the root from leaves near one under c, where k lineages are alive at τ_c.

    Half of them are the nearest neighbours, half drawn from the others, at the level with about as many leaves as there
    are lineages, and the next smaller one if it has many more. Now and then one leaf drawn from all is added.
    """
    tree, cand, neighbors = engine.tree, engine.candidates, engine.neighbors
    nodes, time = tree.nodes, tree.nodes[c].time
    n_levels, _, n_neighbors = neighbors.shape
    level, size = 0, float(tree.top[0].n_leaves)
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
        add_path(cand, nodes, integer_below(state, tree.top[0].n_leaves), c, time)


@jit(inline="always")
def update(engine: Engine, c: Int, leaf: Int, state: np.ndarray) -> None:
    """Regraft c, which is `leaf` or above it."""
    tree, cand, rule, tally = engine.tree, engine.candidates, engine.rule, engine.tally[0]
    parent, x, t = prune(tree, c)
    gather(engine, c, leaf, x, state)
    tally.updates += 1
    tally.candidates += cand.counts[0].candidates
    if not is_candidate(cand, x):
        regraft(tree, c, parent, x, t)
        tally.missed += 1
        return
    pass_down(cand, tree, tree.mean[c], tree.nodes[c].time)
    target = target_of(engine, c, tree.top[0].n_leaves - 1.0)
    is_traced = uniform(state) < rule.traced
    best = weigh(cand, target, rule.quadrature) if is_traced else estimate_weights(cand, target)
    i, new_t, ratio, _ = propose(cand, target, best, rule.quadrature, state)
    if i >= 0:
        old = cand.nodes[x].place
        old_ratio = log_ratio(cand, target, old, proposal_row(cand, old, target, rule.quadrature), t)
        if math.log(uniform(state)) < ratio - old_ratio or not rule.correct:
            x, t = np.int64(cand.branches[i].node), new_t
            tally.moves += 1
    regraft(tree, c, parent, x, t)


@jit
def sweep(engine: Engine, children: np.ndarray, times: np.ndarray, state: np.ndarray) -> None:
    """Update every leaf, and after each leaf the ancestor j steps above it, P(j) = 2^-j; the tree is overwritten.

    Since Σ 2^-j over the leaves under a node is 1, each inner node is updated once per sweep on average. A subtree
    keeps its leaves and their depth when it moves, so which node is drawn does not depend on where it is. All caches
    are renewed before each sweep, so that a resumed chain gives the same bits.
    """
    engine, state = borrow(engine), borrow(state)
    load(engine.tree, children, times, engine.W, engine.leaf_var)
    nodes = engine.tree.nodes
    for leaf in range(engine.tree.top[0].n_leaves):
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
