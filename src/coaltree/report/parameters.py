"""The parameters of covariance and noise: a description, a histogram of the draws, the median and the 90 % interval."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..model.process.noise import NOISE_LEVEL
from ..posterior.diagnostics.covariance_selection import is_choice
from ..posterior.posterior import Posterior
from . import drawing, pixels
from .text import count, escape, number, printable

_WORDS = {
    "amplitude": "Overall rate: the variance that values gain along a branch of length 1.",
    "variances": "Rate of each column: the variance it gains along a branch of length 1.",
    "length2": "Squared length scale: columns closer than its square root vary together.",
    "length": "Length scale: columns closer than this vary together.",
    "noise": "Independent variance of each column, relative to the smooth part; it gathers along branches.",
    "Phi": "Covariance of the columns along a branch of length 1.",
    NOISE_LEVEL: "Measurement noise of a row: its variance, relative to what values gain along a branch of length 1.",
}
_MOST_ROWS = 12  # entries of an array that are shown one by one
_MOST_LINES = 240
_MOST_CELLS_ACROSS = 96


def section(
    posterior: Posterior, names: Sequence[str] | None, scalars: Mapping[str, Any]
) -> tuple[str, dict[str, Any] | None]:
    """Return the section's HTML, and the correlation matrix for the script where a full matrix is learnt."""
    html, correlation = _of_parameters(posterior, names, scalars)
    return _choice(posterior.info.get("choice")) + html, correlation


def _choice(found):
    """How the family was chosen, where it was."""
    if not is_choice(found):
        return ""
    rows = zip(
        found["names"], found["elpd"], found["difference"], found["standard_error"], found["weight"], strict=True
    )
    body = "\n".join(
        f'<tr><th scope="row"><code>{escape(name)}</code></th><td>{elpd:,.1f}</td><td>{difference:+,.1f}</td>'
        f"<td>{error:,.1f}</td><td>{weight:.2f}</td></tr>"
        for name, elpd, difference, error, weight in rows
    )
    heads = "".join(
        f'<th scope="col">{head}</th>'
        for head in ("covariance", "log density", "difference", "standard error", "weight")
    )
    failed = "".join(f" <code>{escape(name)}</code> could not be fitted." for name in found.get("failed", {}))
    return (
        f"<p>The covariance <code>{escape(found['covariance'])}</code> was chosen: it predicts each row best from all "
        f"others (leave-one-out of {found['n_rows']:,} rows in short fits, in nats). Differences below about two "
        f"standard errors mean little.{failed}</p>\n"
        f'<div class="wide"><table class="grid"><thead><tr>{heads}</tr></thead>'
        f"<tbody>\n{body}\n</tbody></table></div>\n<p>What was learnt of it, and of the noise:</p>\n"
    )


def _of_parameters(posterior, names, scalars):
    if not posterior.theta:
        return "<p>The covariance was given, so no parameters were estimated.</p>", None
    rows, extras, correlation = [], [], None
    for name, draws in posterior.theta.items():
        if draws.ndim == 1:
            rows.append(_row(name, draws, posterior.weights, _WORDS.get(name, ""), scalars.get(name)))
        if draws.ndim not in (2, 3) or len(set(draws.shape[1:])) > 1:  # a number, or an array without a picture
            continue
        labels = names if names and len(names) == draws.shape[1] else None
        if draws.ndim == 2:
            rows_of, extra = _vector(name, draws, posterior.weights, labels, scalars)
        else:
            variances = np.diagonal(draws, axis1=1, axis2=2)
            rows_of, extra = _vector(f"{name} (diagonal)", variances, posterior.weights, labels, {}, _WORDS.get(name))
        rows += rows_of
        extras.append(extra)
        if draws.ndim == 3:
            correlation = _correlation(draws, posterior.weights, labels)
            extras.append(_CORRELATION.replace("{{strongest}}", correlation.pop("strongest")))
    html = ""
    if rows:
        body = "\n".join(rows)
        html = (
            '<div class="wide"><table class="grid parameters"><thead><tr><th scope="col">parameter</th>'
            '<th scope="col">posterior</th><th scope="col">median</th><th scope="col">90 % interval</th></tr></thead>'
            f"<tbody>\n{body}\n</tbody></table></div>"
        )
    return html + "\n".join(extras), correlation


_CORRELATION = """<figure class="matrix"><figcaption>Correlation between columns (posterior mean), from -1
in blue to 1 in red. {{strongest}}</figcaption>
<canvas id="correlation" role="img" aria-label="Heat map of the correlation of columns"></canvas>
<p class="status" id="correlation-status" aria-live="polite">Point at a cell to see its value.</p></figure>"""


def _row(name, draws, weights, words, scalar=None):
    low, middle, high = drawing.quantiles(draws, weights)
    figures = ""
    if scalar is not None and np.isfinite(scalar["ess"]):
        figures = f"<small>R-hat {scalar['r_hat']:.2f}, effective sample size {number(scalar['ess'])}</small>"
    return (
        f'<tr><th scope="row"><code>{escape(name)}</code><small>{escape(words)}</small></th>'
        f"<td>{drawing.histogram(draws, weights, name)}{figures}</td>"
        f"<td>{number(middle)}</td><td>{number(low)} to {number(high)}</td></tr>"
    )


def _vector(name, draws, weights, labels, scalars, words=None):
    """Few entries have a row each; many have one line each in a common picture."""
    words = words or _WORDS.get(name, "")
    d = draws.shape[1]
    if d <= _MOST_ROWS:
        titles = [f"{name}[{labels[j] if labels else j}]" for j in range(d)]
        return [
            _row(title, draws[:, j], weights, words if j == 0 else "", scalars.get(f"{name}[{j}]"))
            for j, title in enumerate(titles)
        ], ""
    shown = np.unique(np.linspace(0, d - 1, min(d, _MOST_LINES)).astype(int))
    lows, middles, highs = np.array([drawing.quantiles(draws[:, j], weights) for j in shown]).T
    largest = shown[np.argsort(-middles)[:3]]
    tops = ", ".join(str(labels[j] if labels else j) for j in largest)
    some = "" if len(shown) == d else f", {len(shown)} of them shown"
    scale = ", on a logarithmic scale" if drawing.differs_a_lot(lows, middles) else ""
    caption = (
        f"<code>{escape(name)}</code> of {count(d, 'column')}, in order{some}: median and 90 % interval{scale}. "
        f"{escape(words)} Largest: {escape(tops)}."
    )
    titles = [str(labels[j] if labels else j) for j in shown]
    image = drawing.intervals(lows, middles, highs, titles, f"{name}: median and 90 % interval of each column")
    return [], f'<figure><figcaption>{caption}</figcaption><div class="wide">{image}</div></figure>'


def _correlation(draws, weights, labels):
    sd = np.sqrt(np.diagonal(draws, axis1=1, axis2=2))
    mean = np.einsum("t,tij->ij", weights, draws / (sd[:, :, None] * sd[:, None, :]))
    d = len(mean)
    m = min(d, _MOST_CELLS_ACROSS)
    names = [str(j) for j in range(d)] if labels is None else [printable(label) for label in labels]
    return {
        "strongest": _strongest(mean, names),
        "size": m,
        "names": pixels.block_names(names, m),
        "codes": pixels.values(pixels.shrink(mean, m, m), -1.0, 1.0),
    }


def _strongest(correlation, names, most=3):
    """The pairs of columns with the strongest correlation."""
    i, j = np.triu_indices(len(correlation), 1)
    order = np.argsort(-np.abs(correlation[i, j]))[:most]
    pairs = [f"{names[i[k]]} and {names[j[k]]} ({number(correlation[i[k], j[k]], 2)})" for k in order]
    return escape(f"Strongest: {', '.join(pairs)}.") if pairs else ""
