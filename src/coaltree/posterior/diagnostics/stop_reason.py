"""Why a run with ``n_samples="auto"`` stopped: what `fit` leaves in ``info["stopping"]``, put into words with care."""

import math
from collections.abc import Mapping
from typing import Any

from ..._runtime.progress import duration
from ..._runtime.validation import as_number

CONVERGED, ROUNDS_SPENT, SECONDS_SPENT, INTERRUPTED = "converged", "max_iterations", "max_seconds", "interrupted"
REASONS = (CONVERGED, ROUNDS_SPENT, SECONDS_SPENT, INTERRUPTED)
_SPOKEN = {"log_joint": "log joint", "root_time": "root"}


def what_to_increase(stopping: Any) -> tuple[str, ...]:
    """The arguments of `fit` that ended a run; those of one of given length where there is nothing about stopping."""
    if not isinstance(stopping, Mapping):
        return "n_warmup", "n_samples"
    return (SECONDS_SPENT,) if stopping.get("reason") == SECONDS_SPENT else (ROUNDS_SPENT,)


def in_a_line(stopping: Any, n_warmup: Any = None) -> str | None:
    """Such as "converged after 420 rounds of each chain, 30 of them warm-up (R-hat at most 1.012, …)"; or None.

    None for other things: a file may hold anything.
    """
    if not isinstance(stopping, Mapping) or stopping.get("reason") not in REASONS:
        return None
    rounds = as_number(stopping.get("rounds"))
    if not 0 <= rounds < math.inf:
        return None
    warmup = as_number(n_warmup)
    taken = f"{rounds:,.0f} rounds of each chain" + (f", {warmup:,.0f} of them warm-up" if warmup >= 0 else "")
    thin = as_number(stopping.get("thin"))
    taken += f", one in {thin:.0f} kept" if thin > 1 else ""
    seconds = as_number(stopping.get("max_seconds"))
    line = {
        CONVERGED: f"converged after {taken}",
        ROUNDS_SPENT: f"stopped where max_iterations were spent, after {taken}",
        SECONDS_SPENT: f"stopped where max_seconds{f' ({duration(seconds)})' if seconds > 0 else ''} were spent, "
        f"after {taken}",
        INTERRUPTED: f"interrupted after {taken}",
    }[stopping["reason"]]
    figures = _figures(stopping) if stopping["reason"] != INTERRUPTED else ""
    return f"{line}: {figures}" if figures else line


def _figures(stopping):
    said = []
    r_hat, ess, topology = (as_number(stopping.get(name)) for name in ("r_hat", "ess", "topology_ess"))
    if r_hat > 0:
        said.append(f"R-hat at most {r_hat:.3f} ({_name(stopping, 'of_r_hat')}{_target(stopping, 'r_hat', r_hat, 1)})")
    if ess > 0:
        target = _target(stopping, "ess", ess, -1)
        said.append(f"effective sample sizes at least {ess:.0f} ({_name(stopping, 'of_ess')}{target})")
    if topology > 0:
        said.append(f"{topology:.0f} of the topologies")
    return ", ".join(said)


def _name(stopping, which):
    name = str(stopping.get(which, ""))[:60]
    return _SPOKEN.get(name, name)


def _target(stopping, which, value, sign):
    """The target, where it was missed."""
    target = as_number(stopping.get(f"{which}_target"))
    return f"; target {target:g}" if sign * value > sign * target else ""
