"""Effective sample sizes, which `convergence` judges."""

import numpy as np

from ...model.draws import Draws
from ...numerics.ess import MIN_DRAWS, mixing
from ...numerics.weighted import effective_sample_size
from .watched import evenly_spaced

N_REFERENCES = 20  # more change little


def by_chain(chain: np.ndarray) -> list[np.ndarray]:
    """List the draws of each chain, in their order."""
    return [np.flatnonzero(chain == c) for c in np.unique(chain)]


def last_of_chains(chain: np.ndarray) -> np.ndarray:
    """(chains, draws) the draws of each chain, in their order; of longer chains only the last."""
    chains = by_chain(chain)
    length = min(len(draws) for draws in chains)
    return np.stack([draws[-length:] for draws in chains])


def series_ess(values: np.ndarray, draws: Draws) -> float:
    """Bulk effective sample size of a scalar (T,) over all chains, at most T; 1 / Σ w² for weighted particles."""
    if not (draws.is_chain and draws.has_equal_weights):
        return effective_sample_size(draws.weights)
    stacked = values[last_of_chains(draws.chain)]
    if stacked.shape[1] < MIN_DRAWS or np.ptp(stacked) == 0:
        return float(len(values))
    return float(np.fmin(mixing(stacked[None])[1][0], len(values)))


def topology_ess(ids: np.ndarray, chain: np.ndarray) -> float:
    """Effective sample size of the topology, of equally weighted draws with clades `ids` (T, n-1); at most T.

    That of the number of clades shared with a reference tree, the median over evenly spaced draws as references
    (pseudo-ESS; Lanfear et al. 2016). T where all topologies are equal, NaN for a chain of fewer than 4.
    """
    draws = last_of_chains(chain)
    if draws.shape[1] < MIN_DRAWS:
        return np.nan
    references = draws.ravel()[evenly_spaced(draws.size, N_REFERENCES)]
    shared = np.empty((len(references), *draws.shape))
    for r, reference in enumerate(references):
        is_shared = np.zeros(int(ids.max()) + 1, dtype=bool)
        is_shared[ids[reference]] = True
        shared[r] = is_shared[ids].sum(axis=1)[draws]
    shared = shared[np.ptp(shared, axis=(1, 2)) > 0]
    return float(min(np.median(mixing(shared)[1]), len(chain))) if len(shared) else float(len(chain))
