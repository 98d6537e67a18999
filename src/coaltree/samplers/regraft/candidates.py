"""Which branches a pruned subtree may rejoin, their outward messages, and how much mass each holds.

A candidate set is closed upwards: with a branch it has all branches between it and the root, so that outward messages
can be passed down within it. It depends on the pruned tree, the subtree and chance alone, not on where the subtree was
(or, in a clade around that place, only on which of several disjoint sets the place is in); so it is the same for a move
and its reverse. Where chance depends on the place, candidates count by how likely they would have made the set
(`add_scattered`).

The outward message (o, q) of x at the time of its parent p joins what comes from above p with what x's sibling y says:

    a = q_p + τ_pp - τ_p ,  b = s_y + τ_p - τ_y ,  o = (b o_p + a mean_y) / (a + b) ,  q = a b / (a + b)

(below the root o = mean_y, q = b).
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import integer_below
from ..._runtime.typing import Int
from ...errors import InputError
from ...model.process.diffusion import blend, join, squared_distance
from ...model.process.whitened import Problem
from ...numerics.borrow import borrow
from .branch_density import Branch, Proposals, Target, empty_proposals, log_mass_bound, log_mass_estimate, trace
from .working_tree import WorkingTree, sibling_in

_MAX_KEPT = 31  # proposals that are kept; there are rarely so many
_MAX_VALUE = 1e12  # log densities grow with the values: beyond, rounding decides what is drawn
_MIN_DISTANCE = 2e-302  # squared, for each half dimension: below, the density underflows


class Care(NamedTuple):
    """How close proposals come to the density."""

    coarse: float = 1.0  # height between the first knots, in 0.8 nats
    negligible: float = 7.0  # branches bounded below e^-negligible of the best keep that bound as their weight


CANDIDATE = np.dtype(
    [
        ("node", np.int32),  # the branch above this node
        ("row", np.int32),  # its row in `proposals`; -1 not kept, -2 not traced
        ("log_weight", np.float64),
        ("outward_var", np.float64),
        *((name, np.float64) for name in Branch.__annotations__),
        ("log_multiple", np.float64),  # log of what it counts, where it stands for others
    ],
    align=True,
)
MARK = np.dtype([("mark", np.int64), ("place", np.int64)])


class Candidates(NamedTuple):
    """Branches that a subtree may rejoin, parents before children.

    `counts` holds how many, the current mark, how often a leaf was too close to another to be told apart, and how many
    of the first candidates only pass messages on and are not to be drawn.
    """

    branches: np.ndarray  # (cap,) CANDIDATE
    outward: np.ndarray  # (cap, p)
    nodes: np.ndarray  # (2n-1,) MARK: counts[1] for nodes below a candidate, and which one that is
    counts: np.ndarray  # (4,) int64
    proposals: Proposals


@jit(inline="always")
def borrow_candidates(cand: Candidates) -> Candidates:
    """The same without owners of arrays (`numerics.borrow`)."""
    proposals = Proposals(borrow(cand.proposals.pieces), borrow(cand.proposals.rows))
    return Candidates(borrow(cand.branches), borrow(cand.outward), borrow(cand.nodes), borrow(cand.counts), proposals)


def empty_candidates(n: int, p: int) -> Candidates:
    """Allocate candidates for every branch of a tree with n leaves and p columns."""
    cap = 2 * n - 1
    branches, outward, nodes = np.zeros(cap, CANDIDATE), np.zeros((cap, p)), np.zeros(cap, MARK)
    return Candidates(branches, outward, nodes, np.zeros(4, np.int64), empty_proposals(_MAX_KEPT + 1))


def vectors(problem: Problem, name: str) -> np.ndarray:
    """The whitened rows as kernels take them; InputError where they are too large for sampler `name`."""
    W = np.ascontiguousarray(problem.W, dtype=np.float64)
    largest = np.abs(W).max(initial=0.0)
    if not largest <= _MAX_VALUE:
        raise InputError(
            f"the whitened values of X reach {largest:.3g}, too large for {name} to tell densities apart; rescale X or "
            "the covariance, or let fit learn it."
        )
    return W


@jit(inline="always")
def begin(counts: np.ndarray) -> None:
    """Empty the set of candidates."""
    counts[0] = 0
    counts[1] += 1
    counts[3] = 0


@jit
def add_clade(cand: Candidates, nodes: np.ndarray, top: Int, time: float) -> None:
    """Add the branch above a node, and every branch below it that reaches beyond a time, from the top down."""
    branches, i, marks, mark, nodes = (
        borrow(cand.branches),
        cand.counts[0],
        borrow(cand.nodes),
        cand.counts[1],
        borrow(nodes),
    )
    branches[i].node = top
    n_found = i + 1
    while i < n_found:
        x = branches[i].node
        branches[i].log_multiple = 0.0
        marks[x].mark = mark
        marks[x].place = i
        if nodes[x].time > time and nodes[x].left >= 0:
            branches[n_found].node = nodes[x].left
            branches[n_found + 1].node = nodes[x].right
            n_found += 2
        i += 1
    cand.counts[0] = n_found


@jit
def add_clade_around(cand: Candidates, tree: WorkingTree, x: Int, time: float, most: Int) -> None:
    """Add all branches of the largest clade around x with at most `most` lineages alive at a time.

    Such clades are disjoint: which of them x is in is the same wherever in it a subtree is. Branches from there to the
    root only pass messages on. Nothing is added if x alone has more lineages.
    """
    cand = borrow_candidates(cand)
    nodes, branches = borrow(tree.nodes), cand.branches
    size = _n_alive(branches, nodes, x, time, most)
    if size > most:
        return
    above = np.int64(nodes[x].parent)
    while above >= 0:
        size += _n_alive(branches, nodes, sibling_in(nodes, x), time, most - size)
        if size > most:
            add_path(cand, nodes, above, np.int64(-1), time)
            break
        x = above
        above = np.int64(nodes[x].parent)
    cand.counts[3] = cand.counts[0]
    add_clade(cand, nodes, x, time)


@jit
def add_scattered(
    cand: Candidates, tree: WorkingTree, x: Int, time: float, most: Int, n_leaves: Int, state: np.ndarray
) -> None:
    """Add, in place of a set without x, paths to leaves drawn from the largest clade around x of at most `most` leaves.

    The first leaf is drawn from those below x, the others from all of the clade. Had the subtree been on the branch
    above b, of which n_b of these leaves are below, the same leaves in any order would have been drawn n_b / size_b
    times as often, but for a constant: so often the branch counts. Branches of the set before count nothing: from there
    this set would not have been made. Nothing is added if x alone has more leaves.
    """
    begin(cand.counts)
    cand = borrow_candidates(cand)
    nodes, branches, counts = borrow(tree.nodes), cand.branches, cand.counts
    if nodes[x].size > most:
        return
    top, n_before = np.int64(x), np.int64(0)  # leaves of the clade before those of x, in the order of children
    above = np.int64(nodes[top].parent)
    while above >= 0 and nodes[above].size <= most:
        if nodes[above].right == top:
            n_before += nodes[nodes[above].left].size
        top = above
        above = np.int64(nodes[top].parent)
    if above >= 0:
        add_path(cand, nodes, above, np.int64(-1), time)
    counts[3] = counts[0]
    for j in range(n_leaves):
        below = np.int64(x) if j == 0 else top
        place = integer_below(state, np.int64(nodes[below].size)) + (n_before if j == 0 else np.int64(0))
        _add_path_down(cand, nodes, top, place, time)
    for i in range(counts[3], counts[0]):
        branches[i].log_multiple = math.log(max(branches[i].log_multiple, 0.0) / nodes[branches[i].node].size)


@jit(inline="always")
def _add_path_down(cand: Candidates, nodes: np.ndarray, top: np.int64, place: np.int64, time: float) -> None:
    """Add the branches from a node to its leaf at a place; `log_multiple` counts leaves until the last one is added.

    It is -inf for branches of the set before.
    """
    branches, marks, mark, end = cand.branches, cand.nodes, cand.counts[1], cand.counts[0]
    node = top
    while True:
        if marks[node].mark != mark:
            branches[end].node = node
            branches[end].log_multiple = 0.0 if marks[node].mark < mark - 1 else -math.inf
            marks[node].mark = mark
            marks[node].place = end
            end += 1
        branches[marks[node].place].log_multiple += 1.0
        if nodes[node].left < 0 or nodes[node].time <= time:
            break
        left = np.int64(nodes[node].left)
        if place < nodes[left].size:
            node = left
        else:
            place -= nodes[left].size
            node = np.int64(nodes[node].right)
    cand.counts[0] = end


@jit
def _n_alive(branches: np.ndarray, nodes: np.ndarray, top: Int, time: float, most: Int) -> int:
    """Count lineages under a node at a time, or some number above `most`; the empty candidate set is its queue."""
    branches, nodes = borrow(branches), borrow(nodes)
    if time == 0.0:
        return int(nodes[top].size)
    branches[0].node = top
    n_found, i = 1, 0
    n_alive = 0
    while i < n_found and n_alive + (n_found - i) <= most:
        x = branches[i].node
        if nodes[x].time > time and nodes[x].left >= 0:
            branches[n_found].node = nodes[x].left
            branches[n_found + 1].node = nodes[x].right
            n_found += 2
        else:
            n_alive += 1
        i += 1
    return n_alive + (n_found - i)


@jit
def add_path(cand: Candidates, nodes: np.ndarray, leaf: Int, c: Int, time: float) -> None:
    """Add the branches from a leaf to the root that reach beyond a time; nothing if the leaf is under c."""
    cand = borrow_candidates(cand)
    branches, mark, start, marks, nodes = cand.branches, cand.counts[1], cand.counts[0], cand.nodes, borrow(nodes)
    end = start
    x = leaf
    while x >= 0 and marks[x].mark != mark:
        if x == c:
            return
        above = np.int64(nodes[x].parent)
        if above < 0 or nodes[above].time > time:
            branches[end].node = x
            end += 1
        x = above
    for i in range((end - start) // 2):  # parents first
        j, k = start + i, end - 1 - i
        branches[j].node, branches[k].node = branches[k].node, branches[j].node
    for i in range(start, end):
        branches[i].log_multiple = 0.0
        marks[branches[i].node].mark = mark
        marks[branches[i].node].place = i
    cand.counts[0] = end


@jit(fastmath=True)
def _distances(c: np.ndarray, x: np.ndarray, o: np.ndarray) -> tuple[float, float, float]:
    """‖c - x‖², ‖c - o‖², ‖x - o‖². No store in here: sums in any order, but in the same order each time."""
    d_x, d_o, d_xo = 0.0, 0.0, 0.0
    for j in range(c.size):
        d_x += (c[j] - x[j]) ** 2
        d_o += (c[j] - o[j]) ** 2
        d_xo += (x[j] - o[j]) ** 2
    return d_x, d_o, d_xo


@jit
def pass_down(cand: Candidates, tree: WorkingTree, mean_c: np.ndarray, time_c: float) -> None:
    """Make the outward messages and the fields of Branch of all candidates for a subtree (mean_c, time_c)."""
    nodes, mean, outward, branches, marks, mean_c = (
        borrow(tree.nodes),
        borrow(tree.mean),
        borrow(cand.outward),
        borrow(cand.branches),
        borrow(cand.nodes),
        borrow(mean_c),
    )
    for i in range(cand.counts[0]):
        branch = branches[i]
        x = branch.node
        p = nodes[x].parent
        branch.t0 = nodes[x].time - nodes[x].var
        branch.lower = max(nodes[x].time, time_c)
        if p < 0:
            branch.upper, branch.inv_length = math.inf, 0.0
            branch.e0, branch.e1, branch.e2 = squared_distance(mean[x], mean_c), 0.0, 0.0
            continue
        time_p, pp = nodes[p].time, nodes[p].parent
        y = nodes[p].left if nodes[p].right == x else nodes[p].right
        b = nodes[y].var + (time_p - nodes[y].time)
        if pp < 0:
            q = b
            blend(1.0, mean[y], 0.0, mean[y], outward[i])
        else:
            j = marks[p].place
            a = branches[j].outward_var + (nodes[pp].time - time_p)
            _, w_a, w_b, q = join(a, b)
            blend(w_a, outward[j], w_b, mean[y], outward[i])
        d_x, d_o, d_xo = _distances(mean_c, mean[x], outward[i])
        length = q + (time_p - branch.t0)
        branch.outward_var = q
        branch.upper, branch.inv_length = time_p, 1.0 / length if length > 0.0 else 1e300
        branch.e0, branch.e1, branch.e2 = d_x, d_o - d_x - d_xo, d_xo


@jit
def add_every_branch(cand: Candidates, tree: WorkingTree, mean_c: np.ndarray, time_c: float) -> None:
    """Make every branch beyond a time the candidates of a subtree (mean_c, time_c)."""
    begin(cand.counts)
    add_clade(cand, tree.nodes, tree.top[0], time_c)
    pass_down(cand, tree, mean_c, time_c)


@jit
def renew_distances(cand: Candidates, mean: np.ndarray, mean_c: np.ndarray) -> None:
    """Renew the distances for another subtree at the same time; outward messages stay as they are."""
    for i in range(cand.counts[0]):
        branch = cand.branches[i]
        branch.e0 = squared_distance(mean[branch.node], mean_c)
        if branch.inv_length > 0.0:
            branch.e1 = squared_distance(cand.outward[i], mean_c) - branch.e0 - branch.e2


@jit(inline="always")
def branch_of(branches: np.ndarray, i: Int) -> Branch:
    """The i-th candidate's branch."""
    s = branches[i]
    return Branch(s.lower, s.upper, s.t0, s.inv_length, s.e0, s.e1, s.e2)


@jit(inline="always")
def too_close(branch: Branch, target: Target) -> bool:
    """Whether a leaf and the one below the branch coincide at time 0 without noise, where there is no density."""
    return branch.e0 < _MIN_DISTANCE * target.half_d and branch.t0 == 0.0 and target.var_less_time == 0.0


def forget_close(cand: Candidates) -> None:
    """Start counting leaves that are too close to be told apart."""
    cand.counts[2] = 0


def rows_are_apart(cand: Candidates) -> bool:
    """Whether no two leaves were too close to be told apart."""
    return cand.counts[2] == 0


@jit
def estimate_weights(cand: Candidates, target: Target) -> float:
    """Set every candidate's log weight to an estimate of its mass; returns the largest."""
    best, n_close, cand = -math.inf, 0, borrow_candidates(cand)
    branches, n_passing = cand.branches, cand.counts[3]
    for i in range(cand.counts[0]):
        branches[i].row = -2
        branches[i].log_weight = -math.inf
        if i >= n_passing:
            branch = branch_of(branches, i)
            n_close += too_close(branch, target)
            branches[i].log_weight = log_mass_estimate(branch, target) + branches[i].log_multiple
            best = max(best, branches[i].log_weight)
    cand.counts[2] += n_close
    return best


@jit
def weigh(cand: Candidates, target: Target, care: Care) -> float:
    """Set every candidate's log weight, its mass where it matters and an upper bound elsewhere; returns the largest."""
    best, widest, cand = -math.inf, np.int64(-1), borrow_candidates(cand)
    branches, n, n_passing = cand.branches, cand.counts[0], cand.counts[3]
    for i in range(n_passing):
        branches[i].row = -2
        branches[i].log_weight = -math.inf
    n_close, proposals = 0, cand.proposals
    for i in range(n_passing, n):
        branch = branch_of(branches, i)
        if too_close(branch, target):
            n_close += 1
        log_weight = log_mass_bound(branch, target) + branches[i].log_multiple
        branches[i].row = -2
        branches[i].log_weight = log_weight
        if log_weight > best:
            best, widest = log_weight, i
    cand.counts[2] += n_close
    if widest < 0:
        return best
    best, n_kept, i = -math.inf, 0, widest
    for step in range(-1, n):  # the widest first, then those that could matter beside it
        if step >= 0:
            i = step
        if branches[i].row == -2 and branches[i].log_weight > best - care.negligible:
            row = np.int64(min(n_kept, _MAX_KEPT))
            log_mass = trace(branch_of(branches, i), target, proposals, row, care.coarse)
            branches[i].log_weight = log_mass + branches[i].log_multiple
            branches[i].row = row if row < _MAX_KEPT else -1
            best = max(best, branches[i].log_weight)
            n_kept += 1
    return best


@jit
def proposal_row(cand: Candidates, i: Int, target: Target, coarse: float) -> np.int64:
    """The row of the i-th candidate's proposal, which is traced now if it was not kept."""
    cand = borrow_candidates(cand)
    if cand.branches[i].row >= 0:
        return np.int64(cand.branches[i].row)
    row = np.int64(_MAX_KEPT)
    trace(branch_of(cand.branches, i), target, cand.proposals, row, coarse)
    return row


@jit
def sum_of_weights(cand: Candidates, best: float) -> float:
    """Sum the weights of all candidates, divided by e^best."""
    total, branches = 0.0, borrow(cand.branches)
    for i in range(cand.counts[0]):
        total += math.exp(branches[i].log_weight - best)
    return total
