"""Have the chains of a fit converged? The figures and their limits.

There is one set of limits: where a run with ``n_samples="auto"`` may stop is where nothing is warned of.

    scalars (`watched`)     split R-hat, rank-normalised, and bulk effective sample size
    covariance and          the effective sample size of the slowest of their numbers, which may be half as large: they
    noise level             are slow where noise and short branches explain the same, which changes neither tree nor
                            clusters, and nothing that is shown depends on one alone; chains apart have few, too
    clusters                the difference between chains in the stability of the clusters shown (`chains_agree`);
                            computed once all of the above are within bounds

The topologies' effective sample size, and the average standard deviation of clade frequencies across chains, say how
far supports of small groups are off; no run waits for them. Where scalars are poor, supports on which the chains differ
are not shown (`shown_support`).
"""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._runtime.formatting import beside_limit, count
from ..._runtime.once import once
from ..._runtime.validation import as_number
from ...errors import ConvergenceWarning, warn_of_result
from ...numerics.ess import MIN_DRAWS, mixing
from ...numerics.weighted import effective_sample_size
from ...tree import Tree
from ..clusters.closest_clades import closest_clades
from ..trees.clades import clade_table, frequencies
from ..trees.transfer_support import draws_for, transfers_of_draws
from .ess import by_chain, last_of_chains, topology_ess
from .watched import evenly_spaced, in_words, is_of_covariance_or_noise, watched

if TYPE_CHECKING:
    from ..posterior import Posterior


class Limit(NamedTuple):
    """What a figure is called, and where good values end."""

    name: str
    limit: float
    is_upper: bool  # whether larger values are poor, else smaller ones


#: A run may stop, and is not warned of, within those of R-hat, effective sample sizes and clusters.
LIMITS = {
    "r_hat": Limit("R-hat", 1.05, True),
    "ess": Limit("effective sample size", 50, False),
    "parameter_ess": Limit("effective sample size", 25, False),  # of covariance and noise
    "clusters": Limit("difference in the stability of clusters between chains", 0.1, True),  # grades: 0.25 apart
    "split_frequency_sd": Limit("difference of clade frequencies between chains", 0.05, True),
    "topology_ess": Limit("effective sample size of topologies", 200, False),  # supports to 0.035, one s.e.
    "weighted_ess": Limit("effective sample size of the weighted trees", 50, False),
}
MAX_ENTRIES = 200  # of an array parameter: a large matrix is judged by a selection of its entries
#: What poor figures mean, by the grade of the clusters.
_MEANING = {
    "good": "their clusters are the same, but times, parameters and supports may change in a longer run",
    "poor": "they disagree about the clusters, which may change in a longer run",
    "unknown": "clusters, times and parameters may change in a longer run",
}
_HEADINGS = {
    "good": "No sign of poor convergence",
    "poor": "The run may be too short",
    "unknown": "Convergence is unknown",
}
OF_SMALL_GROUPS = {"split_frequency_sd", "topology_ess"}  # no run waits for them


class Figure(NamedTuple):
    """One figure of convergence; `str` gives it beside its limit in a sentence."""

    key: str
    value: float  # NaN where it cannot be computed
    of: str = ""  # what it is the worst of, in words

    @property
    def name(self) -> str:
        """What is measured, and of what."""
        return f"{LIMITS[self.key].name}{f' of {self.of}' if self.of else ''}"

    @property
    def grade(self) -> str:
        """Whether the figure is "good", "poor" or "unknown"."""
        _, limit, is_upper = LIMITS[self.key]
        if math.isnan(self.value):
            return "unknown"
        return "good" if (self.value <= limit if is_upper else self.value >= limit) else "poor"

    @property
    def beside_limit(self) -> str:
        """The value and the limit, such as "1.30 (at most 1.05)"."""
        _, limit, is_upper = LIMITS[self.key]
        if math.isnan(self.value):
            return "unknown, of one chain, too few draws or draws that never change"
        side, digits = ("most", 2) if is_upper else ("least", 0)
        return f"{beside_limit(self.value, limit, digits)} (at {side} {limit:.3g})"

    def __str__(self) -> str:
        return f"{self.name} is {self.beside_limit}"


def series(post: "Posterior") -> dict[str, np.ndarray]:
    """What is `watched` from draw to draw, (T, …)."""
    return watched(post.draws.times, post.log_joint, post.theta)


def figures(post: "Posterior") -> dict[str, dict[str, float]]:
    """Return {name: {"r_hat": …, "ess": …}} of what is watched; of an array parameter the worst element counts."""
    return {name: scalar_figures(draws, post.draws.chain) for name, draws in series(post).items()}


def worst_figures(by_name: Mapping[str, Mapping[str, float]]) -> list[Figure]:
    """The worst of `figures`: those for which a run waits, before it compares the clusters."""
    parameters = [name for name in by_name if is_of_covariance_or_noise(name)]
    scalars = [name for name in by_name if name not in parameters]
    worst = [_worst("r_hat", by_name, scalars, max), _worst("ess", by_name, scalars, min)]
    return [*worst, _worst("ess", by_name, parameters, min)._replace(key="parameter_ess")] if parameters else worst


def _worst(key: str, by_name: Mapping[str, Mapping[str, float]], names: list[str], choose: Any) -> Figure:
    known = [(by_name[name][key], name) for name in names if not math.isnan(by_name[name][key])]
    value, name = choose(known, default=(math.nan, ""))
    return Figure(key, float(value), in_words(name))


def scalar_figures(draws: np.ndarray, chain: np.ndarray) -> dict[str, float]:
    """Largest R-hat and smallest ESS; NaN where they cannot be had (short chains, or values that never change)."""
    flat = draws.reshape(len(draws), -1)
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
    if not (post.draws.is_chain and post.draws.has_equal_weights):
        return effective_sample_size(post.weights)
    return topology_ess(clade_table(post).ids, post.draws.chain)


def split_frequency_sd_of(post: "Posterior", min_frequency: float = 0.1) -> float:
    """Average over clades of the standard deviation (n - 1 in the denominator) of their frequency across chains.

    Clades count that reach `min_frequency` in some chain, the whole leaf set apart, which has no choice. NaN for one.
    """
    table, weights, chains = clade_table(post), post.weights, by_chain(post.draws.chain)
    if len(chains) < 2:
        return math.nan
    of_chains = [(table._replace(ids=table.ids[draws]), weights[draws] / weights[draws].sum()) for draws in chains]
    frequency = np.stack([frequencies(*of_chain) for of_chain in of_chains])
    counts = frequency.max(axis=0) >= min_frequency - 1e-12
    counts[table.ids[0, -1]] = False
    return float(frequency[:, counts].std(axis=0, ddof=1).mean()) if counts.any() else 0.0


class ChainAgreement(NamedTuple):
    """How well the chains of a posterior agree on its clusters."""

    n_clusters: int  #: the number of clusters that were compared, the suggested one (2, where that is 1)
    stability_difference: float  #: largest difference between two chains in the stability of one of these clusters


@once
def chains_agree(posterior: "Posterior") -> ChainAgreement | None:
    """Compare the chains; None where there are no two."""
    chains = by_chain(posterior.draws.chain)
    is_series = posterior.draws.is_chain and posterior.draws.has_equal_weights
    if not is_series or len(chains) < 2:
        return None
    k = max(posterior.suggest_n_clusters().n_clusters, 2)
    similarity = closest_clades(posterior.draws.children, np.asarray(posterior.cut(k))).similarity
    means = np.array([similarity[draws].mean(axis=0) for draws in chains])
    return ChainAgreement(k, float(np.ptp(means, axis=0).max()))


@once
def shown_support(posterior: "Posterior", tree: Tree) -> np.ndarray:
    """Transfer supports (n-1,), NaN where chains that have not converged differ on a clade as no cluster may."""
    support = np.asarray(posterior.clade_support(tree, kind="transfer"))
    chain = posterior.draws.chain[draws_for(posterior, tree)[0]]
    if len(by_chain(chain)) < 2 or is_converged(worst_figures(figures(posterior))):
        return support
    has_clade = transfers_of_draws(posterior, tree).closest >= 0
    shares = np.stack([has_clade[:, draws].mean(axis=1) for draws in by_chain(chain)])
    return np.where(np.ptp(shares, axis=0) > LIMITS["clusters"].limit, np.nan, support)


def times_more_draws(figures: Iterable[Figure]) -> float:
    """How many times as many draws would meet the limits of scalars, if errors fall as they should; 1 if they are met.

    A figure that does not exist, of what never changes, is no obstacle.
    """
    factors = [1.0]
    for key, value, _ in figures:
        limit = LIMITS[key].limit
        factors.append((value - 1.0) / (limit - 1.0) if key == "r_hat" else limit / value)
    return max(factor for factor in factors if not math.isnan(factor))


def is_converged(figures: Iterable[Figure]) -> bool:
    """Whether no figure is beyond its limit."""
    return all(figure.grade != "poor" for figure in figures)


# In sentences, for warnings, the report and the command line


class Summary(NamedTuple):
    """All figures, and what they come to: a heading, a sentence and a grade."""

    heading: str
    text: str
    grade: str
    figures: list[Figure]
    scalars: Mapping[str, Mapping[str, float]]  # {name: {"r_hat", "ess"}} of a chain's scalars


def summarize(posterior: "Posterior") -> Summary:
    """Summarize the convergence of chains or weighted particles."""
    n_trees, n_chains = len(posterior), len(np.unique(posterior.draws.chain))
    shown: list[Figure] = []
    scalars: dict[str, dict[str, float]] = {}
    if n_trees == 1 or not (posterior.draws.is_chain or not posterior.draws.has_equal_weights):
        text = "One tree, or trees of which it is not known whether they are independent; coaltree.fit gives chains."
        return Summary(_HEADINGS["unknown"], text, "unknown", shown, scalars)
    if not posterior.draws.has_equal_weights:
        shown = [Figure("weighted_ess", effective_sample_size(posterior.weights))]
        text = f"{count(n_trees, 'weighted tree')}."
    else:
        scalars = figures(posterior)
        agreement = chains_agree(posterior)
        shown = [
            *worst_figures(scalars),
            *([] if agreement is None else [Figure("clusters", agreement.stability_difference)]),
            Figure("split_frequency_sd", split_frequency_sd_of(posterior)),
            Figure("topology_ess", topology_ess_of(posterior)),
        ]
        text = f"{count(n_chains, 'chain')} of {count(n_trees // n_chains, 'tree')}."
        text += f" {sentence[:1].upper()}{sentence[1:]}." if (sentence := ending(posterior.info)) else ""
    grades = {figure.grade for figure in shown if figure.key not in OF_SMALL_GROUPS}
    if "poor" not in grades and any(figure.grade == "poor" for figure in shown):
        text += " Clusters and scalars have converged, supports of small groups have not."
    grade = next((grade for grade in ("poor", "good") if grade in grades), "unknown")
    return Summary(_HEADINGS[grade], text, grade, shown, scalars)


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
