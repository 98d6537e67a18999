"""Convergence in words: what each figure means, whether it is good enough, and what to do where it is not."""

import math
from typing import NamedTuple

import numpy as np

from ..posterior import convergence, mixing
from . import drawing
from .text import count, escape, number, percent

_WORD = {"good": "Good", "fair": "Look again", "poor": "Not good enough", "unknown": "Not known"}
_RANK = {"plain": -1, "good": 0, "unknown": 1, "fair": 2, "poor": 3}


class Finding(NamedTuple):
    """One figure: what it is called, its value, how good that is, what it means and what to do."""

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
    scalars: dict  # {name: {"r_hat", "ess"}} of a chain's scalars


def judge(posterior) -> Verdict:
    """Look at a posterior from a chain, from weighted particles, or of a single tree."""
    if len(posterior) == 1:
        finding = Finding("Trees", "1", "unknown", "A single tree has no spread to judge.", _ASK_FOR_MORE)
        sentence = "One tree says nothing about how sure it is."
        return Verdict([finding], "unknown", "Nothing to judge", sentence, {})
    if not (posterior.is_chain and posterior.has_equal_weights):
        return _of_particles(posterior)
    return _of_chains(posterior)


_ASK_FOR_MORE = "Use coaltree.fit(X), whose chains can be judged."
_GO_ON = "Run longer: more n_warmup and n_samples, or go on from here with fit(…, start=posterior)."


def _of_particles(posterior):
    if posterior.has_equal_weights:
        meaning = "All trees count the same; whether they are independent of each other is not recorded."
        finding = Finding("Worth of the sample", count(len(posterior), "tree"), "unknown", meaning, _ASK_FOR_MORE)
        return _verdict([finding], f"{meaning} coaltree.fit records it.", {})
    ess = mixing.weight_ess(posterior.weights)
    share = ess / len(posterior)
    grade = _grade(-ess, -convergence.ESS_BELOW, -10)
    findings = [
        Finding(
            "Worth of the sample",
            f"{number(ess)} of {count(len(posterior), 'tree')} ({percent(share)})",
            grade,
            "The trees have unequal weights. Together they say as much as this many trees of equal weight would.",
            "" if grade == "good" else "Use more particles, or the regraft sampler.",
        )
    ]
    if posterior.log_evidence is not None:
        findings.append(
            Finding(
                "Log evidence",
                number(posterior.log_evidence, 6),
                "plain",
                "How probable the data are under this model; of models for the same data, the higher is better.",
            )
        )
    return _verdict(findings, f"The {len(posterior):,} weighted trees are worth {number(ess)} independent ones.", {})


def _of_chains(posterior):
    figures = convergence.figures(posterior)
    scalars = {name: value for name, value in figures.items() if isinstance(value, dict)}
    n_chains = len(np.unique(posterior.chain))
    findings = [
        _r_hat(scalars, n_chains),
        _split_sd(figures["split_frequency_sd"]),
        _ess(scalars, len(posterior)),
        _topology_ess(posterior),
    ]
    sentence = f"{count(n_chains, 'chain')} of {count(len(posterior) // n_chains, 'tree')}, judged below."
    return _verdict(findings, sentence, scalars)


def _verdict(findings, sentence, scalars):
    grade = max((finding.grade for finding in findings), key=_RANK.__getitem__)
    if grade == "unknown" and any(finding.grade == "good" for finding in findings):
        grade = "good"
    heading = {
        "good": "The run looks settled",
        "fair": "The run may need more time",
        "poor": "The run has not settled",
        "unknown": "Whether the run settled is not known",
    }[grade]
    worst = [finding for finding in findings if finding.grade in ("fair", "poor") and finding.grade == grade]
    if worst:
        names = " and ".join(finding.name[0].lower() + finding.name[1:] for finding in worst)
        sentence = f"Look at {names} below before trusting details of this page."
    elif grade == "good":
        sentence = f"{sentence} Nothing speaks against trusting this page."
    return Verdict(findings, grade, heading, sentence, scalars)


def _r_hat(scalars, n_chains):
    name = "Agreement in numbers (R-hat)"
    meaning = (
        "Each chain searched on its own. R-hat compares the spread between chains (or between parts of one) with the "
        f"spread within: 1.00 means they tell the same story, above {convergence.R_HAT_ABOVE} they do not yet."
    )
    worst, value = _extreme(scalars, "r_hat", max)
    if worst is None:
        return Finding(name, "–", "unknown", meaning, "Too few draws to tell; run longer.")
    grade = _grade(value, convergence.R_HAT_ABOVE, 1.2)
    advice = "" if grade == "good" else _GO_ON
    if n_chains == 1 and not advice:
        advice = "There is one chain only; two or more (n_chains=2) would make this a stronger test."
    return Finding(name, f"{value:.3f} at worst, for {_spoken(worst)}", grade, meaning, advice)


def _split_sd(value):
    name = "Agreement in trees (split frequencies)"
    meaning = (
        "How often a group of leaves occurs should not depend on which chain is asked. This is the typical difference "
        f"between chains, from 0 (none) up; below {convergence.SPLIT_SD_ABOVE} is good, and supports on this page can "
        "be read as they are."
    )
    if not math.isfinite(value):
        return Finding(name, "–", "unknown", meaning, "It takes two chains or more: run with n_chains=2.")
    grade = _grade(value, convergence.SPLIT_SD_ABOVE, 0.1)
    advice = "" if grade == "good" else f"Read supports as rough: they may be off by ± {percent(2 * value)}. {_GO_ON}"
    return Finding(name, f"{value:.3f}", grade, meaning, advice)


def _ess(scalars, n_draws):
    name = "Independent draws (ESS)"
    meaning = (
        "Draws that follow one another resemble each other. Altogether they are worth this many independent ones; "
        f"{convergence.ESS_BELOW} are enough for medians and intervals."
    )
    worst, value = _extreme(scalars, "ess", min)
    if worst is None:
        return Finding(name, "–", "unknown", meaning, "Too few draws to tell; run longer.")
    value = min(value, n_draws)
    grade = _grade(-value, -convergence.ESS_BELOW, -convergence.ESS_BELOW / 4)
    advice = "" if grade == "good" else f"Intervals are rough. {_GO_ON}"
    return Finding(name, f"{number(value)} of {n_draws:,}, for {_spoken(worst)}", grade, meaning, advice)


def _topology_ess(posterior):
    value, n_draws = posterior.topology_ess, len(posterior)
    grade = _grade(-value, -convergence.ESS_BELOW, -convergence.ESS_BELOW / 4)
    return Finding(
        "Independent trees",
        f"{number(value)} of {n_draws:,}",
        grade,
        "The same for the shape of the tree: how many independent trees the sampled ones are worth.",
        "" if grade == "good" else f"Supports are rough. {_GO_ON}",
    )


def _grade(value, good_to, fair_to):
    """Grade a figure of which less is better."""
    return "good" if value <= good_to else "fair" if value <= fair_to else "poor"


def _extreme(scalars, key, choose):
    known = {name: value[key] for name, value in scalars.items() if math.isfinite(value[key])}
    if not known:
        return None, math.nan
    name = choose(known, key=known.__getitem__)
    return name, known[name]


def _spoken(name):
    return {"log_joint": "the log probability", "root_time": "the time of the root"}.get(name, name)


def _badge(grade):
    return f'<span class="grade">{_WORD[grade]}</span> ' if grade in _WORD else ""


def section(posterior, verdict: Verdict) -> str:
    """The findings as a list, and the trace of the log probability."""
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
        image = drawing.trace(posterior.log_joint, posterior.chain, "Log probability of each draw, one line a chain")
        html += (
            "\n<figure><figcaption>Log probability of data and tree, draw after draw, one colour for each chain. A "
            "settled run looks like a level, fuzzy band; a slope or separate bands mean that it should run longer."
            f"</figcaption>{image}</figure>"
        )
    return html
