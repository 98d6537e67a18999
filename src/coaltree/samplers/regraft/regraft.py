"""Regrafting: exact Gibbs sampling on trees, one pruned subtree after another.

Take a node off the tree with its subtree, compute in closed form how likely each branch and time is for it to rejoin,
draw, and graft it back. A sweep does this for every leaf and, on average, every inner node: 2n - 2 updates.

    update           prune, propose, Metropolis–Hastings, regraft; sweeps
    outlier_moves    a few rows at once, with the scales of their noise
    candidates       which branches are considered, their outward messages and weights
    branch_density   the density on one branch and a proposal close to it
    placement        the mass of all branches for one row, for new rows and leave_one_out
    working_tree     links, times and upward messages
    lineage_counts   the coalescent's k(u) and its integral
    nearest          the neighbour graphs of local candidates
"""

import copy
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator

from ..._runtime.memory import require_memory
from ..._runtime.random_streams import make_streams
from ..._runtime.validation import check_choice, check_count, check_number
from ...errors import is_interruption
from ...model.process.coalescent import log_prior
from ...model.process.whitened import Problem
from ..base import Draws, Merges, Neighbors, Sampler, Step, Tails, Watcher, require_apart
from ..starts import first_tree
from .candidates import rows_are_apart, vectors
from .nearest import neighbor_graphs
from .outlier_blocks import can_move
from .outlier_moves import move_together
from .update import Engine, Rule, make_engine, sweep

_MAX_ROWS_FOR_ALL = 128  # for which "auto" considers every branch
_GLOBAL_UPDATES = 8  # of a local sweep consider every branch: a small share of the cost for every n
_UPDATES_PER_ITERATION, _BRANCHES_PER_ITERATION, _MAX_SWEEPS = 2_000, 60_000, 4  # small trees are swept up to 4 times


@dataclass(frozen=True)
class Regraft(Sampler):
    """Regrafting, the default sampler: remove a subtree, draw where it rejoins the tree, and put it there.

    Parameters
    ----------
    candidates : "auto", "all" or "local"
        Which branches an update considers: all of them, or those on the paths from nearby leaves to the root (or, where
        the old place is not among these, from random leaves around it), at a cost that does not grow with n. Both have
        the same posterior; "auto" is "all" for up to 128 rows.
    n_neighbors : int
        How many nearby leaves a local update starts from, out of twice as many neighbours of each leaf.
    start : "auto", "average", "insertion", "greedy", "prior" or a `Tree`
        The first tree: average linkage, rows added one after another, the most likely merges, a draw from the prior.
        With the last one, or an unrelated tree, use "all": local updates rarely find the place of a misplaced leaf.
    global_share : float, optional
        Share of local updates that consider every branch; by default eight per sweep.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> post = ct.sample_trees(X, sampler=ct.Regraft(candidates="all"), random_state=0, progress=False)
    """

    candidates: str = "auto"
    n_neighbors: int = 8
    start: Any = "auto"
    global_share: float | None = None

    is_chain = True
    takes_leaf_variances = True
    _rule = Rule()  # tests vary it
    _earlier: ClassVar[Engine | None] = None  # of a chain; otherwise each step makes its own arrays

    def __post_init__(self) -> None:
        check_choice("candidates", self.candidates, ("auto", "all", "local"))
        check_count("n_neighbors", self.n_neighbors)
        if self.global_share is not None:
            check_number("global_share", self.global_share, 0.0, 1.0)

    def run(
        self,
        problem: Problem,
        rng: Generator,
        *,
        n_samples: int = 100,
        n_warmup: int = 10,
        progress: Watcher | None = None,
        **unused: Any,
    ) -> Draws:
        """Sweep from the first tree; n_warmup sweeps are dropped, each later one gives a tree. One thread.

        An interruption returns the trees kept so far, if there are any.
        """
        n = problem.n
        W = vectors(problem, "Regraft")
        total = n_warmup + n_samples
        bytes_needed = n_samples * (n - 1) * 16 + 40 * n * (W.shape[1] + 16)
        require_memory(bytes_needed, f"{n_samples} trees over {n} rows", "draw fewer, or thin several runs")
        tree = first_tree(problem, self.start, rng)
        engine = self._engine(problem, W, self.neighbors(problem, rng))
        state = make_streams(rng, 1)[0]
        children, times = np.empty((n_samples, n - 1, 2), np.int32), np.empty((n_samples, n - 1))
        n_kept, interrupted = 0, False
        try:
            for done in range(1, total + 1):
                sweep(engine, *tree, state)
                require_apart(rows_are_apart(engine.candidates))
                if done > n_warmup:
                    children[n_kept], times[n_kept] = tree
                    n_kept += 1
                if progress is not None:
                    progress(done, total)
        except (KeyboardInterrupt, SystemError) as error:
            if n_kept == 0 or not is_interruption(error):
                raise
            interrupted = True
        children, times = children[:n_kept], times[:n_kept]
        log_joint = log_prior(times) + np.fromiter(map(problem.log_likelihood, children, times), float)
        info = {**_information(engine.tally), "interrupted": interrupted}
        return Draws(children, times, np.zeros(n_kept), log_joint, None, info)

    def step(
        self, problem: Problem, tree: Merges | None, rng: Generator, *, neighbors: Neighbors = None, **unused: Any
    ) -> Step:
        """Sweep once from `tree` (children, times), or return the first tree if it is None; on one thread."""
        if tree is None:
            return *first_tree(problem, self.start, rng), {}
        W = vectors(problem, "Regraft")
        neighbors = self.neighbors(problem, rng) if neighbors is None else neighbors
        engine = self._engine(problem, W, neighbors)
        children, times = np.array(tree[0], dtype=np.int64), np.array(tree[1], dtype=np.float64)
        sweep(engine, children, times, make_streams(rng, 1)[0])
        require_apart(rows_are_apart(engine.candidates))
        return children, times, _information(engine.tally)

    def steps_per_iteration(self, n: int, neighbors: Neighbors) -> int:
        """Sweep few rows several times; the cost of an update that considers every branch grows with n."""
        if neighbors is None or neighbors.size == 0:
            cheap = _BRANCHES_PER_ITERATION // (2 * n) ** 2
        else:
            cheap = math.ceil(_UPDATES_PER_ITERATION / (2 * n))
        return max(1, min(_MAX_SWEEPS, cheap))

    def move_outliers(
        self, problem: Problem, tree: Merges, tails: Tails, rng: Generator, *, neighbors: Neighbors = None
    ) -> tuple[Merges, np.ndarray]:
        """Move blocks of outliers (`outlier_moves`); at least eight rows are needed."""
        W = vectors(problem, "Regraft")
        neighbors = self.neighbors(problem, rng) if neighbors is None else neighbors
        if not can_move(problem.n, neighbors):
            return tree, tails.scale
        engine = self._engine(problem, W, neighbors)
        tree, scale = move_together(engine, tree, tails, rng)
        require_apart(rows_are_apart(engine.candidates))
        return tree, scale

    def neighbors(self, problem: Problem, rng: Generator) -> np.ndarray:
        """(levels, n, k) the near leaves that local updates start from; empty if every branch is considered.

        A chain in which data or covariance change is exact if it renews them at each step or never.
        """
        n = problem.n
        if self.candidates == "all" or (self.candidates == "auto" and n <= _MAX_ROWS_FOR_ALL) or n < 3:
            return np.empty((0, n, 0), np.int32)
        return neighbor_graphs(vectors(problem, "Regraft"), 2 * int(self.n_neighbors), rng)

    def for_warmup(self) -> "Regraft":
        """A sampler with twice as many near leaves, so that leaves of a poor start find their place."""
        return self._with(n_neighbors=2 * self.n_neighbors)

    def for_chain(self, problem: Problem) -> "Regraft":
        """A sampler whose steps overwrite the same arrays."""
        return self._with(_earlier=make_engine(problem, vectors(problem, "Regraft")))

    def _with(self, **changes: Any) -> "Regraft":
        changed = copy.copy(self)
        changed.__dict__.update(changes)
        return changed

    def _engine(self, problem: Problem, W: np.ndarray, neighbors: np.ndarray) -> Engine:
        neighbors = neighbors[:, :, : 2 * int(self.n_neighbors)]  # the warm-up has more, nearest first
        share = min(1.0, _GLOBAL_UPDATES / (2 * len(W))) if self.global_share is None else float(self.global_share)
        return make_engine(problem, W, neighbors, self._rule._replace(global_share=share), self._earlier)


def _information(tally: np.ndarray) -> dict[str, float]:
    updates, moves, candidates, missed = tally[0].tolist()
    updates = max(updates, 1)
    return {"accepted": moves / updates, "candidates": candidates / updates, "missed": missed / updates}
