"""Convergence diagnostics: what each one means, whether it is good enough, and what to do where it is not."""

import math
from typing import Any, NamedTuple

import numpy as np

from .._runtime.formatting import listed
from ..numerics.weighted import effective_sample_size
from ..posterior import Posterior
from ..posterior.diagnostics import convergence
from ..posterior.diagnostics.stop_reason import in_a_line
from . import drawing
from .text import count, escape, number, percent

_WORD = {"good": "Good", "fair": "Borderline", "poor": "Not good enough", "unknown": "Unknown"}
_ESS = "Effective sample size"
_RANK = {"plain": -1, "good": 0, "unknown": 1, "fair": 2, "poor": 3}


class Finding(NamedTuple):
    """One diagnostic: its name, its value, how good that is, what it means and what to do."""

    name: str
    value: str
    grade: str  # good, fair, poor, unknown, or plain where there is nothing to grade
    meaning: str
    advice: str = ""


class Verdict(NamedTuple):
    """All findings, and the answer in a sentence."""

    findings: list[Finding]
    grade: str
    heading: str
    sentence: str
    scalars: dict[str, Any]  # {name: {"r_hat", "ess"}} of a chain's scalars


def judge(posterior: Posterior) -> Verdict:
    """Look at a posterior from a chain, from weighted particles, or of a single tree."""
    if len(posterior) == 1:
        finding = Finding("Trees", "1", "unknown", "Convergence cannot be checked with a single tree.", _ASK_FOR_MORE)
        sentence = "A single tree says nothing about uncertainty."
        return Verdict([finding], "unknown", "Convergence cannot be checked", sentence, {})
    if not (posterior.is_chain and posterior.has_equal_weights):
        return _of_particles(posterior)
    return _of_chains(posterior)


_ASK_FOR_MORE = "Use coaltree.fit(X), which samples many trees in several chains."
_MORE_CHAINS = "There is only one chain; two or more (n_chains=2) would make this a stronger test."
_GO_ON = "Run longer: increase max_iterations (or n_warmup and n_samples), or continue with fit(…, start=posterior)."


def _of_particles(posterior):
    if posterior.has_equal_weights:
        meaning = "All trees have the same weight; whether they are independent is not recorded."
        finding = Finding(_ESS, count(len(posterior), "tree"), "unknown", meaning, _ASK_FOR_MORE)
        return _verdict([finding], f"{meaning} Trees from coaltree.fit can be checked.", {})
    ess = effective_sample_size(posterior.weights)
    shown = f"{number(ess)} of {count(len(posterior), 'tree')} ({percent(ess / len(posterior))})"
    grade = _grade(-ess, -convergence.ESS_BELOW, -10)
    meaning = "The trees have unequal weights. Together they carry as much information as this many with equal weights."
    findings = [_finding(_ESS, shown, grade, meaning, "Use more particles, or the regraft sampler.")]
    if posterior.log_evidence is not None:
        meaning = "Log probability of the data under this model; among models for the same data, higher is better."
        findings.append(Finding("Log evidence", number(posterior.log_evidence, 6), "plain", meaning))
    sentence = f"The {len(posterior):,} weighted trees have an effective sample size of {number(ess)}."
    return _verdict(findings, sentence, {})


def _of_chains(posterior):
    figures = convergence.figures(posterior)
    scalars = {name: value for name, value in figures.items() if isinstance(value, dict)}
    n_chains, n_draws = len(np.unique(posterior.chain)), len(posterior)
    split_sd, topology_ess = figures["split_frequency_sd"], posterior.topology_ess
    of_r_hat, r_hat = _extreme(scalars, "r_hat", max)
    of_ess, ess = _extreme(scalars, "ess", min)
    ess = min(ess, n_draws)
    enough = (-convergence.ESS_BELOW, -convergence.ESS_BAD)
    findings = [
        _finding(
            "R-hat",
            f"{r_hat:.3f} (largest: {of_r_hat})",
            _grade(r_hat, convergence.R_HAT_ABOVE, convergence.R_HAT_BAD),
            "R-hat compares the spread between chains (or between parts of one) with the spread within them: 1.00 "
            f"means that they agree, above {convergence.R_HAT_ABOVE} that they do not yet.",
            _GO_ON,
            good=_MORE_CHAINS if n_chains == 1 else "",
        ),
        _finding(
            "Standard deviation of split frequencies",
            f"{split_sd:.3f}",
            _grade(split_sd, convergence.SPLIT_SD_ABOVE, convergence.SPLIT_SD_BAD),
            "How often a group of leaves occurs should not depend on the chain. This is the average standard deviation "
            f"of that share across chains. Below {convergence.SPLIT_SD_ABOVE} is good: supports on this page can be "
            "taken as they are, if the model holds.",
            f"Supports are rough: they may be off by ± {percent(2 * np.nan_to_num(split_sd))}. {_GO_ON}",
            unknown="This needs at least two chains: run with n_chains=2.",
        ),
        _finding(
            _ESS,
            f"{number(ess)} of {n_draws:,} (smallest: {of_ess})",
            _grade(-ess, *enough),
            "Successive draws resemble each other. Together they carry as much information as this many independent "
            f"ones; {convergence.ESS_BELOW} are enough for medians and intervals.",
            f"Intervals are rough. {_GO_ON}",
        ),
        _finding(
            "Effective sample size of topologies",
            f"{number(topology_ess)} of {n_draws:,}",
            _grade(-topology_ess, *enough),
            "The same for the shapes of the trees.",
            f"Supports are rough. {_GO_ON}",
        ),
    ]
    ending = in_a_line(posterior.info.get("stopping"), posterior.info.get("n_warmup"))
    if ending is not None:
        meaning = "The run was to be as long as needed: this is where it stopped, and why."
        findings.append(Finding("Sampling", ending, "plain", meaning))
    return _verdict(findings, f"{count(n_chains, 'chain')} of {count(n_draws // n_chains, 'tree')}.", scalars)


def _finding(name, value, grade, meaning, advice, *, good="", unknown="Too few draws to tell; run longer."):
    if grade == "unknown":
        return Finding(name, "–", grade, meaning, unknown)
    return Finding(name, value, grade, meaning, good if grade == "good" else advice)


def _verdict(findings, sentence, scalars):
    grade = max((finding.grade for finding in findings), key=_RANK.__getitem__)
    if grade == "unknown" and any(finding.grade == "good" for finding in findings):
        grade = "good"
    heading = {
        "good": "No sign of poor convergence",
        "fair": "The run may be too short",
        "poor": "The run has not converged",
        "unknown": "Convergence is unknown",
    }[grade]
    worst = [finding for finding in findings if finding.grade in ("fair", "poor") and finding.grade == grade]
    if worst:
        names = listed([finding.name if finding.name == "R-hat" else finding.name.lower() for finding in worst])
        sentence = f"See {names} below before you rely on details of this page."
    elif grade == "good":
        sentence = f"{sentence} All diagnostics are good."
    return Verdict(findings, grade, heading, sentence, scalars)


def _grade(value, good_to, fair_to):
    """Grade a figure of which less is better."""
    if not math.isfinite(value):
        return "unknown"
    return "good" if value <= good_to else "fair" if value <= fair_to else "poor"


def _extreme(scalars, key, choose):
    """Which scalar is worst, in words, and its value; NaN where none has one."""
    known = {name: value[key] for name, value in scalars.items() if math.isfinite(value[key])}
    worst = choose(known, key=known.__getitem__, default="")
    spoken = {"log_joint": "log probability", "root_time": "time of the root"}.get(worst, worst)
    return spoken, known.get(worst, math.nan)


def _badge(grade):
    return f'<span class="grade">{_WORD[grade]}</span> ' if grade in _WORD else ""


def section(posterior: Posterior, verdict: Verdict) -> str:
    """The diagnostics as a list, and the trace of the log probability."""
    items = "\n".join(
        f'<li class="finding {finding.grade}"><h3>{escape(finding.name)}</h3>'
        f'<p class="value">{_badge(finding.grade)}{escape(finding.value)}</p>'
        f"<p>{escape(finding.meaning)}</p>"
        + (f'<p class="advice">{escape(finding.advice)}</p>' if finding.advice else "")
        + "</li>"
        for finding in verdict.findings
    )
    html = f'<ul class="findings">\n{items}\n</ul>'
    if posterior.is_chain and posterior.has_equal_weights and posterior.log_joint is not None and len(posterior) > 1:
        image = drawing.trace(posterior.log_joint, posterior.chain, "Log probability of each draw, one line per chain")
        html += (
            "\n<figure><figcaption>Log probability of data and tree at each draw, one colour per chain. A converged "
            "run looks like a level, fuzzy band; a slope or separate bands mean that it should run longer."
            f"</figcaption>{image}</figure>"
        )
    return html
