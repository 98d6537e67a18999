"""As long as needed, no longer: when a run with ``n_samples="auto"`` ends its warm-up, looks at itself, and stops.

Chains go on in growing blocks. After each one this file decides, from the draws alone, so that the same seed gives the
same run with any number of jobs and with or without interruptions:

    warm-up     ends when the log joint has settled: over the last half of the rounds of every chain, its mean moves no
                further than its standard deviation; at the latest after a quarter of the budget
    a look      at R-hat and effective sample sizes of log joint, root and every parameter, at the effective size of the
                topologies, and at how far clade frequencies differ between chains: all within their targets, or go on
    second      where the largest R-hat is far nearer to 1 without the first quarter of the draws, that quarter was
    thoughts    warm-up as well, and is dropped
    thinning    where the next block would not fit into what may be kept, every second draw is dropped, and from then on
                every second one kept: draws of a run that needs many are alike, and memory has an end
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.validation import check_count, check_positive
from ...errors import InputError
from ...posterior.diagnostics import convergence
from ...posterior.diagnostics.ess import split_frequency_sd, topology_ess
from ...posterior.diagnostics.stop_reason import CONVERGED, INTERRUPTED, ROUNDS_SPENT
from ...posterior.trees.clades import enumerate_clades
from ..chains.chain import Plan, Rounds, concatenate_rounds

R_HAT_TARGET = 1.02
ESS_TARGET = convergence.ESS_BELOW

AUTO = "auto"

_MOST = 10**9  # beyond, a number of rounds is a slip of the pen
_USUAL_WARMUP = 100  # rounds, where the number of samples is given
_FIRST_LOOK, _GROWTH = 100, 1.25  # rounds after the warm-up, and how many times as many before the next look
_FIRST_IN_WARMUP, _GROWTH_IN_WARMUP = 20, 1.5
_SHARE_OF_WARMUP = 4  # at most one round in so many of the budget
_DROPPED = 4  # one draw in so many, where they turn out to be warm-up
_ROUNDS_AT_MOST, _ROUNDS_AT_LEAST, _ROWS_IN_ALL = 4_000, 60, 1_200_000
_KEPT_AT_MOST, _KEPT_AT_LEAST, _BYTES_IN_ALL = 1_000, 100, 1e9
_FARTHEST_PROJECTION = 10.0  # times as many rounds as were taken: beyond, figures of few draws say nothing


class Auto(NamedTuple):
    """What a run may spend, and where it stands."""

    max_iterations: int  # of each chain, warm-up included
    max_seconds: float | None
    most_kept: int  # draws of each chain
    given_warmup: int | None
    next_look: int  # round
    reason: str = ""  # why it has stopped, if it has
    log_joints: tuple[np.ndarray, ...] = ()  # (r,) of each chain, as long as it is warming up
    seen: "Figures | None" = None  # at the last look


class Figures(NamedTuple):
    """What was seen at a look: the worst of all series, each with its name."""

    n_draws: int  # of each chain
    r_hat: float
    of_r_hat: str
    ess: float
    of_ess: str
    topology_ess: float
    split_frequency_sd: float

    @property
    def are_enough(self) -> bool:
        """Whether all targets are met; a figure that does not exist, of what never changes, is no obstacle."""
        return self.still_needed <= 1.0

    @property
    def still_needed(self) -> float:
        """How many times as many draws would meet all targets, if errors fall as they do; 1 where they are met."""
        factors = [
            (self.r_hat - 1.0) / (R_HAT_TARGET - 1.0),
            ESS_TARGET / self.ess,
            ESS_TARGET / self.topology_ess,
            (self.split_frequency_sd / convergence.SPLIT_SD_ABOVE) ** 2,
        ]
        return max([1.0, *(factor for factor in factors if not math.isnan(factor))])


class Length(NamedTuple):
    """How long a user wants a run to be; None where it is for the draws to say, or not said."""

    n_samples: int | None
    n_warmup: int | None
    max_iterations: int | None
    max_seconds: float | None

    @property
    def fewest_kept(self) -> int:
        """Draws of each chain that there must be room for."""
        return _KEPT_AT_LEAST if self.n_samples is None else self.n_samples


def check_length(n_samples: Any, n_warmup: Any, max_iterations: Any, max_seconds: Any) -> Length:
    """What was given, checked."""
    n_samples = None if _is_auto("n_samples", n_samples) else check_count("n_samples", n_samples, 1, _MOST)
    usual = None if n_samples is None else _USUAL_WARMUP
    n_warmup = usual if _is_auto("n_warmup", n_warmup) else check_count("n_warmup", n_warmup, 0, _MOST)
    if n_samples is not None and not (max_iterations is None and max_seconds is None):
        raise InputError(f'max_iterations and max_seconds are for n_samples="auto", not for n_samples={n_samples}.')
    if max_iterations is not None:
        max_iterations = check_count("max_iterations", max_iterations, 1 + (n_warmup or 0), _MOST)
    if max_seconds is not None:
        max_seconds = check_positive("max_seconds", max_seconds)
    return Length(n_samples, n_warmup, max_iterations, max_seconds)


def _is_auto(name, value):
    if value is None or (isinstance(value, str) and value != AUTO):
        raise InputError(f'{name} must be "{AUTO}", for as long as needed, or a whole number, not {value!r}.')
    return isinstance(value, str)


def default_max_iterations(n: int) -> int:
    """Rounds of each chain that n leaves may take; fewer for many, whose rounds take longer."""
    return int(min(max(_ROWS_IN_ALL // n, _ROUNDS_AT_LEAST), _ROUNDS_AT_MOST))


def begin_auto(length: Length, n: int, bytes_a_draw: float) -> Auto:
    """Plan a run over n leaves, of which a draw of every chain takes so many bytes."""
    n_warmup = length.n_warmup
    max_iterations = (
        (n_warmup or 0) + default_max_iterations(n) if length.max_iterations is None else length.max_iterations
    )
    most = int(min(max(_BYTES_IN_ALL / bytes_a_draw, _KEPT_AT_LEAST), _KEPT_AT_MOST, max_iterations))
    first = _last_of_warmup(max_iterations, _FIRST_IN_WARMUP) if n_warmup is None else n_warmup + _FIRST_LOOK
    return Auto(max_iterations, length.max_seconds, most, n_warmup, min(first, max_iterations))


def decide(auto: Auto, plan: Plan, round: int, kept: Sequence[list[Rounds]]) -> tuple[Auto, Plan, list[list[Rounds]]]:
    """What follows from the draws when round `next_look` is done: a plan to go on with, or a reason to stop."""
    if plan.n_warmup is None:
        return _decide_on_warmup(auto, plan, round, list(kept))
    chains, n_warmup, thin = [concatenate_rounds(blocks) for blocks in kept], plan.n_warmup, plan.thin
    seen = look(chains)
    if not (seen.are_enough or auto.given_warmup is not None) and seen.n_draws >= _FIRST_LOOK:
        later = [_part(rounds, slice(len(rounds.times) // _DROPPED, None)) for rounds in chains]
        if _is_nearer(seen, later):
            n_dropped = (seen.n_draws - len(later[0].times)) * thin
            n_warmup, chains, seen = n_warmup + n_dropped, later, look(later)
    is_long = seen.n_draws * thin >= _FIRST_LOOK // 2  # few draws have no figures, which are no proof
    reason = CONVERGED if is_long and seen.are_enough else ROUNDS_SPENT if round >= auto.max_iterations else ""
    if not reason:
        n_rounds = max(math.ceil(_GROWTH * (round - n_warmup)), _FIRST_LOOK)
        while n_rounds > thin * auto.most_kept:
            chains, thin = [_part(rounds, slice(1, None, 2)) for rounds in chains], 2 * thin
        last = n_warmup + math.ceil(n_rounds / thin) * thin
        auto = auto._replace(next_look=min(last, auto.max_iterations))
    plan = plan._replace(n_warmup=n_warmup, thin=thin)
    return auto._replace(reason=reason, seen=seen), plan, [[rounds] for rounds in chains]


def _decide_on_warmup(auto, plan, round, kept):
    longest = longest_warmup(auto)
    if round >= longest or (round > plan.n_tempered and has_settled(np.stack(auto.log_joints))):
        return *end_warmup(auto, plan, round), kept
    next_look = min(math.ceil(_GROWTH_IN_WARMUP * round), longest)
    return auto._replace(next_look=next_look), plan, kept


def end_warmup(auto: Auto, plan: Plan, round: int) -> tuple[Auto, Plan]:
    """Keep what comes after this round."""
    next_look = min(round + _FIRST_LOOK, auto.max_iterations)
    return auto._replace(next_look=next_look, log_joints=()), plan._replace(n_warmup=round)


def has_settled(log_joints: np.ndarray) -> bool:
    """Whether (chains, r) log joints have settled: by their last two quarters, of every chain."""
    quarter = log_joints.shape[1] // 4
    if quarter < 2:
        return False
    before, after = log_joints[:, -2 * quarter : -quarter], log_joints[:, -quarter:]
    spread = np.sqrt(0.5 * (before.var(axis=1, ddof=1) + after.var(axis=1, ddof=1)))
    return bool(np.all(np.abs(before.mean(axis=1) - after.mean(axis=1)) <= spread))


def look(chains: Sequence[Rounds]) -> Figures:
    """Figures of the draws of all chains, which have as many each."""
    n_draws = len(chains[0].times)
    every, chain = concatenate_rounds(chains), np.repeat(np.arange(len(chains)), n_draws)
    scalars = _scalars(every, chain)
    r_hat, of_r_hat = max(((value["r_hat"], name) for name, value in scalars.items()), key=_known(-math.inf))
    ess, of_ess = min(((value["ess"], name) for name, value in scalars.items()), key=_known(math.inf))
    topology = sd = math.nan
    if every.times.shape[1] > 1:
        ids = enumerate_clades(every.children).ids
        topology = topology_ess(ids, chain)
        sd = split_frequency_sd(ids, np.full(len(chain), 1.0 / len(chain)), chain)
    return Figures(n_draws, r_hat, of_r_hat, ess, of_ess, topology, sd)


def _scalars(every: Rounds, chain):
    root = {"root_time": every.times[:, -1]} if every.times.shape[1] else {}
    series: dict[str, np.ndarray] = {"log_joint": every.log_joint, **root, **every.theta}
    return {name: convergence.scalar_figures(draws, chain) for name, draws in series.items()}


def _known(otherwise):
    return lambda pair: otherwise if math.isnan(pair[0]) else pair[0]


def _is_nearer(seen, later):
    """Whether R-hat, too large with the first draws, is less than half as far from 1 without them."""
    if not seen.r_hat > convergence.R_HAT_ABOVE:
        return False
    chain = np.repeat(np.arange(len(later)), len(later[0].times))
    r_hats = [value["r_hat"] for value in _scalars(concatenate_rounds(later), chain).values()]
    return all(r_hat - 1.0 < 0.5 * (seen.r_hat - 1.0) for r_hat in r_hats if not math.isnan(r_hat))


def _part(rounds, which):
    arrays = {name: value[which] for name, value in rounds._asdict().items() if isinstance(value, np.ndarray)}
    theta, info = ({name: draws[which] for name, draws in named.items()} for named in (rounds.theta, rounds.info))
    return rounds._replace(theta=theta, info=info, **arrays)


def longest_warmup(auto: Auto) -> int:
    """Rounds after which the warm-up ends at the latest, where its length is for the draws to say."""
    return _last_of_warmup(auto.max_iterations, auto.max_iterations)


def _last_of_warmup(max_iterations, most):
    return min(max_iterations // _SHARE_OF_WARMUP, most)


def earliest_end(auto: Auto, plan: Plan) -> int:
    """Rounds of each chain before which it does not stop, unless the clock says so."""
    first_look = auto.next_look if plan.n_warmup is not None else auto.next_look + _FIRST_LOOK
    return min(first_look, auto.max_iterations)


def projected_rounds(auto: Auto, plan: Plan) -> int | None:
    """Rounds of each chain after which the targets may be met, as the last look has it; None before the first."""
    if auto.seen is None or plan.n_warmup is None:
        return None
    needed = min(auto.seen.still_needed, _FARTHEST_PROJECTION) * auto.seen.n_draws * plan.thin
    return int(min(plan.n_warmup + needed, auto.max_iterations))


def summary(auto: Auto, plan: Plan, round: int, kept: Sequence[list[Rounds]]) -> dict[str, Any]:
    """What ``info["stopping"]`` keeps of a run; `posterior.stopped` puts it into words."""
    found = {
        "reason": auto.reason or INTERRUPTED,
        "rounds": round,
        "thin": plan.thin,
        "max_iterations": auto.max_iterations,
    }
    if auto.given_warmup is not None:
        found["n_warmup_given"] = auto.given_warmup
    if auto.max_seconds is not None:
        found["max_seconds"] = auto.max_seconds
    targets = {"r_hat_target": R_HAT_TARGET, "ess_target": float(ESS_TARGET)}
    chains = [concatenate_rounds(blocks) for blocks in kept]
    seen = auto.seen if auto.seen is not None and auto.seen.n_draws == len(chains[0].times) else look(chains)
    return found | targets | seen._asdict()
