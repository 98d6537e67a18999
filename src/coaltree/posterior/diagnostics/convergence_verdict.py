"""Judge the convergence of a posterior: every diagnostic with a grade and advice, and a verdict on all of them."""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.formatting import count, listed, number, percent
from ...numerics.weighted import effective_sample_size
from ..posterior import Posterior
from . import convergence, resamples
from .agreement import DIFFERENCE_ABOVE, DIFFERENCE_BAD, ChainAgreement
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
    "clusters": "Clusters in the chains",
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
_LIMITS = {  # of good figures, and of fair ones; negative where more is better
    "weighted_ess": (-convergence.ESS_BELOW, -10),
    "r_hat": (convergence.R_HAT_ABOVE, convergence.R_HAT_BAD),
    "split_frequency_sd": (convergence.SPLIT_SD_ABOVE, convergence.SPLIT_SD_BAD),
    "ess": (-convergence.ESS_BELOW, -convergence.ESS_BAD),
    "entry_ess": (-convergence.ENTRY_ESS_BELOW, -convergence.ENTRY_ESS_BAD),
    "topology_ess": (-convergence.TOPOLOGY_ESS_BELOW, -convergence.TOPOLOGY_ESS_BAD),
    "clusters": (DIFFERENCE_ABOVE, DIFFERENCE_BAD),
    "support_error": (resamples.ERROR_ABOVE, resamples.ERROR_BAD),
}
_RANK = {"plain": -1, "good": 0, "unknown": 1, "fair": 2, "poor": 3}
_FIT = "Use coaltree.fit(X), which samples many trees in several chains."
_LONGER = "Run longer: increase n_warmup and n_samples, or continue with fit(…, start=posterior)."


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
        text, findings = "A single tree says nothing about uncertainty.", [Finding("one_tree", "1", "unknown", _FIT)]
        return Verdict("Convergence cannot be checked", text, "unknown", findings, {})
    if posterior.is_resampled:
        return _of_resamples(posterior)
    if posterior.is_chain and posterior.has_equal_weights:
        return _of_chains(posterior)
    if posterior.has_equal_weights:
        finding = Finding("unknown_origin", count(len(posterior), "tree"), "unknown", _FIT)
        origin = "All trees have the same weight; whether they are independent is not recorded."
        return _verdict([finding], f"{origin} Trees from coaltree.fit can be checked.")
    return _of_particles(posterior)


def _of_particles(posterior: Posterior) -> Verdict:
    ess = effective_sample_size(posterior.weights)
    value = f"{number(ess)} of {count(len(posterior), 'tree')} ({percent(ess / len(posterior))})"
    findings = [_graded("weighted_ess", -ess, value, "Use more particles, or the regraft sampler.")]
    if posterior.log_evidence is not None:
        findings.append(Finding("log_evidence", number(posterior.log_evidence, 6), "plain"))
    return _verdict(findings, f"The {len(posterior):,} weighted trees have an effective sample size of {number(ess)}.")


def _of_resamples(posterior: Posterior) -> Verdict:
    found = resamples.figures(posterior)
    n_resamples, error, drift = found["n_resamples"], found["support_error"], found["drift"]
    more = "Supports are rough. Use more of them (n_resamples), or join posteriors with other seeds (coaltree.concat)."
    value = f"{error:.3f} ({count(n_resamples, 'resample')} of columns)"
    longer, sds = "The warm-up was too short: increase n_warmup.", f"{drift:.2f} standard deviations"
    findings = [
        _graded("support_error", error, value, more, unknown="No group has a support of 10 %."),
        _graded("drift", abs(drift), sds, longer, limits=resamples.drift_limits(n_resamples)),
        Finding("topology_ess", f"{number(found['topology_ess'])} of {len(posterior):,}", "plain"),
    ]
    n_trees = count(len(posterior) // n_resamples, "tree")
    return _verdict(findings, f"{count(n_resamples, 'resample')} of {n_trees}: {resamples.MEANING}.")


def _of_chains(posterior: Posterior) -> Verdict:
    figures = convergence.figures(posterior)
    scalars = {name: value for name, value in figures.items() if isinstance(value, dict)}
    n_chains, n_draws = len(np.unique(posterior.chain)), len(posterior)
    findings = [
        *_of_scalars(scalars, n_chains, n_draws),
        *_of_trees(figures["split_frequency_sd"], posterior.topology_ess, n_draws),
        *_of_clusters(posterior.agreement()),
    ]
    ending = in_a_line(posterior.info.get("stopping"), posterior.info.get("n_warmup"))
    if ending is not None:
        findings.append(Finding("stop_reason", ending, "plain"))
    return _verdict(findings, f"{count(n_chains, 'chain')} of {count(n_draws // n_chains, 'tree')}.", scalars)


def _of_scalars(scalars: dict[str, Any], n_chains: int, n_draws: int) -> list[Finding]:
    def finite(key: str, *, of_covariance: bool = False) -> list[tuple[float, str]]:
        values = {name: float(value[key]) for name, value in scalars.items() if is_covariance(name) == of_covariance}
        return [(value, in_words(name)) for name, value in values.items() if math.isfinite(value)]

    none = [(math.nan, "")]
    r_hat, of_r_hat = max(finite("r_hat") or none, key=lambda found: found[0])
    ess, of_ess = min(finite("ess") or none, key=lambda found: found[0])
    one_chain = "There is only one chain; two or more (n_chains=2) would make this a stronger test."
    rough, ess = f"Intervals are rough. {_LONGER}", min(ess, n_draws)
    value = f"{r_hat:.3f} (largest: {of_r_hat})"
    findings = [
        _graded("r_hat", r_hat, value, _LONGER, good=one_chain if n_chains == 1 else ""),
        _graded("ess", -ess, f"{number(ess)} of {n_draws:,} (smallest: {of_ess})", rough),
    ]
    entries = finite("ess", of_covariance=True)
    if entries:
        slowest = min(entries)[0]
        value = f"{number(min(slowest, n_draws))} of {n_draws:,} (of the slowest entry)"
        findings.append(_graded("entry_ess", -slowest, value, rough))
    return findings


def _of_trees(split_sd: float, topology_ess: float, n_draws: int) -> list[Finding]:
    rough = f"Supports are rough: they may be off by ± {percent(2 * np.nan_to_num(split_sd))}. {_LONGER}"
    two_chains = "This needs at least two chains: run with n_chains=2."
    value = f"{number(topology_ess)} of {n_draws:,}"
    return [
        _graded("split_frequency_sd", split_sd, f"{split_sd:.3f}", rough, unknown=two_chains),
        _graded("topology_ess", -topology_ess, value, f"Supports are rough. {_LONGER}"),
    ]


def _of_clusters(agreement: ChainAgreement | None) -> list[Finding]:
    if agreement is None:
        return []
    k, difference = agreement
    value = f"{difference:.2f} (largest difference in stability, of {k} clusters)"
    return [_graded("clusters", difference, value, f"Clusters may come out differently in another run. {_LONGER}")]


def _graded(
    key: str,
    figure: float,
    value: str,
    advice: str,
    *,
    good: str = "",
    unknown: str = "Too few draws to tell; run longer.",
    limits: tuple[float, float] | None = None,
) -> Finding:
    """Grade a figure of which less is better."""
    if not math.isfinite(figure):
        return Finding(key, "–", "unknown", unknown)
    best, fair = limits or _LIMITS[key]
    grade = "good" if figure <= best else "fair" if figure <= fair else "poor"
    return Finding(key, value, grade, good if grade == "good" else advice)


def _verdict(findings: list[Finding], text: str, scalars: dict[str, Any] | None = None) -> Verdict:
    grade = max((finding.grade for finding in findings), key=_RANK.__getitem__)
    if grade == "unknown" and any(finding.grade == "good" for finding in findings):
        grade = "good"
    if grade in ("fair", "poor"):
        names = [finding.name for finding in findings if finding.grade == grade]
        lower = listed([name if name == "R-hat" else name.lower() for name in names])
        text = f"See {lower} below before you rely on details of this page."
    elif grade == "good":
        text = f"{text} All diagnostics are good."
    return Verdict(HEADINGS[grade], text, grade, findings, scalars or {})
