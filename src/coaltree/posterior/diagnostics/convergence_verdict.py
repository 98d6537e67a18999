"""Judge the convergence of a posterior: every diagnostic with a grade and advice, and a verdict on all of them."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.formatting import count, listed, number, percent
from ...numerics.weighted import effective_sample_size
from ..posterior import Posterior
from . import convergence, resamples
from .agreement import MIN_CLADE_SHARE, ChainAgreement, same_clusters
from .stop_reason import in_a_line
from .watched import in_words, is_covariance

NAMES = {
    "one_tree": "Trees",
    "unknown_origin": "Effective sample size",
    "weighted_ess": "Effective sample size",
    "log_evidence": "Log evidence",
    "r_hat": "R-hat",
    "split_frequency_sd": "Standard deviation of split frequencies",
    "ess": "Effective sample size",
    "entry_ess": "Effective sample size of the covariance's entries",
    "topology_ess": "Effective sample size of topologies",
    "clusters": "Clusters of the chains",
    "support_difference": "Supports in the chains",
    "stop_reason": "Sampling",
    "support_error": "Standard error of supports",
    "drift": "Drift within resamples",
}
HEADINGS = {
    "good": "No sign of poor convergence",
    "fair": "The run may be too short",
    "poor": "The run has not converged",
    "unknown": "Convergence is unknown",
}
_RANK = {"plain": -1, "good": 0, "unknown": 1, "fair": 2, "poor": 3}
_FIT = "Use coaltree.fit(X), which samples many trees in several chains."
_LONGER = "Run longer: increase max_iterations (or n_warmup and n_samples), or continue with fit(…, start=posterior)."


class Finding(NamedTuple):
    """One diagnostic: its value, how good that is, and what to do."""

    key: str
    value: str
    grade: str  # good, fair, poor, unknown, or plain where there is nothing to grade
    advice: str = ""

    @property
    def name(self) -> str:
        """The diagnostic in words."""
        return NAMES[self.key]


class Verdict(NamedTuple):
    """All findings, and the answer as a heading and a sentence."""

    heading: str
    text: str
    grade: str
    findings: list[Finding]
    scalars: dict[str, Any]  # {name: {"r_hat", "ess"}} of a chain's scalars


def judge(posterior: Posterior) -> Verdict:
    """Judge a posterior of chains, of weighted particles, or of a single tree."""
    if len(posterior) == 1:
        text = "A single tree says nothing about uncertainty."
        return Verdict(
            "Convergence cannot be checked", text, "unknown", [Finding("one_tree", "1", "unknown", _FIT)], {}
        )
    if posterior.is_resampled:
        return _of_resamples(posterior)
    if posterior.is_chain and posterior.has_equal_weights:
        return _of_chains(posterior)
    if posterior.has_equal_weights:
        finding = Finding("unknown_origin", count(len(posterior), "tree"), "unknown", _FIT)
        origin = "All trees have the same weight; whether they are independent is not recorded."
        return _verdict([finding], f"{origin} Trees from coaltree.fit can be checked.", {})
    return _of_particles(posterior)


def _of_particles(posterior: Posterior) -> Verdict:
    ess = effective_sample_size(posterior.weights)
    value = f"{number(ess)} of {count(len(posterior), 'tree')} ({percent(ess / len(posterior))})"
    limits = (-convergence.ESS_BELOW, -10)
    findings = [_graded("weighted_ess", -ess, limits, value, "Use more particles, or the regraft sampler.")]
    if posterior.log_evidence is not None:
        findings.append(Finding("log_evidence", number(posterior.log_evidence, 6), "plain"))
    return _verdict(
        findings, f"The {len(posterior):,} weighted trees have an effective sample size of {number(ess)}.", {}
    )


def _of_resamples(posterior: Posterior) -> Verdict:
    found = resamples.figures(posterior)
    n_resamples, ess = found["n_resamples"], found["topology_ess"]
    more = "Use more of them (n_resamples), or join posteriors with other seeds (coaltree.concat)."
    findings = [
        _graded(
            "support_error",
            found["support_error"],
            (resamples.ERROR_ABOVE, resamples.ERROR_BAD),
            f"{found['support_error']:.3f} ({count(n_resamples, 'resample')} of columns)",
            f"Supports are rough. {more}",
            unknown="No group has a support of 10 %.",
        ),
        _graded(
            "drift",
            abs(found["drift"]),
            resamples.drift_limits(n_resamples),
            f"{found['drift']:.2f} standard deviations",
            "The warm-up was too short: increase n_warmup.",
        ),
        Finding("topology_ess", f"{number(ess)} of {len(posterior):,}", "plain"),
    ]
    n_trees = count(len(posterior) // n_resamples, "tree")
    return _verdict(findings, f"{count(n_resamples, 'resample')} of {n_trees}: {resamples.MEANING}.", {})


def _of_chains(posterior: Posterior) -> Verdict:
    figures = convergence.figures(posterior)
    scalars = {name: value for name, value in figures.items() if isinstance(value, dict)}
    n_chains, n_draws = len(np.unique(posterior.chain)), len(posterior)
    findings = [
        *_of_scalars(scalars, n_chains, n_draws),
        *_of_trees(figures["split_frequency_sd"], posterior.topology_ess, n_draws),
        *_of_answer(posterior.agreement()),
    ]
    ending = in_a_line(posterior.info.get("stopping"), posterior.info.get("n_warmup"))
    if ending is not None:
        findings.append(Finding("stop_reason", ending, "plain"))
    return _verdict(findings, f"{count(n_chains, 'chain')} of {count(n_draws // n_chains, 'tree')}.", scalars)


def _of_scalars(scalars: dict[str, Any], n_chains: int, n_draws: int) -> list[Finding]:
    judged = {name: value for name, value in scalars.items() if not is_covariance(name)}
    of_r_hat, r_hat = _extreme(judged, "r_hat", max)
    of_ess, ess = _extreme(judged, "ess", min)
    _, entry = _extreme({name: value for name, value in scalars.items() if is_covariance(name)}, "ess", min)
    ess = min(ess, n_draws)
    one_chain = "There is only one chain; two or more (n_chains=2) would make this a stronger test."
    good = one_chain if n_chains == 1 else ""
    r_hat_limits = (convergence.R_HAT_ABOVE, convergence.R_HAT_BAD)
    enough = (-convergence.ESS_BELOW, -convergence.ESS_BAD)
    enough_of_entries = (-convergence.ENTRY_ESS_BELOW, -convergence.ENTRY_ESS_BAD)
    rough = f"Intervals are rough. {_LONGER}"
    found = [
        _graded("r_hat", r_hat, r_hat_limits, f"{r_hat:.3f} (largest: {of_r_hat})", _LONGER, good=good),
        _graded("ess", -ess, enough, f"{number(ess)} of {n_draws:,} (smallest: {of_ess})", rough),
    ]
    if not math.isnan(entry):
        value = f"{number(min(entry, n_draws))} of {n_draws:,} (of the slowest entry)"
        found.append(_graded("entry_ess", -entry, enough_of_entries, value, rough))
    return found


def _of_trees(split_sd: float, topology_ess: float, n_draws: int) -> list[Finding]:
    sd_limits = (convergence.SPLIT_SD_ABOVE, convergence.SPLIT_SD_BAD)
    enough = (-convergence.TOPOLOGY_ESS_BELOW, -convergence.TOPOLOGY_ESS_BAD)
    rough = f"Supports are rough: they may be off by ± {percent(2 * np.nan_to_num(split_sd))}. {_LONGER}"
    two_chains = "This needs at least two chains: run with n_chains=2."
    value = f"{number(topology_ess)} of {n_draws:,}"
    return [
        _graded("split_frequency_sd", split_sd, sd_limits, f"{split_sd:.3f}", rough, unknown=two_chains),
        _graded("topology_ess", -topology_ess, enough, value, f"Supports are rough. {_LONGER}"),
    ]


def _of_answer(agreement: ChainAgreement | None) -> list[Finding]:
    """Whether the chains give the same clusters, and the same supports."""
    if agreement is None:
        return []
    sentence = same_clusters(agreement)
    value = sentence[:1].upper() + sentence[1:]
    clusters = Finding("clusters", value, "plain" if agreement.n_clusters == 1 else "good")
    if not agreement.gives_same_clusters:
        clusters = Finding("clusters", value, "fair", f"Clusters may come out differently in another run. {_LONGER}")
    limits = (convergence.SUPPORT_ABOVE, convergence.SUPPORT_BAD)
    difference = agreement.support_difference
    of_groups = f"of groups of at least {percent(MIN_CLADE_SHARE)} of the leaves"
    value = f"{difference:.2f} (largest difference beyond chance, {of_groups})"
    return [clusters, _graded("support_difference", difference, limits, value, f"Supports are rough. {_LONGER}")]


def _graded(
    key: str,
    figure: float,
    limits: tuple[float, float],
    value: str,
    advice: str,
    *,
    good: str = "",
    unknown: str = "Too few draws to tell; run longer.",
) -> Finding:
    """Grade a figure of which less is better by two limits, that of good ones and that of fair ones."""
    if not math.isfinite(figure):
        return Finding(key, "–", "unknown", unknown)
    grade = "good" if figure <= limits[0] else "fair" if figure <= limits[1] else "poor"
    return Finding(key, value, grade, good if grade == "good" else advice)


def _verdict(findings: list[Finding], text: str, scalars: dict[str, Any]) -> Verdict:
    grade = max((finding.grade for finding in findings), key=_RANK.__getitem__)
    if grade == "unknown" and any(finding.grade == "good" for finding in findings):
        grade = "good"
    if grade in ("fair", "poor"):
        names = [finding.name for finding in findings if finding.grade == grade]
        lower = listed([name if name == "R-hat" else name.lower() for name in names])
        text = f"See {lower} below before you rely on details of this page."
    elif grade == "good":
        text = f"{text} All diagnostics are good."
    return Verdict(HEADINGS[grade], text, grade, findings, scalars)


def _extreme(scalars: dict[str, Any], key: str, choose: Callable[..., str]) -> tuple[str, float]:
    """Which scalar is worst, in words, and its value; NaN where none has one."""
    finite = {name: float(value[key]) for name, value in scalars.items() if math.isfinite(value[key])}
    worst = choose(finite, key=finite.__getitem__, default="")
    return in_words(worst), finite.get(worst, math.nan)
