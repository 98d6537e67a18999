"""Which branches a pruned subtree may rejoin, their outward messages, and how much mass each holds.

A candidate set is closed upwards: with a branch it has all branches between it and the root, so that outward messages
can be passed down within it. It depends on the pruned tree, the subtree and chance alone, not on where the subtree was;
so it is the same for a move and its reverse. Where chance depends on the place, candidates count by how likely they
would have made the set (`add_scattered`).

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
from .branch_density import Branch, Proposals, Target, empty_proposals, log_mass_estimate, log_mass_of_short, trace
from .working_tree import WorkingTree

_MAX_KEPT = 31  # proposals that are kept; there are rarely so many
_MAX_VALUE = 1e12  # log densities grow with the values: beyond, rounding decides what is drawn
_MIN_DISTANCE = 2e-302  # squared, for each half dimension: below, the density underflows


class Quadrature(NamedTuple):
    """How closely the masses of branches are integrated, which are proposals as well."""

    spacing: float = 1.0  # height between the first knots, in 0.8 nats
    negligible: float = 7.0  # branches estimated below e^-negligible of the best keep the estimate as their weight


CANDIDATE = np.dtype(
    [
        ("node", np.int32),  # the branch above this node
        ("row", np.int32),  # its row in `proposals`; -1 where it has none
        ("log_weight", np.float64),
        ("outward_var", np.float64),
        *((name, np.float64) for name in Branch.__annotations__),
        ("log_multiple", np.float64),  # log of what it counts, where it stands for others
    ],
    align=True,
)
MARK = np.dtype([("mark", np.int64), ("place", np.int64)])
# Candidates; the first of them, that only pass messages on; this set's mark; leaves too close to be told apart
COUNTS = np.dtype([(name, np.int64) for name in ("candidates", "passing", "mark", "too_close")])


class Candidates(NamedTuple):
    """Branches that a subtree may rejoin, parents before children."""

    branches: np.ndarray  # (cap,) CANDIDATE
    outward: np.ndarray  # (cap, p)
    nodes: np.ndarray  # (2n-1,) MARK: the set's mark for nodes below a candidate, and which one that is
    counts: np.ndarray  # (1,) COUNTS
    proposals: Proposals


def empty_candidates(n: int, p: int) -> Candidates:
    """Allocate candidates for every branch of a tree with n leaves and p columns."""
    cap = 2 * n - 1
    branches, outward, nodes = np.zeros(cap, CANDIDATE), np.zeros((cap, p)), np.zeros(cap, MARK)
    return Candidates(branches, outward, nodes, np.zeros(1, COUNTS), empty_proposals(_MAX_KEPT + 1))


def scratch_of(cand: Candidates, n_proposals: int = _MAX_KEPT + 1) -> Candidates:
    """The same candidates, whose distances, weights and proposals can change while the others stay."""
    return cand._replace(
        branches=cand.branches.copy(), counts=cand.counts.copy(), proposals=empty_proposals(n_proposals)
    )


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
def begin(cand: Candidates) -> None:
    """Empty the set of candidates."""
    counts = cand.counts[0]
    counts.candidates = counts.passing = 0
    counts.mark += 2


@jit(inline="always")
def is_candidate(cand: Candidates, x: Int) -> bool:
    """Whether the branch above a node is in the set."""
    return cand.nodes[x].mark == cand.counts[0].mark


@jit(inline="always")
def _note(cand: Candidates, i: Int) -> None:
    """Mark the i-th candidate, which counts as one, or as nothing if it is of a set that this one replaces."""
    mark, new = cand.nodes[cand.branches[i].node], cand.counts[0].mark
    cand.branches[i].log_multiple = -math.inf if mark.mark == new - 1 else 0.0
    mark.mark, mark.place = new, i


@jit
def add_clade(cand: Candidates, nodes: np.ndarray, top: Int, time: float) -> None:
    """Add the branch above a node, and every branch below it that reaches beyond a time, from the top down."""
    cand, nodes = borrow(cand), borrow(nodes)
    branches, i = cand.branches, cand.counts[0].candidates
    branches[i].node = top
    end = i + 1
    while i < end:
        _note(cand, i)
        x = branches[i].node
        if nodes[x].time > time and nodes[x].left >= 0:
            branches[end].node = nodes[x].left
            branches[end + 1].node = nodes[x].right
            end += 2
        i += 1
    cand.counts[0].candidates = end


@jit
def add_path(cand: Candidates, nodes: np.ndarray, leaf: Int, c: Int, time: float) -> None:
    """Add the branches from a leaf to the root that reach beyond a time; nothing if the leaf is under c."""
    cand, nodes = borrow(cand), borrow(nodes)
    branches, start = cand.branches, cand.counts[0].candidates
    end = start
    x = leaf
    while x >= 0 and not is_candidate(cand, x):
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
        _note(cand, i)
    cand.counts[0].candidates = end


@jit(inline="always")
def add_scattered(
    cand: Candidates, nodes: np.ndarray, x: Int, time: float, most: Int, n_leaves: Int, state: np.ndarray
) -> None:
    """Replace a set without x by paths to leaves drawn from the largest clade around x of at most `most` leaves.

    The first leaf is drawn from those below x, the others from all of the clade. Had the subtree been on the branch
    above b, of which n_b of these leaves are below, the same leaves in any order would have been drawn n_b / size_b
    times as often, but for a constant: so often the branch counts. Branches of the set before count nothing: from there
    this set would not have been made. Nothing is added if x alone has more leaves.
    """
    cand, nodes, x = borrow(cand), borrow(nodes), np.int64(x)
    branches, counts, top = cand.branches, cand.counts[0], x
    counts.candidates, counts.mark = 0, counts.mark + 1
    if nodes[x].size > most:
        return
    while nodes[top].parent >= 0 and nodes[nodes[top].parent].size <= most:
        top = np.int64(nodes[top].parent)
    if nodes[top].parent >= 0:
        add_path(cand, nodes, np.int64(nodes[top].parent), np.int64(-1), time)
    counts.passing = counts.candidates
    for j in range(n_leaves):
        node = x if j == 0 else top
        while nodes[node].left >= 0:
            left = np.int64(nodes[node].left)
            is_left = integer_below(state, np.int64(nodes[node].size)) < nodes[left].size
            node = left if is_left else np.int64(nodes[node].right)
        add_path(cand, nodes, node, np.int64(-1), time)
        above = np.int64(nodes[top].parent)
        while node != above:
            if is_candidate(cand, node):
                branches[cand.nodes[node].place].log_multiple += 1.0
            node = np.int64(nodes[node].parent)
    for i in range(counts.passing, counts.candidates):
        branches[i].log_multiple = math.log(max(branches[i].log_multiple, 0.0) / nodes[branches[i].node].size)


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
    cand, tree, mean_c = borrow(cand), borrow(tree), borrow(mean_c)
    nodes, mean, outward, branches = tree.nodes, tree.mean, cand.outward, cand.branches
    for i in range(cand.counts[0].candidates):
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
            j = cand.nodes[p].place
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
    begin(cand)
    add_clade(cand, tree.nodes, tree.top[0].root, time_c)
    pass_down(cand, tree, mean_c, time_c)


@jit
def renew_distances(cand: Candidates, mean: np.ndarray, mean_c: np.ndarray) -> None:
    """Renew the distances for another subtree at the same time; outward messages stay as they are."""
    cand, mean, mean_c = borrow(cand), borrow(mean), borrow(mean_c)
    for i in range(cand.counts[0].candidates):
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
    is_sharp = branch.t0 == 0.0 and target.var_less_time + target.unit == 0.0
    return branch.e0 < _MIN_DISTANCE * target.half_d and is_sharp


def rows_are_apart(cand: Candidates) -> bool:
    """Whether no two leaves were too close to be told apart."""
    return not cand.counts["too_close"].any()


@jit
def estimate_weights(cand: Candidates, target: Target) -> float:
    """Set every candidate's log weight to an estimate of its mass; returns the largest."""
    cand, target = borrow(cand), borrow(target)
    best, n_close, branches = -math.inf, 0, cand.branches
    for i in range(cand.counts[0].candidates):
        branches[i].row = -1
        branches[i].log_weight = -math.inf
        if i >= cand.counts[0].passing:
            branch = branch_of(branches, i)
            n_close += too_close(branch, target)
            branches[i].log_weight = log_mass_estimate(branch, target) + branches[i].log_multiple
            best = max(best, branches[i].log_weight)
    cand.counts[0].too_close += n_close
    return best


@jit
def weigh(cand: Candidates, target: Target, quadrature: Quadrature) -> float:
    """Set every candidate's log weight, its mass where it matters and an estimate elsewhere; returns the largest."""
    best = estimate_weights(cand, target)
    if not best > -math.inf:
        return best
    cand, target = borrow(cand), borrow(target)
    branches, first, n_kept = cand.branches, np.int64(0), np.int64(0)
    while branches[first].log_weight < best:
        first += 1
    for step in range(-1, cand.counts[0].candidates):  # the likeliest first, then those that could matter beside it
        i = first if step < 0 else np.int64(step)
        if step < 0 or (i != first and branches[i].log_weight > best - quadrature.negligible):
            log_mass = log_mass_of_short(branch_of(branches, i), target)
            if math.isnan(log_mass):
                row = min(n_kept, np.int64(_MAX_KEPT))
                log_mass = trace(branch_of(branches, i), target, cand.proposals, row, quadrature.spacing)
                branches[i].row = row if row < _MAX_KEPT else -1
                n_kept += 1
            branches[i].log_weight = log_mass + branches[i].log_multiple
            best = branches[i].log_weight if step < 0 else max(best, branches[i].log_weight)
    return best


@jit
def proposal_row(cand: Candidates, i: Int, target: Target, quadrature: Quadrature) -> np.int64:
    """The row of the i-th candidate's proposal, which is traced now if it was not kept."""
    if cand.branches[i].row >= 0:
        return np.int64(cand.branches[i].row)
    row = np.int64(_MAX_KEPT)
    trace(branch_of(cand.branches, i), target, cand.proposals, row, quadrature.spacing)
    return row


@jit
def log_total(cand: Candidates, best: float) -> float:
    """Log of the sum of all weights, of which `best` is the log of the largest."""
    total, branches = 0.0, borrow(cand.branches)
    for i in range(cand.counts[0].candidates):
        total += math.exp(branches[i].log_weight - best)
    return best + math.log(total) if best > -math.inf else best
