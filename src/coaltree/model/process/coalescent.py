"""Kingman's coalescent, the prior over trees."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...tree import Tree


def rates(n: int) -> np.ndarray:
    """Return λ_k = (n - k)(n - k - 1)/2 for the merges k = 0 … n - 2 of n leaves, as floats of shape (n - 1,)."""
    m = np.arange(n, 1, -1, dtype=float)
    return 0.5 * m * (m - 1.0)


def standardized_gaps(times: np.ndarray) -> np.ndarray:
    """Return λ_k Δ_k for merge times of shape (…, n - 1): independent Exp(1) variables under the prior."""
    gaps = np.array(times, dtype=float)
    gaps[..., 1:] -= gaps[..., :-1].copy()
    return np.asarray(rates(gaps.shape[-1] + 1) * gaps)


def log_prior(times: np.ndarray) -> Any:
    """Return log p(τ, π) = -Σ_k λ_k Δ_k for sorted merge times of shape (…, n - 1); it is the same for every π.

    With m lineages left any two of them merge at rate 1, so that the waiting time Δ_k before merge k is exponential
    with rate λ_k = m (m - 1) / 2, m = n - k for k = 0 … n - 2, and every pair is equally likely to merge.
    """
    return -standardized_gaps(times).sum(axis=-1)


def simulate_tree(n: int, rng: np.random.Generator, labels: Iterable[Any] | None = None) -> Tree:
    """Draw a tree of n leaves from the coalescent, O(n)."""
    times = np.cumsum(rng.exponential(size=n - 1) / rates(n))
    children = np.empty((n - 1, 2), dtype=np.int64)
    lineages = np.arange(n)
    first = rng.integers(0, np.arange(n, 1, -1))
    second = rng.integers(0, np.arange(n - 1, 0, -1))
    for k in range(n - 1):
        m = n - k
        i, j = first[k], second[k]
        j += j >= i  # a uniform ordered pair of distinct positions
        children[k] = lineages[i], lineages[j]
        lineages[i] = n + k
        lineages[j] = lineages[m - 1]  # so that the m - 1 lineages left come first
    return Tree(children, times, labels)


def lateness(children: np.ndarray) -> np.ndarray:
    """(n,) how late each leaf joins another: 1 / m, m the number of lineages left before it does."""
    n = len(children) + 1
    late = np.empty(2 * n - 1)
    late[np.asarray(children)] = (1.0 / np.arange(n, 1, -1))[:, None]
    return late[:n]


def mean_lateness(n: int, rng: np.random.Generator) -> float:
    """The mean of `lateness` over the leaves of a tree drawn from the coalescent.

    Any two of the lineages that are left are equally likely to merge next, whether they are single leaves or not.
    """
    single, total = n, 0.0
    for m, u in zip(range(n, 1, -1), rng.random(n - 1).tolist(), strict=True):
        both, one = single * (single - 1), 2 * single * (m - single)  # of m (m - 1) ordered pairs
        joined = 2 if u * m * (m - 1) < both else 1 if u * m * (m - 1) < both + one else 0
        single -= joined
        total += joined / m
    return total / n
