"""Figures of convergence beside their limits, in sentences, for warnings, the report and the command line."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.formatting import count
from ..._runtime.validation import as_number
from ...errors import ConvergenceWarning, warn_of_result
from ...numerics.weighted import effective_sample_size
from ..posterior import Posterior
from . import convergence
from .convergence import Figure, chains_agree

#: What poor figures mean, by the grade of the clusters.
_MEANING = {
    "good": "their clusters are the same, but times and parameters may change in a longer run",
    "poor": "they disagree about the clusters, which may change in a longer run",
    "unknown": "clusters, times and parameters may change in a longer run",
}
OF_SMALL_GROUPS = {"split_frequency_sd", "topology_ess"}  # no run waits for them


class Summary(NamedTuple):
    """All figures, and what they come to: a heading, a sentence and a grade."""

    heading: str
    text: str
    grade: str
    figures: list[Figure]
    scalars: Mapping[str, Mapping[str, float]]  # {name: {"r_hat", "ess"}} of a chain's scalars


def summarize(posterior: Posterior) -> Summary:
    """Summarize the convergence of chains or weighted particles."""
    n_trees, n_chains = len(posterior), len(np.unique(posterior.draws.chain))
    figures: list[Figure] = []
    scalars: dict[str, dict[str, float]] = {}
    if n_trees == 1 or not (posterior.draws.is_chain or not posterior.draws.has_equal_weights):
        text = "One tree, or trees of which it is not known whether they are independent; coaltree.fit gives chains."
        return Summary("Convergence is unknown", text, "unknown", figures, scalars)
    if not posterior.draws.has_equal_weights:
        figures = [Figure("weighted_ess", effective_sample_size(posterior.weights))]
        text = f"{count(n_trees, 'weighted tree')}."
    else:
        scalars = convergence.figures(posterior)
        agreement = chains_agree(posterior)
        figures = [
            *convergence.worst_figures(scalars),
            *([] if agreement is None else [Figure("clusters", agreement.stability_difference)]),
            Figure("split_frequency_sd", convergence.split_frequency_sd_of(posterior)),
            Figure("topology_ess", convergence.topology_ess_of(posterior)),
        ]
        text = f"{count(n_chains, 'chain')} of {count(n_trees // n_chains, 'tree')}."
        text += f" {sentence[:1].upper()}{sentence[1:]}." if (sentence := ending(posterior.info)) else ""
    grades = {figure.grade for figure in figures if figure.key not in OF_SMALL_GROUPS}
    if "poor" not in grades and any(figure.grade == "poor" for figure in figures):
        text += " Clusters and scalars have converged, supports of small groups have not."
    if "poor" in grades:
        return Summary("The run may be too short", text, "poor", figures, scalars)
    if "good" in grades:
        return Summary("No sign of poor convergence", text, "good", figures, scalars)
    return Summary("Convergence is unknown", text, "unknown", figures, scalars)


def warn_if_poor(figures: Iterable[Figure], increase: tuple[str, ...], stacklevel: int = 2) -> None:
    """Warn of the figures beyond their limits; `increase` are the arguments of `fit` that would help."""
    figures = list(figures)
    poor = tuple(str(one) for one in figures if one.grade == "poor" or (one.key, one.grade) == ("r_hat", "unknown"))
    if poor:
        of_clusters = next((one.grade for one in figures if one.key == "clusters"), "unknown")
        advice = f"increase {' and '.join(increase)}, or continue this run with start=posterior"
        message = f"the chains have not converged: {_MEANING[of_clusters]}. What to do: {advice}."
        warn_of_result(ConvergenceWarning(message, poor, increase), stacklevel=stacklevel + 1)


def ending(info: Mapping[str, Any]) -> str:
    """How a run ended, such as "converged after 420 iterations per chain"; a file may hold anything."""
    stopping = info.get("stopping")
    if not isinstance(stopping, Mapping) or not isinstance(stopping.get("reason"), str):
        return ""
    iterations, warmup, thin = map(as_number, (stopping.get("iterations"), info.get("n_warmup"), stopping.get("thin")))
    if not 0 <= iterations < math.inf:
        return ""
    reason = stopping["reason"][:20]
    named = {"max_iterations": "the maximum number of iterations"}.get(reason, reason)
    line = f"stopped at {named}" if reason.startswith("max") else reason
    line += f" after {iterations:,.0f} iterations per chain"
    line += f", {warmup:,.0f} of them warm-up" if warmup >= 0 else ""
    return line + (f", thinned by {thin:.0f}" if thin > 1 else "")
