"""Which branches a pruned subtree may rejoin, their outward messages, and how much mass each holds.

A candidate set is closed upwards: with a branch it has all branches between it and the root, so that outward messages
can be passed down within it. It depends on the pruned tree, the subtree and chance alone, not on where the subtree was
(or, in a clade around that place, only on which of several disjoint sets the place is in); so it is the same for a move
and its reverse.

The outward message (o, q) of x at the time of its parent p joins what comes from above p with what x's sibling y says:

    a = q_p + τ_pp - τ_p ,  b = s_y + τ_p - τ_y ,  o = (b o_p + a mean_y) / (a + b) ,  q = a b / (a + b)

(below the root o = mean_y, q = b).
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.typing import Int
from ...errors import InputError
from ...model.process.diffusion import blend, join, squared_distance
from ...model.process.whitened import Problem
from .branch_density import Branch, Proposals, Target, empty_proposals, log_mass_bound, trace
from .working_tree import WorkingTree, sibling_of

_MAX_KEPT = 31  # proposals that are kept; there are rarely so many
_MAX_VALUE = 1e12  # log densities grow with the values: beyond, rounding decides what is drawn
_MIN_DISTANCE = 2e-302  # squared, for each half dimension: below, the density underflows


class Care(NamedTuple):
    """How close proposals come to the density."""

    coarse: float = 1.0  # height between the first knots, in 0.8 nats
    negligible: float = 7.0  # branches bounded below e^-negligible of the best keep that bound as their weight


class Candidates(NamedTuple):
    """Arrays over candidates, parents before children.

    `counts` holds how many, the current mark, how often a leaf was too close to another to be told apart, and how many
    of the first candidates only pass messages on and are not to be drawn.
    """

    node: np.ndarray  # (cap,) int32: the branch above this node
    place: np.ndarray  # (2n-1,) int32: where a marked node stands in `node`
    mark: np.ndarray  # (2n-1,) int64: equal to counts[1] for candidates
    outward: np.ndarray  # (cap, p)
    outward_var: np.ndarray  # (cap,)
    scalars: np.ndarray  # (cap, 8) the fields of Branch
    log_weight: np.ndarray  # (cap,)
    row: np.ndarray  # (cap,) int32: its row in `proposals`; -1 not kept, -2 not traced
    counts: np.ndarray  # (4,) int64
    proposals: Proposals


def empty_candidates(n: int, p: int) -> Candidates:
    """Allocate candidates for every branch of a tree with n leaves and p columns."""
    cap = 2 * n - 1
    node, place, row = np.zeros((3, cap), np.int32)
    mark, counts = np.zeros(cap, np.int64), np.zeros(4, np.int64)
    outward, scalars = np.zeros((cap, p)), np.zeros((cap, 8))
    outward_var, log_weight = np.zeros((2, cap))
    proposals = empty_proposals(_MAX_KEPT + 1)
    return Candidates(node, place, mark, outward, outward_var, scalars, log_weight, row, counts, proposals)


def vectors(problem: Problem, name: str) -> np.ndarray:
    """The whitened rows as kernels take them; InputError where there are none, or too large for sampler `name`."""
    if problem.W is None:
        raise InputError(
            f"{name} needs the rows themselves, not distances alone; the merge-by-merge samplers, such as MPost1, "
            "take distances."
        )
    W = np.ascontiguousarray(problem.W, dtype=np.float64)
    largest = np.abs(W).max(initial=0.0)
    if not largest <= _MAX_VALUE:
        raise InputError(
            f"the whitened values of X reach {largest:.3g}, too large for {name} to tell densities apart; rescale X or "
            "the covariance, or let fit learn it."
        )
    return W


@jit(allocates=False)
def begin(cand: Candidates) -> None:
    """Empty the set."""
    cand.counts[0] = 0
    cand.counts[1] += 1
    cand.counts[3] = 0


@jit(allocates=False)
def add_clade(cand: Candidates, tree: WorkingTree, top: Int, time: float) -> None:
    """Add the branch above a node, and every branch below it that reaches beyond a time, from the top down."""
    i = cand.counts[0]
    cand.node[i] = top
    n_found = i + 1
    while i < n_found:
        node = cand.node[i]
        cand.mark[node] = cand.counts[1]
        cand.place[node] = i
        if tree.time[node] > time and tree.child[node, 0] >= 0:
            cand.node[n_found] = tree.child[node, 0]
            cand.node[n_found + 1] = tree.child[node, 1]
            n_found += 2
        i += 1
    cand.counts[0] = n_found


@jit(allocates=False)
def add_clade_around(cand: Candidates, tree: WorkingTree, x: Int, time: float, most: Int) -> None:
    """Add all branches of the largest clade around x with at most `most` lineages alive at a time.

    Such clades are disjoint: which of them x is in is the same wherever in it a subtree is. Branches from there to the
    root only pass messages on. Nothing is added if x alone has more lineages.
    """
    size = _n_alive(cand, tree, x, time, most)
    if size > most:
        return
    above = np.int64(tree.parent[x])
    while above >= 0:
        size += _n_alive(cand, tree, sibling_of(tree, x), time, most - size)
        if size > most:
            add_path(cand, tree, above, np.int64(-1), time)
            break
        x = above
        above = np.int64(tree.parent[x])
    cand.counts[3] = cand.counts[0]
    add_clade(cand, tree, x, time)


@jit(allocates=False)
def _n_alive(cand: Candidates, tree: WorkingTree, node: Int, time: float, most: Int) -> int:
    """Count lineages under a node at a time, or some number above `most`; the empty candidate set is its queue."""
    cand.node[0] = node
    n_found, i = 1, 0
    n_alive = 0
    while i < n_found and n_alive + (n_found - i) <= most:
        node = cand.node[i]
        if tree.time[node] > time and tree.child[node, 0] >= 0:
            cand.node[n_found] = tree.child[node, 0]
            cand.node[n_found + 1] = tree.child[node, 1]
            n_found += 2
        else:
            n_alive += 1
        i += 1
    return n_alive + (n_found - i)


@jit(allocates=False)
def add_path(cand: Candidates, tree: WorkingTree, leaf: Int, c: Int, time: float) -> None:
    """Add the branches from a leaf to the root that reach beyond a time; nothing if the leaf is under c."""
    mark = cand.counts[1]
    start = cand.counts[0]
    end = start
    node = leaf
    while node >= 0 and cand.mark[node] != mark:
        if node == c:
            return
        above = tree.parent[node]
        if above < 0 or tree.time[above] > time:
            cand.node[end] = node
            end += 1
        node = np.int64(above)
    for i in range((end - start) // 2):  # parents first
        j, k = start + i, end - 1 - i
        cand.node[j], cand.node[k] = cand.node[k], cand.node[j]
    for i in range(start, end):
        cand.mark[cand.node[i]] = mark
        cand.place[cand.node[i]] = i
    cand.counts[0] = end


@jit(fastmath=True, allocates=False)
def _distances(c: np.ndarray, x: np.ndarray, o: np.ndarray) -> tuple[float, float, float]:
    """‖c - x‖², ‖c - o‖², ‖x - o‖². No store in here: sums in any order, but in the same order each time."""
    d_x, d_o, d_xo = 0.0, 0.0, 0.0
    for j in range(c.size):
        d_x += (c[j] - x[j]) ** 2
        d_o += (c[j] - o[j]) ** 2
        d_xo += (x[j] - o[j]) ** 2
    return d_x, d_o, d_xo


@jit(allocates=False)
def pass_down(cand: Candidates, tree: WorkingTree, mean_c: np.ndarray, time_c: float) -> None:
    """Make the outward messages and branch scalars of all candidates for a subtree (mean_c, time_c)."""
    for i in range(cand.counts[0]):
        x = cand.node[i]
        scalars = cand.scalars[i]
        p = tree.parent[x]
        t0 = tree.time[x] - tree.var[x]
        scalars[0] = max(tree.time[x], time_c)
        scalars[2] = t0
        if p < 0:
            scalars[1], scalars[3] = math.inf, 0.0
            scalars[4], scalars[5], scalars[6] = squared_distance(tree.mean[x], mean_c), 0.0, 0.0
            continue
        time_p = tree.time[p]
        y = tree.child[p, 0] if tree.child[p, 1] == x else tree.child[p, 1]
        b = tree.var[y] + (time_p - tree.time[y])
        pp = tree.parent[p]
        if pp < 0:
            q = b
            blend(1.0, tree.mean[y], 0.0, tree.mean[y], cand.outward[i])
        else:
            j = cand.place[p]
            a = cand.outward_var[j] + (tree.time[pp] - time_p)
            _, w_a, w_b, q = join(a, b)
            blend(w_a, cand.outward[j], w_b, tree.mean[y], cand.outward[i])
        d_x, d_o, d_xo = _distances(mean_c, tree.mean[x], cand.outward[i])
        cand.outward_var[i] = q
        length = q + (time_p - t0)
        scalars[1], scalars[3] = time_p, 1.0 / length if length > 0.0 else 1e300
        scalars[4], scalars[5], scalars[6] = d_x, d_o - d_x - d_xo, d_xo


@jit(allocates=False)
def add_every_branch(cand: Candidates, tree: WorkingTree, mean_c: np.ndarray, time_c: float) -> None:
    """Make every branch beyond a time the candidates of a subtree (mean_c, time_c)."""
    begin(cand)
    add_clade(cand, tree, tree.top[0], time_c)
    pass_down(cand, tree, mean_c, time_c)


@jit(allocates=False)
def renew_distances(cand: Candidates, tree: WorkingTree, mean_c: np.ndarray) -> None:
    """Renew the distances in the scalars for another subtree at the same time; outward messages stay as they are."""
    for i in range(cand.counts[0]):
        scalars = cand.scalars[i]
        scalars[4] = squared_distance(tree.mean[cand.node[i]], mean_c)
        if scalars[3] > 0.0:
            scalars[5] = squared_distance(cand.outward[i], mean_c) - scalars[4] - scalars[6]


@jit(allocates=False)
def branch_of(cand: Candidates, i: Int) -> Branch:
    """The i-th candidate's branch."""
    s = cand.scalars[i]
    return Branch(s[0], s[1], s[2], s[3], s[4], s[5], s[6])


@jit(inline="always", allocates=False)
def too_close(branch: Branch, target: Target) -> bool:
    """Whether a leaf and the one below the branch coincide at time 0 without noise, where there is no density."""
    return branch.e0 < _MIN_DISTANCE * target.half_d and branch.t0 == 0.0 and target.var_less_time == 0.0


def rows_are_apart(cand: Candidates) -> bool:
    """Whether no two leaves were too close to be told apart."""
    return cand.counts[2] == 0


@jit(allocates=False)
def weigh(cand: Candidates, target: Target, care: Care) -> float:
    """Set every candidate's log weight, its mass where it matters and an upper bound elsewhere; returns the largest."""
    best, widest = -math.inf, -1
    for i in range(cand.counts[3]):
        cand.row[i] = -2
        cand.log_weight[i] = -math.inf
    for i in range(cand.counts[3], cand.counts[0]):
        branch = branch_of(cand, i)
        cand.row[i] = -2
        if too_close(branch, target):
            cand.counts[2] += 1
        cand.log_weight[i] = log_mass_bound(branch, target)
        if cand.log_weight[i] > best:
            best, widest = cand.log_weight[i], i
    if widest < 0:
        return best
    best, n_kept, i = -math.inf, 0, widest
    for step in range(-1, cand.counts[0]):  # the widest first, then those that could matter beside it
        if step >= 0:
            i = step
        if cand.row[i] == -2 and cand.log_weight[i] > best - care.negligible:
            row = np.int64(min(n_kept, _MAX_KEPT))
            cand.log_weight[i] = trace(branch_of(cand, i), target, cand.proposals, row, care.coarse)
            cand.row[i] = row if row < _MAX_KEPT else -1
            best = max(best, cand.log_weight[i])
            n_kept += 1
    return best


@jit(allocates=False)
def proposal_row(cand: Candidates, i: Int, target: Target, care: Care) -> np.int64:
    """The row of the i-th candidate's proposal, which is traced now if it was not kept."""
    if cand.row[i] >= 0:
        return np.int64(cand.row[i])
    row = np.int64(_MAX_KEPT)
    trace(branch_of(cand, i), target, cand.proposals, row, care.coarse)
    return row


@jit(allocates=False)
def sum_of_weights(cand: Candidates, best: float) -> float:
    """Sum the weights of all candidates, divided by e^best."""
    total = 0.0
    for i in range(cand.counts[0]):
        total += math.exp(cand.log_weight[i] - best)
    return total
