"""Have the chains of a fit converged? All limits, the figures, and a warning where they are out of bounds.

There is one set of limits: where a run with ``n_samples="auto"`` may stop is where nothing is warned of.

    scalars (`watched`)     split R-hat, rank-normalised, and bulk effective sample size
    entries of a            the effective sample size of the slowest, which may be half as large: the slowest of many is
    covariance              far below what most have, and nothing that is shown depends on it alone
    clusters                the difference between chains in the stability of the clusters shown (`agreement`); computed
                            once all of the above are within bounds

The topologies' effective sample size, and the average standard deviation of clade frequencies across chains, say how
far supports of small groups are off; no run waits for them.
"""

import math
from typing import Any

import numpy as np

from ..._runtime.once import once
from ...numerics.ess import MIN_DRAWS, mixing
from ...numerics.weighted import effective_sample_size
from ..posterior import Posterior
from ..trees.clades import clade_table
from .ess import last_of_chains, split_frequency_sd, topology_ess
from .watched import entries, evenly_spaced, watched

# A run may stop, and is not warned of, within the first three; that of clusters is in `agreement`.
R_HAT_ABOVE = 1.05
ESS_BELOW = 50
ENTRY_ESS_BELOW = 25  # of one entry of an array parameter
TOPOLOGY_ESS_BELOW = 200  # a support then has a standard error of 0.035 at most
SPLIT_SD_ABOVE = 0.05  # of supports between chains

MAX_ENTRIES = 200  # of an array parameter: a large matrix is judged by a selection of its entries

Diagnostics = dict[str, Any]


def series(post: Posterior) -> dict[str, np.ndarray]:
    """What is watched from draw to draw, (T, …): `watched`, and the parameters that it stands for."""
    return {**watched(post.draws.times, post.log_joint, post.theta), **entries(post.theta)}


def figures(post: Posterior) -> Diagnostics:
    """Return {name: {"r_hat": …, "ess": …}} of the scalars, and "split_frequency_sd" of the trees, as floats.

    Of an array parameter the worst element counts.
    """
    scalars = {name: scalar_figures(draws, post.draws.chain) for name, draws in series(post).items()}
    return {**scalars, "split_frequency_sd": split_frequency_sd_of(post)}


def scalar_figures(draws: np.ndarray, chain: np.ndarray) -> dict[str, float]:
    """Largest R-hat and smallest ESS; NaN where they cannot be had (short chains, or values that never change)."""
    flat = draws.reshape(len(draws), -1)
    if draws.ndim == 3 and draws.shape[1] == draws.shape[2] and np.array_equal(draws, draws.swapaxes(1, 2)):
        flat = draws[:, *np.tril_indices(draws.shape[1])]
    shown = evenly_spaced(flat.shape[1], MAX_ENTRIES)
    stacked = np.moveaxis(flat[:, shown][last_of_chains(chain)], -1, 0)  # (element, chain, draw)
    stacked = stacked[(np.ptp(stacked, axis=(1, 2)) > 0) & np.isfinite(stacked).all(axis=(1, 2))]
    if stacked.shape[-1] < MIN_DRAWS or len(stacked) == 0:
        return {"r_hat": math.nan, "ess": math.nan}
    r_hat, ess = mixing(stacked)
    return {"r_hat": float(np.max(r_hat)), "ess": float(np.min(ess))}


@once
def topology_ess_of(post: "Posterior") -> float:
    """Effective sample size of the topology, from the clades that draws share; 1 / Σ w² for weighted particles."""
    draws, ids, ess = post.draws, clade_table(post).ids, math.nan
    if draws.is_chain and draws.has_equal_weights:
        ess = topology_ess(ids, draws.chain)
    return ess if np.isfinite(ess) else effective_sample_size(post.weights)


def split_frequency_sd_of(post: "Posterior", min_frequency: float = 0.1) -> float:
    """Average standard deviation across chains of the frequencies of clades; NaN for one chain.

    Clades below `min_frequency` in every chain are ignored. Above 0.05 the chains disagree about the tree.
    """
    return float(split_frequency_sd(clade_table(post).ids, post.weights, post.draws.chain, min_frequency))


def worst_figures(post: Posterior) -> Diagnostics:
    """The worst figure of all that is watched, with its name, and the figures of topologies."""
    draws = post.draws
    of_scalars = {
        name: scalar_figures(values, draws.chain)
        for name, values in watched(draws.times, draws.log_joint, draws.theta).items()
    }
    of_entries = [scalar_figures(values, draws.chain)["ess"] for values in entries(draws.theta).values()]
    of_r_hat = max(of_scalars, key=lambda name: np.nan_to_num(of_scalars[name]["r_hat"], nan=-np.inf, posinf=np.inf))
    of_ess = min(of_scalars, key=lambda name: np.nan_to_num(of_scalars[name]["ess"], nan=np.inf))
    return {
        "n_draws": len(post) // len(np.unique(draws.chain)),
        "r_hat": of_scalars[of_r_hat]["r_hat"],
        "of_r_hat": of_r_hat,
        "ess": of_scalars[of_ess]["ess"],
        "of_ess": of_ess,
        "topology_ess": topology_ess(clade_table(post).ids, draws.chain),
        "split_frequency_sd": split_frequency_sd_of(post),
        **({"entry_ess": min(of_entries)} if of_entries else {}),
    }


def times_more_draws(worst: Diagnostics) -> float:
    """How many times as many draws would meet the limits of scalars, if errors fall as they should; 1 if they are met.

    A figure that does not exist, of what never changes, is no obstacle.
    """
    factors: list[float] = [
        (worst["r_hat"] - 1.0) / (R_HAT_ABOVE - 1.0),
        ESS_BELOW / worst["ess"],
        ENTRY_ESS_BELOW / worst.get("entry_ess", math.inf),
    ]
    return max([1.0, *(factor for factor in factors if not math.isnan(factor))])


def is_converged(worst: Diagnostics) -> bool:
    """Whether the limits of scalars are kept; `agreement` asks for those of clusters."""
    return times_more_draws(worst) <= 1.0
