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
    return Tree(simulate_merges(n, rng), times, labels)


def simulate_merges(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the children (n-1, 2) of the merges alone: any two lineages are equally likely to be next."""
    first = rng.integers(0, np.arange(n, 1, -1)).tolist()
    second = rng.integers(0, np.arange(n - 1, 0, -1)).tolist()
    lineages, children = list(range(n)), []
    for i, j in zip(first, second, strict=True):
        j += j >= i  # a uniform ordered pair of distinct positions
        children.append((lineages[i], lineages[j]))
        lineages[i] = n + len(children) - 1
        lineages[j] = lineages[-1]
        lineages.pop()
    return np.array(children, dtype=np.int64).reshape(-1, 2)


def lateness(children: np.ndarray) -> np.ndarray:
    """(n,) how late each leaf joins another: 1 / m, m the number of lineages left before it does."""
    n = len(children) + 1
    late = np.empty(2 * n - 1)
    late[np.asarray(children)] = (1.0 / np.arange(n, 1, -1))[:, None]
    return late[:n]
