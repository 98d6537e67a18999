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
from numpy.random import Generator

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ..._runtime.random_streams import integer_below, make_streams, uniform
from ..._runtime.typing import Int
from ..._runtime.validation import check_count
from ...errors import InputError
from ...model.process.coalescent import log_prior
from ...model.process.diffusion import LOG_2PI
from ...model.process.whitened import Problem
from ...numerics.borrow import borrow
from ..base import Draws, Merges, Watcher, require_apart
from ..merging.smc import SMC, Population
from .candidates import add_clade, add_path, begin, empty_candidates, pass_down, rows_are_apart, vectors, weigh
from .lineage_counts import clear
from .nearest import nearest
from .update import Engine, make_engine, propose, target_of, update
from .working_tree import copy_tree, empty_working_tree, put_leaf, regraft, unload

_EVERY_BRANCH = np.empty(0, np.int32)


@jit
def begin_tree(engine: Engine) -> None:
    """Start with the first row alone."""
    tree = engine.tree
    clear(tree.lineages)
    put_leaf(tree, 0, engine.W[0], engine.leaf_var[0])
    tree.top[0].root = 0
    tree.top[0].n_leaves = 1


@jit
def insert(engine: Engine, leaf: Int, near: np.ndarray, state: np.ndarray) -> float:
    """Graft a row onto the tree of rows 0 … leaf-1, through node n - 1 + leaf; returns log f - log q.

    Candidates are the paths to the root from the leaves `near`; if it is empty, every branch.
    """
    tree, cand = engine.tree, engine.candidates
    put_leaf(tree, leaf, engine.W[leaf], engine.leaf_var[leaf])
    begin(cand)
    if near.size == 0:
        add_clade(cand, tree.nodes, tree.top[0].root, 0.0)
    else:
        for y in near:
            if y >= 0:
                add_path(cand, tree.nodes, np.int64(y), leaf, 0.0)
    pass_down(cand, tree, tree.mean[leaf], 0.0)
    target, quadrature = target_of(engine, leaf, float(tree.top[0].n_leaves)), engine.rule.quadrature
    best = weigh(cand, target, quadrature)
    for _ in range(20):  # a draw fails only where floating-point numbers are too coarse for the branch it fell on
        i, t, ratio, log_total = propose(cand, target, best, quadrature, state)
        if i >= 0:
            break
    x, log_factor = np.int64(cand.branches[i].node), ratio + log_total
    if i < 0:
        x, log_factor = tree.top[0].root, -np.inf
        t = tree.nodes[x].time + 1.0
    regraft(tree, leaf, engine.W.shape[0] - 1 + leaf, x, t)
    tree.top[0].n_leaves += 1
    return log_factor


@jit
def rejuvenate(engine: Engine, n_updates: Int, state: np.ndarray) -> None:
    """Regraft random nodes: a uniform leaf, or half of the time an ancestor of it, as in a sweep."""
    nodes = engine.tree.nodes
    for _ in range(n_updates):
        leaf = integer_below(state, engine.tree.top[0].n_leaves)
        c = leaf
        while c >= 0 and uniform(state) < 0.5:
            c = np.int64(nodes[c].parent)
        if c >= 0 and nodes[c].parent >= 0:
            update(engine, c, leaf, state)


@jit
def _grow(engine: Engine, step: Int, n_updates: Int, near: np.ndarray, state: np.ndarray) -> float:
    engine = borrow(engine)
    if step == 0:
        begin_tree(engine)
    else:
        rejuvenate(engine, n_updates, state)
    return insert(engine, step + 1, near, state)


class _GrowingTrees(Population):
    """M trees, each of which takes in one row per step."""

    def __init__(self, problem: Problem, streams: np.ndarray, n_updates: int) -> None:
        self.problem, self.streams, self.n_updates = problem, streams, n_updates
        self._trees = [empty_working_tree(*problem.W.shape) for _ in streams]
        self._engine = make_engine(problem, problem.W)
        self.log_factor = np.zeros(len(streams))
        self._constant = -0.5 * (problem.d * LOG_2PI + problem.log_det)

    def grow(self, first: int, last: int, step: int) -> None:
        scratch = empty_candidates(*self._engine.W.shape)
        for i in range(first, last):
            engine = self._engine._replace(tree=self._trees[i], candidates=scratch)
            log_factor = _grow(engine, step, self.n_updates, _EVERY_BRANCH, self.streams[i])
            self.log_factor[i] = log_factor + self._constant
        require_apart(rows_are_apart(scratch))

    def resample(self, ancestors: np.ndarray, step: int) -> None:
        for i, source in enumerate(ancestors):
            if source != i:
                copy_tree(self._trees[source], self._trees[i])

    def result(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
        The order in which distinct rows are inserted, the same for all particles; random by default.
    n_updates : int
        Regrafting updates of each tree before every row.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> len(ct.sample_trees(X, sampler=ct.Insertion(n_particles=50), random_state=0, progress=False))
    50
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
        n, p = problem.W.shape
        bytes_needed = len(streams) * (16 * n * (p + 8) + (1 << 17))
        require_memory(bytes_needed, f"{len(streams)} trees over {n} rows", "use fewer particles or rows")
        return _GrowingTrees(problem, streams, self.n_updates)

    def run(self, problem: Problem, rng: Generator, *, progress: Watcher | None = None, **unused: Any) -> Draws:
        """Insert the rows one by one and return M trees with their weights; the counts of draws are not used.

        One thread: trees are separate objects, and going through them needs the interpreter's lock.
        """
        n, W = problem.n, vectors(problem, "Insertion")
        order = rng.permutation(n) if self.order is None else np.array(self.order, dtype=np.int64)
        if not np.array_equal(np.sort(order), np.arange(n)):
            raise InputError(f"order must list the numbers 0 to {n - 1} of the {n} distinct rows, each once.")
        shuffled = problem._replace(W=np.ascontiguousarray(W[order]), leaf_var=problem.leaf_vars()[order])
        draws = super().run(shuffled, rng, n_threads=1, progress=progress)
        return draws._replace(children=_rename_leaves(draws.children, order))


def _rename_leaves(children: np.ndarray, order: np.ndarray) -> np.ndarray:
    n = len(order)
    number = np.concatenate([order, np.arange(n, 2 * n - 1)]).astype(np.int32)
    return number[children]


@jit
def _insert_all(engine: Engine, near: np.ndarray, state: np.ndarray) -> None:
    engine = borrow(engine)
    begin_tree(engine)
    for leaf in range(1, engine.W.shape[0]):
        insert(engine, leaf, near[leaf], state)


def insertion_tree(problem: Problem, rng: Generator, n_neighbors: int = 8) -> Merges:
    """Make a tree with each row grafted near its nearest rows among those before it: O(n) grafts, no n × n matrix.

    Rows are taken in random order in batches that double: neighbours of rows m … 2m-1 are sought among the first m.
    """
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
    engine = make_engine(problem._replace(leaf_var=problem.leaf_vars()[order]), W)
    _insert_all(engine, near, make_streams(rng, 1)[0])
    require_apart(rows_are_apart(engine.candidates))
    children, times = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    unload(engine.tree, children, times)
    return _rename_leaves(children, order), times
