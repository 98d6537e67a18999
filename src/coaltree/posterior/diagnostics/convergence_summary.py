"""Figures of convergence beside their limits, in sentences, for warnings, the report and the command line."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.formatting import beside_limit, count
from ..._runtime.validation import as_number
from ...errors import ConvergenceWarning, warn_of_result
from ...numerics.weighted import effective_sample_size
from ..posterior import Posterior
from . import convergence
from .agreement import DIFFERENCE_ABOVE, ChainAgreement, chains_agree
from .watched import in_words, is_covariance

#: Name, limit, whether values above it are too large (else those below are too small), and digits after the point.
_FIGURES = {
    "r_hat": ("R-hat", convergence.R_HAT_ABOVE, True, 2),
    "ess": ("effective sample size", convergence.ESS_BELOW, False, 0),
    "entry_ess": (
        "effective sample size of the slowest entry of the covariance",
        convergence.ENTRY_ESS_BELOW,
        False,
        0,
    ),
    "split_frequency_sd": ("difference of clade frequencies between chains", convergence.SPLIT_SD_ABOVE, True, 2),
    "topology_ess": ("effective sample size of topologies", convergence.TOPOLOGY_ESS_BELOW, False, 0),
    "clusters": ("difference in the stability of clusters between chains", DIFFERENCE_ABOVE, True, 2),
    "weighted_ess": ("effective sample size of the weighted trees", convergence.ESS_BELOW, False, 0),
}
#: What poor figures mean, by the grade of the clusters.
_MEANING = {
    "good": "their clusters are the same, but times and parameters may change in a longer run",
    "poor": "they disagree about the clusters, which may change in a longer run",
    "unknown": "clusters, times and parameters may change in a longer run",
}
OF_SMALL_GROUPS = {"split_frequency_sd", "topology_ess"}  # no run waits for them
LIMITS = {key: limit for key, (_, limit, _, _) in _FIGURES.items()}


class Figure(NamedTuple):
    """One figure of convergence; `str` gives it beside its limit in a sentence."""

    key: str
    value: float  # NaN where it cannot be computed
    of: str = ""  # what it is the worst of, in words

    @property
    def name(self) -> str:
        """What is measured, and of what."""
        return f"{_FIGURES[self.key][0]}{f' of {self.of}' if self.of else ''}"

    @property
    def limit(self) -> float:
        """Where good values end."""
        return _FIGURES[self.key][1]

    @property
    def grade(self) -> str:
        """Whether the figure is "good", "poor" or "unknown"."""
        if math.isnan(self.value):
            return "unknown"
        is_upper = _FIGURES[self.key][2]
        return "good" if (self.value <= self.limit if is_upper else self.value >= self.limit) else "poor"

    @property
    def beside_limit(self) -> str:
        """The value and the limit, such as "1.30 (at most 1.05)"."""
        _, _, is_upper, digits = _FIGURES[self.key]
        if math.isnan(self.value):
            return "unknown, of one chain, too few draws or draws that never change"
        return f"{beside_limit(self.value, self.limit, digits)} (at {'most' if is_upper else 'least'} {self.limit:.3g})"

    def __str__(self) -> str:
        return f"{self.name} is {self.beside_limit}"


class Summary(NamedTuple):
    """All figures, and what they come to: a heading, a sentence and a grade."""

    heading: str
    text: str
    grade: str
    figures: list[Figure]
    scalars: Mapping[str, Any]  # {name: {"r_hat", "ess"}} of a chain's scalars


def summarize(posterior: Posterior) -> Summary:
    """Summarize the convergence of chains or weighted particles."""
    n_trees, n_chains = len(posterior), len(np.unique(posterior.draws.chain))
    figures: list[Figure] = []
    scalars: dict[str, Any] = {}
    if n_trees == 1 or not (posterior.draws.is_chain or not posterior.draws.has_equal_weights):
        text = "One tree, or trees of which it is not known whether they are independent; coaltree.fit gives chains."
        return Summary("Convergence is unknown", text, "unknown", figures, scalars)
    if not posterior.draws.has_equal_weights:
        figures = [Figure("weighted_ess", effective_sample_size(posterior.weights))]
        text = f"{count(n_trees, 'weighted tree')}."
    else:
        by_name = convergence.figures(posterior)
        scalars = {name: value for name, value in by_name.items() if isinstance(value, dict)}
        figures = [
            *chain_figures(by_name, chains_agree(posterior)),
            Figure("split_frequency_sd", float(by_name["split_frequency_sd"])),
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


def chain_figures(by_name: Mapping[str, Any], agreement: ChainAgreement | None = None) -> list[Figure]:
    """The worst of the figures of `convergence.figures`, and whether chains agree on the clusters."""
    scalars = {name: value for name, value in by_name.items() if isinstance(value, Mapping)}
    judged = [name for name in scalars if not is_covariance(name)]
    figures = [_worst("r_hat", scalars, judged, max), _worst("ess", scalars, judged, min)]
    entries = [name for name in scalars if is_covariance(name)]
    if entries:
        figures.append(_worst("ess", scalars, entries, min)._replace(key="entry_ess", of=""))
    if agreement is not None:
        figures.append(Figure("clusters", agreement.stability_difference))
    return figures


def _worst(key: str, scalars: Mapping[str, Any], names: Iterable[str], choose: Any) -> Figure:
    known = [(float(scalars[name][key]), name) for name in names if not math.isnan(scalars[name][key])]
    if not known:
        return Figure(key, math.nan)
    value, name = choose(known)
    return Figure(key, value, in_words(name))


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
