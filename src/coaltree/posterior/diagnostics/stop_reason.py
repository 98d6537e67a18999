"""Why a run with ``n_samples="auto"`` stopped: ``info["stopping"]`` in words. A file may hold anything."""

import math
from collections.abc import Mapping
from typing import Any

from ..._runtime.progress import duration
from ..._runtime.validation import as_number
from .agreement import from_info
from .watched import in_words

CONVERGED, ITERATIONS_SPENT, SECONDS_SPENT, INTERRUPTED = "converged", "max_iterations", "max_seconds", "interrupted"
REASONS = (CONVERGED, ITERATIONS_SPENT, SECONDS_SPENT, INTERRUPTED)


def what_to_increase(stopping: Any) -> tuple[str, ...]:
    """The arguments of `fit` that make a run longer."""
    by_clock = isinstance(stopping, Mapping) and stopping.get("reason") == SECONDS_SPENT
    return (SECONDS_SPENT,) if by_clock else ("n_warmup", "n_samples")


def in_a_line(stopping: Any, n_warmup: Any = None) -> str | None:
    """Such as "converged after 420 iterations per chain, 30 of them warm-up: R-hat at most 1.012, …"; or None."""
    if not isinstance(stopping, Mapping) or stopping.get("reason") not in REASONS:
        return None
    iterations, warmup = as_number(stopping.get("iterations")), as_number(n_warmup)
    thin, seconds = as_number(stopping.get("thin")), as_number(stopping.get("max_seconds"))
    if not 0 <= iterations < math.inf:
        return None
    line = {
        CONVERGED: "converged",
        ITERATIONS_SPENT: "stopped at the maximum number of iterations",
        SECONDS_SPENT: f"stopped at max_seconds{f' ({duration(seconds)})' if seconds > 0 else ''}",
        INTERRUPTED: "interrupted",
    }[stopping["reason"]]
    line += f" after {iterations:,.0f} iterations per chain"
    line += f", {warmup:,.0f} of them warm-up" if warmup >= 0 else ""
    line += f", thinned by {thin:.0f}" if thin > 1 else ""
    figures = "" if stopping["reason"] == INTERRUPTED else _figures(stopping)
    return f"{line}: {figures}" if figures else line


def _figures(stopping: Mapping[str, Any]) -> str:
    said = []
    r_hat, ess, topology = (as_number(stopping.get(name)) for name in ("r_hat", "ess", "topology_ess"))
    if r_hat > 0:
        said.append(f"R-hat at most {r_hat:.3f} ({_of(stopping, 'r_hat', r_hat, 1)})")
    if ess > 0:
        said.append(f"effective sample sizes at least {ess:.0f} ({_of(stopping, 'ess', ess, -1)})")
    if topology > 0:
        said.append(f"{topology:.0f} of the topologies")
    line = ", ".join(said)
    agreement = from_info(stopping)
    return line if agreement is None else f"{line}; {agreement}"


def _of(stopping: Mapping[str, Any], which: str, value: float, sign: int) -> str:
    """The scalar that a figure is of, and its target where it was missed."""
    name = str(stopping.get(f"of_{which}", ""))[:60]
    target = as_number(stopping.get(f"{which}_target"))
    return in_words(name) + (f"; target {target:g}" if sign * value > sign * target else "")
