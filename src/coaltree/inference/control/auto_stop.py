"""When a run with ``n_samples="auto"`` ends its warm-up, looks at itself, and stops.

Chains are taken further in growing blocks. After each one this file decides, from the draws alone, so that the same
seed gives the same run with any number of jobs and with or without interruptions:

    warm-up     ends when the log joint has settled: over the last half of the iterations of every chain, its mean moves
                no further than its standard deviation; at the latest after a quarter of `max_iterations`
    a look      at R-hat and effective sample sizes (`convergence`): all within their targets, or more iterations
    longer      where the largest R-hat is far nearer to 1 without the first quarter of the draws, that quarter was
    warm-up     warm-up as well, and is dropped
    thinning    where the next block would not fit into `max_draws`, every second draw is dropped, and from then on
                every second one kept
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...posterior.diagnostics import convergence
from ...posterior.diagnostics.stop_reason import CONVERGED, INTERRUPTED, ITERATIONS_SPENT
from ..chains.state import ChainDraws, concatenate
from ..settings import FIRST_LOOK, RunSettings
from .run_state import RunState

GROWTH, GROWTH_IN_WARMUP = 1.25, 1.5  # iterations at the next look, as a multiple of those at this one
DROPPED_SHARE = 0.25  # of the draws, where they turn out to be warm-up
MAX_PROJECTION = 10.0  # times as many iterations as were taken: beyond, figures of few draws say nothing


def decide(settings: RunSettings, state: RunState) -> RunState:
    """What follows at iteration `next_look`: the end of the warm-up, the next look, or a reason to stop."""
    if not settings.is_auto:
        return state._replace(reason=ITERATIONS_SPENT)
    if state.n_warmup is None:
        return _decide_on_warmup(settings, state)
    chains, n_warmup, thin = [concatenate(blocks) for blocks in state.draws], state.n_warmup, state.thin
    seen = look(chains)
    if settings.n_warmup is None and not convergence.is_converged(seen) and seen["n_draws"] >= FIRST_LOOK:
        later = [draws.part(slice(int(DROPPED_SHARE * len(draws.times)), None)) for draws in chains]
        if _is_nearer(seen, later):
            n_warmup += (seen["n_draws"] - len(later[0].times)) * thin
            chains, seen = later, look(later)
    is_long = seen["n_draws"] * thin >= FIRST_LOOK // 2  # few draws have no figures, which are no proof
    reason, next_look = "", state.next_look
    if is_long and convergence.is_converged(seen):
        reason = CONVERGED
    elif state.iteration >= settings.max_iterations:
        reason = ITERATIONS_SPENT
    else:
        n_iterations = max(math.ceil(GROWTH * (state.iteration - n_warmup)), FIRST_LOOK)
        while n_iterations > thin * settings.max_draws:
            chains, thin = [draws.part(slice(1, None, 2)) for draws in chains], 2 * thin
        next_look = min(n_warmup + math.ceil(n_iterations / thin) * thin, settings.max_iterations)
    draws = tuple((one,) for one in chains)
    return state._replace(n_warmup=n_warmup, thin=thin, draws=draws, reason=reason, next_look=next_look, figures=seen)


def _decide_on_warmup(settings: RunSettings, state: RunState) -> RunState:
    is_tempered = state.iteration <= settings.n_tempered
    if state.iteration >= settings.max_warmup or (not is_tempered and has_settled(np.stack(state.log_joints))):
        return end_warmup(settings, state)
    return state._replace(next_look=min(math.ceil(GROWTH_IN_WARMUP * state.iteration), settings.max_warmup))


def end_warmup(settings: RunSettings, state: RunState) -> RunState:
    """Keep what comes from now on."""
    next_look = min(state.iteration + FIRST_LOOK, settings.max_iterations)
    return state._replace(n_warmup=state.iteration, next_look=next_look, log_joints=())


def has_settled(log_joints: np.ndarray) -> bool:
    """Whether (chains, r) log joints have settled: by their last two quarters, of every chain."""
    quarter = log_joints.shape[1] // 4
    if quarter < 2:
        return False
    before, after = log_joints[:, -2 * quarter : -quarter], log_joints[:, -quarter:]
    spread = np.sqrt(0.5 * (before.var(axis=1, ddof=1) + after.var(axis=1, ddof=1)))
    return bool(np.all(np.abs(before.mean(axis=1) - after.mean(axis=1)) <= spread))


def look(chains: Sequence[ChainDraws]) -> dict[str, Any]:
    """Convergence figures of the draws of all chains, which have as many each."""
    every = concatenate(chains)
    return convergence.worst_figures(_scalars(every), every.children, _chain_of(chains))


def _chain_of(chains: Sequence[ChainDraws]) -> np.ndarray:
    return np.repeat(np.arange(len(chains)), len(chains[0].times))


def _scalars(draws: ChainDraws) -> dict[str, np.ndarray]:
    root = {"root_time": draws.times[:, -1]} if draws.times.shape[1] else {}
    return {"log_joint": draws.log_joint, **root, **draws.theta}


def _is_nearer(seen: dict[str, Any], later: Sequence[ChainDraws]) -> bool:
    """Whether R-hat, too large with the first draws, is less than half as far from 1 without them."""
    if not seen["r_hat"] > convergence.R_HAT_ABOVE:
        return False
    scalars = _scalars(concatenate(later)).values()
    r_hats = [convergence.scalar_figures(draws, _chain_of(later))["r_hat"] for draws in scalars]
    return all(r_hat - 1.0 < 0.5 * (seen["r_hat"] - 1.0) for r_hat in r_hats if not math.isnan(r_hat))


def expected_iterations(settings: RunSettings, state: RunState) -> int:
    """Iterations of each chain in the end; a guess from the last look where the draws say when to stop."""
    if state.reason:
        return state.iteration
    if not settings.is_auto:
        return state.next_look
    if state.figures is None or state.n_warmup is None:
        return settings.max_iterations
    factor = min(convergence.times_more_draws(state.figures), MAX_PROJECTION)
    needed = state.n_warmup + factor * state.figures["n_draws"] * state.thin
    return max(int(min(needed, settings.max_iterations)), state.next_look)


def summary(settings: RunSettings, state: RunState) -> dict[str, Any]:
    """What ``info["stopping"]`` keeps of a run; `stop_reason` puts it into words."""
    found: dict[str, Any] = {
        "reason": state.reason or INTERRUPTED,
        "iterations": state.iteration,
        "thin": state.thin,
        "max_iterations": settings.max_iterations,
    }
    if settings.n_warmup is not None:
        found["n_warmup_given"] = settings.n_warmup
    if settings.max_seconds is not None:
        found["max_seconds"] = settings.max_seconds
    found |= {"r_hat_target": convergence.R_HAT_TARGET, "ess_target": float(convergence.ESS_BELOW)}
    if state.figures is None or state.figures["n_draws"] != state.n_draws:
        return found | look([concatenate(blocks) for blocks in state.draws])
    return found | state.figures
