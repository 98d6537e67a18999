"""When a run with ``n_samples="auto"`` ends its warm-up and stops: functions of the draws alone.

The same seed gives the same run with any number of jobs and with or without interruptions. Checks are made after
growing numbers of iterations:

    warm-up     ends when the log joint has settled: over the last half of the iterations of every chain, its mean moves
                no further than its standard deviation; at the latest after a quarter of the iterations
    a check     R-hat and effective sample sizes (`convergence`) are within their limits, and so is the difference
                between chains in the stability of the clusters (`chains_agree`), which takes longer to compute
    longer      where the largest R-hat is far nearer to 1 without the first quarter of the draws, that quarter was
    warm-up     warm-up as well, and is dropped
"""

import math

import numpy as np

from ...model.draws import Draws
from ...posterior import Posterior
from ...posterior.diagnostics import convergence
from ...posterior.diagnostics.watched import is_covariance, is_merge, watched

GROWTH, GROWTH_IN_WARMUP = 1.25, 1.5  # iterations at the next check, as a multiple of those at this one
WARMUP_PART = 0.25  # of the draws, where they turn out to be warm-up
MAX_PROJECTION = 10.0  # times as many iterations as were taken: beyond, figures of few draws say nothing


def has_settled(log_joints: np.ndarray) -> bool:
    """Whether (chains, r) log joints have settled: by their last two quarters, of every chain."""
    quarter = log_joints.shape[1] // 4
    if quarter < 2:
        return False
    before, after = log_joints[:, -2 * quarter : -quarter], log_joints[:, -quarter:]
    spread = np.sqrt(0.5 * (before.var(axis=1, ddof=1) + after.var(axis=1, ddof=1)))
    return bool(np.all(np.abs(before.mean(axis=1) - after.mean(axis=1)) <= spread))


def n_late_warmup(posterior: Posterior) -> int:
    """How many of the first draws of each chain were warm-up as well: a quarter of them, or 0.

    A quarter, where without it R-hat, which is too large, is less than half as far from 1. The R-hat of merges at the
    top does not count: they wander for long, and what they do in one quarter is no sign of a warm-up.
    """
    chain = posterior.draws.chain
    n_draws = int((chain == 0).sum())
    first = int(WARMUP_PART * n_draws)
    all_of_it = _largest_r_hat(posterior.draws)
    if not all_of_it > convergence.LIMITS["r_hat"].limit:
        return 0
    later = _largest_r_hat(posterior.draws.part(np.tile(np.arange(n_draws) >= first, len(chain) // n_draws)))
    return first if later - 1.0 < 0.5 * (all_of_it - 1.0) else 0


def _largest_r_hat(draws: Draws) -> float:
    scalars = watched(draws.times, draws.log_joint, draws.theta).items()
    judged = (x for name, x in scalars if not is_merge(name) and not is_covariance(name))
    r_hats = (convergence.scalar_figures(x, draws.chain)["r_hat"] for x in judged)
    return max((r_hat for r_hat in r_hats if not math.isnan(r_hat)), default=math.nan)


def n_needed(n_draws: int, figures: list[convergence.Figure]) -> int:
    """How many draws of each chain would meet all limits; a guess from the figures of so many."""
    return int(min(convergence.times_more_draws(figures), MAX_PROJECTION) * n_draws)
