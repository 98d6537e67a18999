"""Does the model hold? Its checks as a list: what was looked at, what was seen, what to try."""

from .._runtime.formatting import listed
from ..posterior.diagnostics.model_checks import Check, ModelCheck, check_or_reason, format_p
from ..posterior.posterior import Posterior
from . import drawing
from .glance import Card
from .text import count, escape

_GRADE = {"fine": "good", "doubtful": "fair", "wrong": "poor"}
_BADGE = {"fine": "Fine", "doubtful": "Doubtful", "wrong": "Wrong"}
_TITLE = {
    "noise": "Noise",
    "tails": "Heavy tails",
    "outliers": "Outliers",
    "skewness": "Skewed columns",
    "spread of columns": "Spread of columns",
    "correlation": "Correlated columns",
    "clades": "Groups that vary more",
}
_LOOKED_AT = {
    "noise": "Do contrasts of young merges have the size of those of old ones? If they are larger, noise is lacking.",
    "tails": "Are there more large contrasts than a normal distribution has?",
    "outliers": "Do single rows join the others later than lineages of the coalescent do?",
    "skewness": "Does a column vary more where its values are high, or have a long tail on one side?",
    "spread of columns": "Does every column vary along the tree as much as the covariance says?",
    "correlation": "Do columns vary together although the covariance says that they do not?",
    "clades": "Do sister groups merge at similar times? If not, some groups vary more than others.",
}


def found(posterior: Posterior) -> ModelCheck:
    """The checks of a posterior, none where it cannot be checked."""
    return check_or_reason(posterior)


def card(model: ModelCheck) -> Card:
    """The result at a glance."""
    if not model.checks:
        return Card("The model was not checked", f"{_sentence(model.reason)}.", "unknown")
    if not model.wrong:
        return Card("No sign of a wrong model", model.headline, "good")
    advice = str(model.wrong[0].advice)
    names = listed([one.name for one in model.wrong])
    advice = f" {_sentence(advice)}." if advice else ""
    if model.is_too_sure:
        sure = "Supports, memberships and intervals on this page are likely to be too sure."
        return Card("Supports may be too high", f"{sure} See {names}.{advice}", "poor")
    return Card("The model is not quite right", f"See {names}.{advice}", "fair")


def section(model: ModelCheck) -> str:
    """Words, two figures, and the list."""
    if not model.checks:
        return f"<p>{escape(model.headline)}</p>"
    words = (
        "The contrasts of a tree are the differences between the two sides of every merge, divided by their standard "
        "deviations. If the model holds, they are independent and normal. Those of "
        f"{count(model.n_trees, 'sampled tree')} are compared with contrasts that the model draws on the same trees. A "
        "p-value is the probability of a discrepancy as large as this one if the model holds. A check finds the model "
        "wrong at so low a p-value that at most 5 % of true models would be found wrong by any of them."
    )
    items = "\n".join(map(_item, model))
    more = f" {model.note}" if model.note else ""
    return (
        f"<p>{escape(words)}</p>\n<p><strong>{escape(model.headline)}</strong>{more}</p>\n{_figures(model)}\n"
        f'<ul class="findings">\n{items}\n</ul>'
    )


def _item(one: Check) -> str:
    label = f"{one.name}: the data at {one.draws.mean():.1f} standard deviations of what the model draws"
    advice = f'<p class="advice">{escape(_sentence(str(one.advice)))}.</p>' if one.advice else ""
    return (
        f'<li class="finding {_GRADE[one.verdict]}"><h3>{_TITLE[one.name]}</h3>'
        f'<p class="value"><span class="grade">{_BADGE[one.verdict]}</span> p = {format_p(one.p_value)}</p>'
        f"<p>{escape(_LOOKED_AT[one.name])}</p>{drawing.beside(one.draws, one.replicates, label)}"
        f"<p>{escape(_sentence(one.said))}.</p>{advice}</li>"
    )


def _figures(model):
    shown = model.figures
    by_age = drawing.with_band(
        shown.age,
        shown.size,
        shown.size_band,
        ("age of the merge", "size of contrasts"),
        "Size of contrasts over the age of merges, with the band that the model expects",
        log_x=True,
    )
    by_quantile = drawing.with_band(
        shown.normal,
        shown.seen,
        shown.seen_band,
        ("size that the model expects", "size of contrasts"),
        "Quantiles of the sizes of contrasts beside those that the model expects",
    )
    return (
        '<div class="pair"><figure><figcaption>How large contrasts are at merges from young to old. The line is the '
        f"data, the band 90 % of what the model draws.</figcaption>{by_age}</figure>"
        "<figure><figcaption>How large contrasts are, from the smallest to the largest, beside what the model expects. "
        "A line that leaves the band upwards at its end means heavy tails."
        f"</figcaption>{by_quantile}</figure></div>\n"
        "<p>Below, bars are what the model draws, on the scale of its standard deviation; the dot and the line are the "
        "data on the sampled trees (mean and 90 %).</p>"
    )


def _sentence(text):
    return text[:1].upper() + text[1:]
