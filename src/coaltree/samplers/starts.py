"""First trees for samplers that improve one: average linkage, insertion, greedy, a prior draw, or a given tree."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .._runtime.memory import require_memory
from ..errors import InputError
from ..model.process.coalescent import simulate_tree
from ..model.process.whitened import Problem
from .merging.greedy import MGreedy
from .regraft.insertion import insertion_tree

_AVERAGE_UP_TO = 5_000  # above, a linkage takes longer than the few sweeps that insertion needs more


def first_tree(problem: Problem, start: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return (children, times) of a tree to start from, all times different and above 0."""
    if isinstance(start, str) and start == "auto":
        start = "average" if problem.n <= _AVERAGE_UP_TO else "insertion"
    if isinstance(start, str) and start in _MAKERS:
        children, times = _MAKERS[start](problem, rng)
    else:
        children, times = _given(start, problem.n)
    return np.array(children, dtype=np.int64), strictly_increasing(times)


def _given(start, n):
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
    """Pull apart tied times, and lift zeros: branches of no length have no place for a subtree to rejoin."""
    times = np.array(times, dtype=np.float64)
    positive = times[times > 0.0]
    least = 1e-3 * positive[0] if positive.size else 1e-12
    ramp = 1e-9 * np.arange(times.size)
    return np.exp(np.maximum.accumulate(np.log(np.maximum(times, least)) - ramp) + ramp)


def average_linkage(problem: Problem, rng: np.random.Generator | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Average linkage, a merge at height h dated τ = h² / (2d): rows that parted at τ lie 2τd apart, squared."""
    from scipy.cluster.hierarchy import linkage

    n = problem.n
    require_memory(8 * n * n, f"average linkage of {n} rows", 'use start="insertion"')
    Z = linkage(problem.W, "average")
    return Z[:, :2].astype(np.int64), np.square(Z[:, 2]) / (2.0 * max(problem.d, 1))


def _prior(problem, rng):
    tree = simulate_tree(problem.n, rng)
    return tree.children, tree.times


_MAKERS: dict[str, Callable[..., Any]] = {
    "average": average_linkage,
    "insertion": insertion_tree,
    "greedy": lambda problem, rng: MGreedy().step(problem._replace(leaf_var=float(problem.leaf_vars().mean())))[:2],
    "prior": _prior,
}
