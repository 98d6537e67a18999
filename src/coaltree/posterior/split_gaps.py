"""How many clusters does a tree show by itself? The gaps between true splits, beside those of the coalescent.

A true split has at least m leaves on both sides (see `tree.cuts`); let τ_1 ≥ τ_2 ≥ … be their times, the root's side
first. k clusters leave a long gap between the split that makes the k-th and the next one,

    g_k = log (τ_{k-1} + λ) / (τ_k + λ) ,     λ the noise level, below which times mean little,

and z_k is the distance of its posterior mean from the mean of g_k over trees of the coalescent with as many leaves, in
their standard deviations.
"""

from functools import lru_cache

import numpy as np

from .._runtime.jit import jit

_REFERENCE_TREES = 300
_LEAST_NOISE = 0.0005  # as a share of the root's time, which is near 2: ties at 0 would be infinitely far away


def gap_scores(children: np.ndarray, times: np.ndarray, weights: np.ndarray, noise: float, largest: int) -> np.ndarray:
    """(largest - 1,) z_k for k = 2 … largest, from trees (T, n-1, 2) and (T, n-1) with weights that sum to 1."""
    n = times.shape[1] + 1
    least = least_size(n)
    height = max(float(weights @ times[:, -1]), 1e-300)  # trees of other origin may have other units
    found = _gaps(true_split_times(children, times, least, largest), max(noise, _LEAST_NOISE * height))
    chance = _gaps(coalescent_split_times(n, least, largest, _REFERENCE_TREES), max(noise, 2.0 * _LEAST_NOISE))
    return (weights @ found - chance.mean(axis=0)) / np.maximum(chance.std(axis=0), 1e-9)


def least_size(n: int) -> int:
    """The least number of leaves on both sides of a true split."""
    return max(2, -(-n // 30))


def _gaps(times, noise):
    return np.log((times[:, :-1] + noise) / (times[:, 1:] + noise))


def true_split_times(children: np.ndarray, times: np.ndarray, least: int, most: int) -> np.ndarray:
    """(T, most) the latest times of merges with at least `least` leaves on both sides, 0 where there are no more."""
    children = np.ascontiguousarray(children, dtype=np.int32).view()
    children.flags.writeable = False  # one type of argument, one compiled kernel
    times = np.ascontiguousarray(times, dtype=np.float64).view()
    times.flags.writeable = False
    return _true_split_times(children, times, least, most)


@jit
def _true_split_times(children, times, least, most):
    n_trees, n = len(times), times.shape[1] + 1
    found = np.zeros((n_trees, most))
    size = np.ones(2 * n - 1, np.int64)
    for t in range(n_trees):
        for k in range(n - 1):
            size[n + k] = size[children[t, k, 0]] + size[children[t, k, 1]]
        count = 0
        for k in range(n - 2, -1, -1):
            if count < most and size[children[t, k, 0]] >= least and size[children[t, k, 1]] >= least:
                found[t, count] = times[t, k]
                count += 1
    return found


@lru_cache(maxsize=8)
def coalescent_split_times(n: int, least: int, most: int, n_trees: int, seed: int = 0) -> np.ndarray:
    """The same of trees drawn from the coalescent, from the root down, always the same ones.

    With k lineages of Kingman's coalescent, the next to split has i leaves with probability (i - 1) / (n - k), and
    its parts are 1 … i-1 leaves with equal probabilities. Only lineages that still can be split truly are kept.
    """
    rng = np.random.default_rng(seed)
    found = np.zeros((n_trees, most))
    for t in range(n_trees):
        count, large = 0, [n]
        lineages = np.arange(2, n + 1, dtype=np.float64)
        waits = rng.exponential(size=n - 1) / (0.5 * lineages * (lineages - 1.0))
        split_time = np.cumsum(waits[::-1])[::-1]  # of the split that makes k lineages k + 1
        for k in range(1, n):
            if not large or count == most:
                break
            place = rng.random() * (n - k)
            for j, size in enumerate(large):
                place -= size - 1
                if place < 0:
                    part = 1 + int(rng.random() * (size - 1))
                    if min(part, size - part) >= least:
                        found[t, count] = split_time[k - 1]
                        count += 1
                    large[j : j + 1] = [side for side in (part, size - part) if side >= 2 * least]
                    break
    found.flags.writeable = False
    return found
