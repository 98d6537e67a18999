"""When a run with ``n_samples="auto"`` ends its warm-up, looks at itself, and stops.

Chains are taken further in growing blocks. After each one this file decides, from the draws alone, so that the same
seed gives the same run with any number of jobs and with or without interruptions:

    warm-up     ends when the log joint has settled: over the last half of the iterations of every chain, its mean moves
                no further than its standard deviation; at the latest after a quarter of `max_iterations`
    a look      at R-hat and effective sample sizes (`convergence`): all within their limits, or more iterations; once
                they are, at whether the chains give the same answer (`agreement`), which takes longer to find out
    longer      where the largest R-hat is far nearer to 1 without the first quarter of the draws, that quarter was
    warm-up     warm-up as well, and is dropped
    thinning    where the next block would not fit into `max_draws`, every second draw is dropped, and from then on
                every second one kept
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...model.draws import Draws, concatenate
from ...posterior import Posterior
from ...posterior.diagnostics import convergence
from ...posterior.diagnostics.agreement import chains_agree
from ...posterior.diagnostics.watched import is_merge, watched
from ..settings import CONVERGED, FIRST_LOOK, INTERRUPTED, ITERATIONS_SPENT, RunSettings
from .run_state import RunState

GROWTH, GROWTH_IN_WARMUP = 1.25, 1.5  # iterations at the next look, as a multiple of those at this one
DROPPED_SHARE = 0.25  # of the draws, where they turn out to be warm-up
MAX_PROJECTION = 10.0  # times as many iterations as were taken: beyond, figures of few draws say nothing

ToPosterior = Callable[[RunState], Posterior]  # the posterior of the draws so far


def decide(settings: RunSettings, state: RunState, to_posterior: ToPosterior | None = None) -> RunState:
    """What follows at iteration `next_look`: the end of the warm-up, the next look, or a reason to stop."""
    if not settings.is_auto:
        return state._replace(reason=ITERATIONS_SPENT)
    if state.n_warmup is None:
        return _decide_on_warmup(settings, state)
    is_last = state.iteration >= settings.max_iterations
    state = with_answer(_looked_at(settings, state), to_posterior, is_last)
    seen = state.figures or {}
    if _is_long(state) and convergence.is_converged(seen) and _agree(seen.get("agreement")):
        return state._replace(reason=CONVERGED)
    if is_last:
        return state._replace(reason=ITERATIONS_SPENT)
    return _with_next_look(settings, state)


def _looked_at(settings: RunSettings, state: RunState) -> RunState:
    """The state with its figures, and without first draws that were warm-up as well."""
    chains = [concatenate(blocks) for blocks in state.draws]
    n_warmup, seen = state.n_warmup or 0, look(chains)
    if settings.n_warmup is None and not convergence.is_converged(seen) and seen["n_draws"] >= FIRST_LOOK:
        later = [draws.part(slice(int(DROPPED_SHARE * len(draws.times)), None)) for draws in chains]
        if _is_nearer(chains, later):
            n_warmup += (seen["n_draws"] - len(later[0].times)) * state.thin
            chains, seen = later, look(later)
    return state._replace(n_warmup=n_warmup, draws=tuple((one,) for one in chains), figures=seen)


def with_answer(state: RunState, to_posterior: ToPosterior | None, is_last: bool = False) -> RunState:
    """The state with what its chains agree on among its figures, where all others are within their limits.

    In the end topologies may be too few: people look at the answer all the same.
    """
    seen = state.figures
    if seen is None or to_posterior is None or not _is_long(state):
        return state
    if not convergence.is_converged(seen | {"topology_ess": math.nan} if is_last else seen):
        return state
    return state._replace(figures=seen | {"agreement": chains_agree(to_posterior(state))})


def _agree(agreement: Any) -> bool:
    """Whether chains give the same clusters, or there are no two chains."""
    return agreement is None or agreement.gives_same_clusters


def _is_long(state: RunState) -> bool:
    return state.n_draws * state.thin >= FIRST_LOOK // 2  # few draws have no figures, which are no proof


def _with_next_look(settings: RunSettings, state: RunState) -> RunState:
    """When to look again, with every second draw dropped as often as is needed until then."""
    chains, thin, n_warmup = [concatenate(blocks) for blocks in state.draws], state.thin, state.n_warmup or 0
    n_iterations = max(math.ceil(GROWTH * (state.iteration - n_warmup)), FIRST_LOOK)
    while n_iterations > thin * settings.max_draws:
        chains, thin = [draws.part(slice(1, None, 2)) for draws in chains], 2 * thin
    next_look = min(n_warmup + math.ceil(n_iterations / thin) * thin, settings.max_iterations)
    return state._replace(thin=thin, draws=tuple((one,) for one in chains), next_look=next_look)


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


def look(chains: Sequence[Draws]) -> dict[str, Any]:
    """Convergence figures of the draws of all chains, which have as many each."""
    every = concatenate(chains)
    return convergence.worst_figures(every.times, every.log_joint, every.theta, every.children, _chain_of(chains))


def _chain_of(chains: Sequence[Draws]) -> np.ndarray:
    return np.repeat(np.arange(len(chains)), len(chains[0].times))


def _is_nearer(chains: Sequence[Draws], later: Sequence[Draws]) -> bool:
    """Whether R-hat, too large with the first draws, is less than half as far from 1 without them.

    Not that of merges at the top, which wander for long: what they do in one quarter is no sign of a warm-up.
    """
    with_first, without = (max(_r_hats_of_parameters(one), default=math.nan) for one in (chains, later))
    return with_first > convergence.R_HAT_ABOVE and without - 1.0 < 0.5 * (with_first - 1.0)


def _r_hats_of_parameters(chains: Sequence[Draws]) -> list[float]:
    every, chain = concatenate(chains), _chain_of(chains)
    scalars = watched(every.times, every.log_joint, every.theta).items()
    r_hats = [convergence.scalar_figures(draws, chain)["r_hat"] for name, draws in scalars if not is_merge(name)]
    return [r_hat for r_hat in r_hats if not math.isnan(r_hat)]


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


def summary(settings: RunSettings, state: RunState, to_posterior: ToPosterior | None = None) -> dict[str, Any]:
    """What ``info["stopping"]`` keeps of a run; `convergence_summary` puts it into words."""
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
    found |= {"r_hat_target": convergence.R_HAT_ABOVE, "ess_target": float(convergence.ESS_BELOW)}
    if state.figures is None or state.figures["n_draws"] != state.n_draws:
        state = state._replace(figures=look([concatenate(blocks) for blocks in state.draws]))
        state = with_answer(state, to_posterior if state.reason else None, is_last=True)
    seen = dict(state.figures or {})
    agreement = seen.pop("agreement", None)
    return found | seen | ({} if agreement is None else agreement._asdict())
