"""How sure are supports from resampled columns? From the spread between resamples, which are independent.

Each of B chains has a likelihood of its own, so that R-hat between them means nothing. The share f_b of a clade in
chain b is a draw with the support for its mean, whatever the chain's length, and

    standard error of a support = sd(f_b) / √B ,      effective sample size = Σ p (1 - p) / Σ (standard error)² ,

sums over clades. A warm-up that was too short shows as a `drift` of the log joint within chains.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._runtime.validation import as_number
from ..trees.clades import clade_table
from .ess import by_chain

if TYPE_CHECKING:
    from ..posterior import Posterior

MIN_SUPPORT = 0.1  # of the clades whose errors are averaged
ERROR_ABOVE = 0.1  # standard errors of supports
DRIFT_ABOVE = 0.75  # in standard deviations of one chain's
MEANING = "supports count how often a group is found when columns are drawn anew"


def figures(post: "Posterior") -> dict[str, Any]:
    """Number of resamples, standard error of supports, effective sample size of topologies, and drift."""
    ids, error = clade_table(post).ids, math.nan
    mean, squared_error = _moments(ids, post.draws.chain)
    counts = mean >= MIN_SUPPORT
    counts[ids[0, -1]] = False  # the whole leaf set, which has no choice
    if counts.any():
        error = math.sqrt(float(squared_error[counts].mean()))
    kept = post.info.get("resample")
    drift = as_number(kept.get("drift")) if isinstance(kept, dict) else math.nan
    n_resamples = len(np.unique(post.draws.chain))
    return {
        "n_resamples": n_resamples,
        "support_error": error,
        "topology_ess": topology_ess(ids, post.draws.chain),
        "drift": drift,
    }


def drift_limit(n_resamples: int) -> float:
    """Above this a drift is doubtful: four standard errors at least."""
    return max(DRIFT_ABOVE, 4.0 / math.sqrt(n_resamples))


def topology_ess(ids: np.ndarray, chain: np.ndarray) -> float:
    """Effective sample size of topologies with clades `ids` (T, n-1), from 1 to T; NaN for one chain."""
    if len(np.unique(chain)) < 2:
        return math.nan
    mean, squared_error = _moments(ids, chain)
    return _bounded(float(np.sum(mean * (1.0 - mean))), float(squared_error.sum()), len(chain))


def scalar_ess(values: np.ndarray, chain: np.ndarray) -> float:
    """Effective sample size of a scalar, from 1 to T; NaN for one chain."""
    means = np.array([values[draws].mean() for draws in by_chain(chain)])
    if len(means) < 2:
        return math.nan
    return _bounded(float(values.var()), float(means.var(ddof=1)) / len(means), len(chain))


def _moments(ids: np.ndarray, chain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over chains of the share of each clade, and its squared standard error."""
    n_clades = int(ids.max()) + 1
    share = np.array([np.bincount(ids[draws].ravel(), minlength=n_clades) / len(draws) for draws in by_chain(chain)])
    return share.mean(axis=0), share.var(axis=0, ddof=min(len(share) - 1, 1)) / len(share)


def _bounded(variance: float, squared_error: float, n_draws: int) -> float:
    if squared_error <= 1e-12 * variance:
        return float(n_draws)
    return min(max(variance / squared_error, 1.0), float(n_draws))
