"""Insertion: rows grafted one after another, each where it is likely to join the tree of those before it.

The targets p(tree | x_1 … x_i) are posteriors themselves, so nothing is myopic. Row i joins at (b, t) drawn from a
density q, positive on every branch; the weight factor is

    f(b, t) / q(b, t) ,   f(b, t) = exp(-∫_0^t k(u) du) N(x_i | m(b, t), v(b, t) Φ) ,

with m, v from the messages of the tree so far. The product of mean weights is an unbiased estimate of p(X). Between
insertions, a few regrafting updates leave p(tree | x_1 … x_i) as it is and keep particles apart.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ..._runtime.random_streams import integer_below, make_streams, uniform
from ..._runtime.validation import check_count
from ...errors import InputError
from ...model.process.coalescent import log_prior
from ...model.process.diffusion import LOG_2PI
from ...model.process.whitened import Problem
from ..base import Draws, Watcher, require_apart
from ..merging.smc import SMC, Population
from .branch_density import Target
from .candidates import add_all_above, add_path, begin, empty_candidates, pass_down, rows_are_apart, vectors
from .lineage_counts import add, clear
from .nearest import nearest
from .update import make_engine, propose, update
from .working_tree import attach, copy_tree, empty_working_tree, load, put_leaf, refresh, unload

_TRIES = 20  # a draw fails only where floating-point numbers are too coarse for the branch it fell on


@jit(allocates=False)
def begin_tree(engine):
    """Start with the first row alone."""
    tree = engine.tree
    clear(tree.lineages)
    put_leaf(tree, 0, engine.W[0], engine.leaf_var[0])
    tree.top[0] = 0
    tree.top[1] = 1


@jit(allocates=False)
def insert(engine, leaf, near, state):
    """Graft a row onto the tree of rows 0 … leaf-1, through node n - 1 + leaf; returns log f - log q.

    `near` lists leaves from which paths to the root make the candidates; if it is empty, every branch is one.
    """
    tree, cand = engine.tree, engine.candidates
    put_leaf(tree, leaf, engine.W[leaf], engine.leaf_var[leaf])
    begin(cand)
    if near.size == 0:
        add_all_above(cand, tree, 0.0)
    else:
        for y in near:
            if y >= 0:
                add_path(cand, tree, np.int64(y), leaf, 0.0)
    pass_down(cand, tree, tree.mean[leaf], 0.0)
    target = Target(engine.leaf_var[leaf], float(tree.top[1]), engine.half_d)
    for _ in range(_TRIES):
        i, t, ratio, log_total = propose(cand, target, tree.lineages, engine.rule.care, state)
        if i >= 0:
            break
    x, log_factor = np.int64(cand.node[i]), ratio + log_total
    if i < 0:
        x, log_factor = tree.top[0], -np.inf
        t = tree.time[x] + 1.0
    parent = engine.W.shape[0] - 1 + leaf
    attach(tree, leaf, parent, x, t)
    add(tree.lineages, parent, t)
    refresh(tree, parent)
    tree.top[1] += 1
    return log_factor


@jit(allocates=False)
def rejuvenate(engine, n_updates, state):
    """Regraft random nodes: a uniform leaf, or half of the time an ancestor of it, as in a sweep."""
    tree = engine.tree
    for _ in range(n_updates):
        leaf = integer_below(state, tree.top[1])
        c = leaf
        while c >= 0 and uniform(state) < 0.5:
            c = np.int64(tree.parent[c])
        if c >= 0 and tree.parent[c] >= 0:
            update(engine, c, leaf, state)


@jit(allocates=False)
def _grow(engine, step, n_updates, near, state):
    if step == 0:
        begin_tree(engine)
    else:
        rejuvenate(engine, n_updates, state)
    return insert(engine, step + 1, near, state)


_EVERY_BRANCH = np.empty(0, np.int32)


class _GrowingTrees(Population):
    """M trees, each of which takes in one row a step."""

    def __init__(self, problem, streams, n_updates):
        self.problem, self.streams, self.n_updates = problem, streams, n_updates
        n, p = problem.W.shape
        self._trees = [empty_working_tree(n, p) for _ in streams]
        self._engine = make_engine(problem, problem.W)
        self.log_factor = np.zeros(len(streams))
        self._constant = -0.5 * (problem.d * LOG_2PI + problem.log_det)

    def grow(self, first, last, step):
        scratch = empty_candidates(*self.problem.W.shape)
        for i in range(first, last):
            engine = self._engine._replace(tree=self._trees[i], candidates=scratch)
            log_factor = _grow(engine, step, self.n_updates, _EVERY_BRANCH, self.streams[i])
            self.log_factor[i] = log_factor + self._constant
        require_apart(rows_are_apart(scratch))

    def resample(self, ancestors, step):
        for i, source in enumerate(ancestors):
            if source != i:
                copy_tree(self._trees[source], self._trees[i])

    def result(self):
        n, M = self.problem.n, len(self._trees)
        children, times = np.empty((M, n - 1, 2), np.int32), np.empty((M, n - 1))
        for i, tree in enumerate(self._trees):
            unload(tree, children[i], times[i])
        likelihood = map(self.problem.log_likelihood, children, times)
        return children, times, np.fromiter(likelihood, float) + log_prior(times)


@dataclass(frozen=True)
class Insertion(SMC):
    """Graft one row after another onto M trees, with exact weights: an unbiased estimate of the evidence.

    Parameters
    ----------
    n_particles, resample_below : as in every sequential sampler.
    order : sequence of int, optional
        The order in which distinct rows are taken in, the same for all particles; random if it is None.
    n_updates : int
        Regrafting updates of each tree before every row.
    """

    order: tuple[int, ...] | None = None
    n_updates: int = 4

    needs_vectors = True
    takes_leaf_variances = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("n_updates", self.n_updates, 0)
        if self.order is not None:
            order = np.asarray(self.order)
            if order.ndim != 1 or order.dtype.kind not in "iu":
                raise InputError(f"order must be a sequence of row numbers, not {self.order!r}.")
            object.__setattr__(self, "order", tuple(order.tolist()))

    def population(self, problem: Problem, streams: np.ndarray) -> Population:
        assert problem.W is not None
        n, p = problem.W.shape
        bytes_needed = len(streams) * (16 * n * (p + 8) + (1 << 17))
        require_memory(bytes_needed, f"{len(streams)} trees over {n} rows", "use fewer particles or rows")
        return _GrowingTrees(problem, streams, self.n_updates)

    def run(
        self, problem: Problem, rng: np.random.Generator, *, progress: Watcher | None = None, **unused: Any
    ) -> Draws:
        """Take in the rows one by one and return M trees with their weights; the counts of draws are not used.

        One thread: trees are separate objects, and to go through them needs the interpreter's lock.
        """
        n, W = problem.n, vectors(problem, "Insertion")
        order = rng.permutation(n) if self.order is None else np.array(self.order, dtype=np.int64)
        if not np.array_equal(np.sort(order), np.arange(n)):
            raise InputError(f"order must list the numbers 0 to {n - 1} of the {n} distinct rows, each once.")
        shuffled = problem._replace(W=np.ascontiguousarray(W[order]), eps=None, leaf_var=problem.leaf_vars()[order])
        draws = super().run(shuffled, rng, n_threads=1, progress=progress)
        return draws._replace(children=_rename_leaves(draws.children, order))


def _rename_leaves(children, order):
    n = len(order)
    number = np.concatenate([order, np.arange(n, 2 * n - 1)]).astype(np.int32)
    return number[children]


# --- a start -----------------------------------------------------------------------------------------------------


@jit
def _graft_all(engine, children, times, near, state):
    load(engine.tree, children, times, engine.W, engine.leaf_var)
    for leaf in range(times.size + 1, engine.W.shape[0]):
        insert(engine, leaf, near[leaf], state)


def graft(
    problem: Problem, tree: tuple[np.ndarray, np.ndarray], near: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Graft rows n, n+1, … of a problem onto a tree (children, times) of its first n; returns the tree of all.

    `near` (rows, k) lists rows near each one among those before it; with no columns every branch is looked at.
    """
    N = problem.n
    engine = make_engine(problem, problem.W)
    children, times = np.array(tree[0], dtype=np.int64), np.array(tree[1], dtype=np.float64)
    _graft_all(engine, children, times, np.ascontiguousarray(near, dtype=np.int32), make_streams(rng, 1)[0])
    require_apart(rows_are_apart(engine.candidates))
    children, times = np.empty((N - 1, 2), np.int64), np.empty(N - 1)
    unload(engine.tree, children, times)
    return children, times


def insertion_tree(problem: Problem, rng: np.random.Generator, n_neighbors: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """One tree, each row grafted near its nearest rows among those before it; O(n) grafts and no n × n matrix.

    Rows are taken in random order in batches that double: rows m … 2m-1 look for neighbours among the first m.
    """
    assert problem.W is not None
    n = problem.n
    order = rng.permutation(n)
    W = np.ascontiguousarray(problem.W[order] - problem.W.mean(axis=0))
    near = np.full((n, n_neighbors), -1, np.int32)
    m = 1
    while m < n:
        k = min(n_neighbors, m)
        beyond = np.arange(n, n + m)  # the points are no queries here
        near[m : 2 * m, :k] = nearest(W[m : 2 * m], W[:m], k, beyond) - n
        m *= 2
    nothing = np.empty((0, 2), np.int64), np.empty(0)  # the tree of the first row alone
    children, times = graft(problem._replace(W=W, leaf_var=problem.leaf_vars()[order]), nothing, near, rng)
    return _rename_leaves(children, order), times
