"""Greedy trees: at every step the pair with the earliest mode merges, at that mode.

With m lineages left, Δ = (v*(ε, λ) - r) / 2 for one of three notions of the most likely v:

    MGreedy     v* = (p + √(p² + λε)) / λ ,  p = 1 - d/2      as Henao & Lucas print it: the mode of log v
    GreedyTeh   v* = (-d + √(d² + 4λε)) / (2λ)                the mode of v itself (Teh et al. 2008)
    Greedy      v* = (-d + √(d² + 2λε)) / λ                   what Henao & Lucas ascribe to Teh et al.

v* grows with ε, and its inverse ε = λv² - 2pv (and so on) turns "earlier than the best pair so far" into a bound on ε,
so that a row is read only if its smallest entry could win.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.typing import Int
from ...model.process.whitened import Problem
from ...numerics.borrow import borrow
from ..base import Draws, Sampler, Step, Watcher
from .particles import (
    ALIVE,
    Context,
    last_time,
    make_context,
    merge,
    nearest_alive,
    read_row,
    release_merged,
    take_slots,
    trees_of,
)

LOG_MODE, TEH_MODE, PRINTED_TEH_MODE = 0, 1, 2


@jit
def _most_likely_v(rule: Int, eps: float, lam: float, d: Int) -> float:
    if rule == LOG_MODE:
        p = 1.0 - 0.5 * d
        root = math.sqrt(p * p + lam * eps)
        return (p + root) / lam if p >= 0.0 else eps / (root - p)  # the second form does not cancel
    if rule == TEH_MODE:
        return 2.0 * eps / (d + math.sqrt(d * d + 4.0 * lam * eps))
    return 2.0 * eps / (d + math.sqrt(d * d + 2.0 * lam * eps))


@jit
def _eps_of_v(rule: Int, v: float, lam: float, d: Int) -> float:
    """Return the ε whose most likely v is `v`: below it a pair is earlier."""
    if v <= 0.0:
        return 0.0 if rule != LOG_MODE or d > 1 else -1.0
    if rule == LOG_MODE:
        return v * (lam * v - 2.0 * (1.0 - 0.5 * d))
    if rule == TEH_MODE:
        return v * (lam * v + d)
    return v * (0.5 * lam * v + d)


@jit
def _earliest_pair(context: Context, rule: Int, step: Int, buffer: np.ndarray) -> tuple[float, np.int64, np.int64]:
    """Return the smallest v*(ε) - a_i - a_j and the positions older < younger of its pair."""
    context = borrow(context)
    model, pool, particles = context.model, context.pool, context.particles
    d, m = model.d, model.n - step
    lam = 0.5 * m * (m - 1)
    alive, a, death, floor = particles.alive[0], particles.a[0], particles.death[0], particles.floor[0]
    best, best_node, best_other = math.inf, -1, -1
    for q in range(1, m):
        node = alive[q]
        reach = _reach_of(rule, best + a[node] + model.leaf_var, lam, d)
        if particles.least[0, node] > reach:
            continue
        slot, head = nearest_alive(context, 0, node)
        for k in range(head, pool.near_eps.shape[1]):
            near = pool.near_eps[slot, k]
            if near > reach or near == math.inf:
                break
            other = pool.near_node[slot, k]
            if death[other] == ALIVE:
                gap = _most_likely_v(rule, near, lam, d) - a[node] - a[other]
                if gap < best:
                    best, best_node, best_other = gap, node, other
        reach = _reach_of(rule, best + a[node] + model.leaf_var, lam, d)
        if floor[node] <= reach and floor[node] < math.inf:
            count = read_row(context, 0, node, buffer)
            for k in range(count):
                if buffer[k] > reach:
                    continue
                gap = _most_likely_v(rule, buffer[k], lam, d) - a[node] - a[alive[k]]
                if gap < best or (gap == best and node == best_node and alive[k] < best_other):
                    best, best_node, best_other = gap, node, alive[k]
    return best, np.searchsorted(alive[:m], best_other), np.searchsorted(alive[:m], best_node)


@jit
def _reach_of(rule: Int, v: float, lam: float, d: Int) -> float:
    """Bound the ε of pairs that are earlier than `v`, or tie with it: rounding must not decide, hence the 1e-12."""
    return _eps_of_v(rule, v, lam, d) * (1.0 + 1e-12) if v < math.inf else math.inf


@jit
def _grow(context: Context, first: Int, last: Int, rule: Int) -> None:
    """Make the merges first … last-1."""
    buffer = np.empty((2, context.model.n + 1))
    for step in range(first, last):
        take_slots(context, step)
        gap, older, younger = _earliest_pair(context, rule, step, buffer[0])
        before = last_time(context.particles.times, 0, step)
        time = max(before, 0.5 * gap)  # v = 2τ + a_i + a_j; with leaf noise the mode may lie before the last merge
        merge(context, 0, step, older, younger, time, buffer)
        release_merged(context, step)


class _GreedyTree(Sampler):
    """What the three have in common: one tree, no random numbers, weight 1."""

    needs_vectors = False
    _rule = LOG_MODE

    def run(self, problem: Problem, rng: Any = None, *, progress: Watcher | None = None, **unused: Any) -> Draws:
        """Grow the one tree; there is nothing to draw or to count."""
        context = make_context(problem, np.zeros((1, 4), dtype=np.uint64), n_near=8, with_density=False)
        merges = problem.n - 1
        for first in range(0, merges, 256):
            last = min(first + 256, merges)
            _grow(context, first, last, self._rule)
            if progress is not None:
                progress(last, merges)
        children, times, log_joint = trees_of(context)
        return Draws(children, times, np.zeros(1), log_joint + problem.log_beside)

    def step(self, problem: Problem, tree: Any = None, rng: Any = None, **unused: Any) -> Step:
        """Return the greedy tree: an iteration of the paper's third experiment."""
        draws = self.run(problem)
        return draws.children[0], draws.times[0], {}


@dataclass(frozen=True)
class MGreedy(_GreedyTree):
    """The pair with the earliest mode of log v merges (Henao & Lucas 2012, as printed).

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> len(ct.sample_trees(X, sampler=ct.MGreedy(), progress=False))
    1
    """


@dataclass(frozen=True)
class GreedyTeh(_GreedyTree):
    """The pair with the earliest mode of v merges (Teh et al. 2008).

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> len(ct.sample_trees(X, sampler=ct.GreedyTeh(), progress=False))
    1
    """

    _rule = TEH_MODE


@dataclass(frozen=True)
class Greedy(_GreedyTree):
    """The baseline that Henao & Lucas ascribe to Teh et al.; kept for comparison.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> len(ct.sample_trees(X, sampler=ct.Greedy(), progress=False))
    1
    """

    _rule = PRINTED_TEH_MODE
