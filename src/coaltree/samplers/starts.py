"""Initial trees of a chain: average linkage, insertion, greedy, a draw from the prior, or a given tree."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from .._runtime.memory import require_memory
from ..errors import InputError
from ..model.process.coalescent import simulate_tree
from ..model.process.whitened import Problem
from .base import Merges
from .merging.greedy import MGreedy
from .regraft.insertion import insertion_tree

_MAX_ROWS_FOR_LINKAGE = 5_000  # above, it takes longer than the few sweeps that insertion needs more


def first_tree(problem: Problem, start: Any, rng: Generator) -> Merges:
    """Return (children, times) of a tree to start from, all times different and above 0."""
    if isinstance(start, str) and start == "auto":
        start = "average" if problem.n <= _MAX_ROWS_FOR_LINKAGE else "insertion"
    if isinstance(start, str) and start in _MAKERS:
        children, times = _MAKERS[start](problem, rng)
    else:
        children, times = _checked(start, problem.n)
    return np.array(children, dtype=np.int64), strictly_increasing(times)


def _checked(start: Any, n: int) -> Merges:
    """The merges of a tree that a user has given."""
    try:
        children, times = start if isinstance(start, tuple) else (start.children, start.times)
        n_leaves = len(times) + 1
    except (AttributeError, TypeError, ValueError):
        names = ", ".join(f'"{name}"' for name in ("auto", *_MAKERS))
        raise InputError(f"start must be {names} or a Tree, not {start!r}.") from None
    if n_leaves != n:
        raise InputError(f"start must be a tree with one leaf for each of {n} distinct rows, not one with {n_leaves}.")
    return children, times


def strictly_increasing(times: np.ndarray) -> np.ndarray:
    """Separate tied times and lift zeros: no subtree can rejoin a branch without length."""
    times = np.array(times, dtype=np.float64)
    positive = times[times > 0.0]
    least = 1e-3 * positive[0] if positive.size else 1e-12
    ramp = 1e-9 * np.arange(times.size)
    return np.exp(np.maximum.accumulate(np.log(np.maximum(times, least)) - ramp) + ramp)


def average_linkage(problem: Problem, rng: Generator | None = None) -> Merges:
    """Average linkage, a merge at height h dated τ = h² / (2d): the squared distance of rows that split at τ is 2τd."""
    from scipy.cluster.hierarchy import linkage

    n = problem.n
    require_memory(8 * n * n, f"average linkage of {n} rows", 'use start="insertion"')
    Z = linkage(problem.W, "average")
    return Z[:, :2].astype(np.int64), np.square(Z[:, 2]) / (2.0 * max(problem.d, 1))


def _greedy_tree(problem: Problem, rng: Generator) -> Merges:
    return MGreedy().step(problem._replace(leaf_var=float(problem.leaf_vars().mean())))[:2]


def _prior_tree(problem: Problem, rng: Generator) -> Merges:
    tree = simulate_tree(problem.n, rng)
    return tree.children, tree.times


_MAKERS: dict[str, Callable[[Problem, Generator], Merges]] = {
    "average": average_linkage,
    "insertion": insertion_tree,
    "greedy": _greedy_tree,
    "prior": _prior_tree,
}
