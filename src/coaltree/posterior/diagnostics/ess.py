"""Effective sample sizes, and agreement between chains: the numbers that `convergence` judges.

For topologies: a tree is the vector x of indicators, one per clade, and the chain's autocovariance is summed over
clades. With m the mean of x over a chain of N draws,

    C_s = 1/N Σ_t (x_t - m)·(x_{t+s} - m),    x_t·x_{t+s} = number of clades that the two trees share

Two trees that share all but h of their clades are at Robinson–Foulds distance 2h, so C_s falls from the total variance
to 0 as the distance between draws s apart rises to that of independent draws.
"""

import numpy as np

from ..._runtime.jit import jit
from ...numerics.ess import MIN_DRAWS, mixing

MAX_FULL_LAG = 50  # up to this lag every lag and every pair of draws counts; beyond, ever fewer of both


def by_chain(chain: np.ndarray) -> list[np.ndarray]:
    """List the draws of each chain, in their order."""
    return [np.flatnonzero(chain == c) for c in np.unique(chain)]


def last_of_chains(chain: np.ndarray) -> np.ndarray:
    """(chains, draws) the draws of each chain, in their order; of longer chains only the last."""
    chains = by_chain(chain)
    length = min(len(draws) for draws in chains)
    return np.stack([draws[-length:] for draws in chains])


def series_ess(values: np.ndarray, chain: np.ndarray) -> float:
    """Bulk effective sample size of a scalar over all chains, at most T; NaN for chains shorter than 4."""
    stacked = values[last_of_chains(chain)]
    if stacked.shape[1] < MIN_DRAWS:
        return np.nan
    if np.ptp(stacked) == 0:
        return float(len(values))
    return float(min(mixing(stacked[None])[1][0], len(values)))


def topology_ess(ids: np.ndarray, chain: np.ndarray) -> float:
    """Effective sample size of the topology, of equally weighted draws with clades `ids` (T, n-1); at most T.

    As for a scalar (split chains; W within, B between; Gelman et al. 2013, 11.5), with sums over clades:
    V = W (N-1)/N + B, ρ_s = 1 - (W - mean C_s)/V, ESS = T / (1 + 2 Σ_s ρ_s), the sum taken in pairs of lags while
    they are positive and made non-increasing (Geyer 1992). T where all topologies are equal, NaN for a chain of < 4.
    """
    halves = [half for draws in by_chain(chain) for half in np.array_split(draws, 2)]
    length = min(len(half) for half in halves)
    if length < 2:
        return np.nan
    halves = [np.ascontiguousarray(ids[half[-length:]]) for half in halves]
    overall, squares, along_mean = np.zeros(int(ids.max()) + 1), [], []
    for rows in halves:
        mean = np.bincount(rows.ravel(), minlength=len(overall)) / length
        overall += mean / len(halves)
        squares.append(float(mean @ mean))
        along_mean.append(mean[rows].sum(axis=1))
    within = (ids.shape[1] - np.mean(squares)) * length / (length - 1)
    between = (np.sum(squares) - len(halves) * (overall @ overall)) / (len(halves) - 1)
    variance = within * (length - 1) / length + between
    if variance < 1e-9:
        return float(len(chain))

    def correlation(s: int, stride: int) -> float:
        covariances = [
            _shared_less_mean(rows, along, square, s, stride)
            for rows, along, square in zip(halves, along_mean, squares, strict=True)
        ]
        return float(1.0 - (within - np.mean(covariances)) / variance)

    time, last, s = -1.0, np.inf, 0
    while s < length - 1:
        stride = 1 + s // MAX_FULL_LAG
        pair = (1.0 if s == 0 else correlation(s, stride)) + correlation(s + 1, stride)
        if pair <= 0:
            break
        last = min(last, pair)
        time += 2.0 * stride * last  # long lags are taken in steps: this pair stands for the next few
        s += 2 * stride
    return float(min(length * len(halves) / max(time, 1e-9), len(chain)))


@jit
def _shared_less_mean(ids: np.ndarray, along_mean: np.ndarray, square: float, s: int, stride: int) -> float:
    """C_s, from every `stride`-th pair of draws s apart."""
    length = len(ids)
    met = np.full(ids.max() + 1, -1, np.int32)
    total, n_pairs = 0.0, 0
    for t in range(0, length - s, stride):
        for k in range(ids.shape[1]):
            met[ids[t, k]] = t
        shared = 0
        for k in range(ids.shape[1]):
            shared += met[ids[t + s, k]] == t
        total += shared - along_mean[t] - along_mean[t + s] + square
        n_pairs += 1
    return total / n_pairs * (length - s) / length
