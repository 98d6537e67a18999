"""A posterior in a notebook: what it holds in a line, whether it has converged, and the mean tree as a picture."""

import warnings
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..._runtime.notebook import paragraph
from ...errors import ConvergenceWarning
from ..diagnostics.resamples import MEANING

if TYPE_CHECKING:
    from ..posterior import Posterior

MAX_LEAVES = 2000  # up to which clusters are suggested


def posterior_html(posterior: "Posterior") -> str:
    """HTML for the output of a cell: what it holds, warnings, how many clusters and how stable, and the mean tree."""
    n_chains = len(np.unique(posterior.chain))
    parts = [f"{len(posterior):,} trees of {posterior.n:,} leaves"]
    if posterior.is_resampled:
        parts.append(f"{n_chains} resamples of columns ({MEANING})")
    elif posterior.is_chain:
        parts.append(f"{n_chains} chain{'s' if n_chains > 1 else ''}")
    if posterior.covariance is not None:
        parts.append(f"covariance {type(posterior.covariance).__name__}")
    parts.append(f"effective sample size {posterior.ess:.0f}")
    html = f"<p><strong>Posterior</strong>: {escape(', '.join(parts))}</p>"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n_clusters, said = _clusters(posterior)
        picture = posterior.mean_tree().svg(support=posterior, n_clusters=n_clusters)
    note = "Mean tree with transfer supports. coaltree.report.write_report(posterior, path) makes a page of all."
    return f"<div>{html}{_warning(posterior)}{said}{picture}{paragraph(note)}</div>"


def _clusters(posterior: "Posterior") -> tuple[int | None, str]:
    """How many clusters to colour, None for none, and paragraphs that suggest them and say how stable they are."""
    from ..clusters.answer import answer_for, in_a_line, leaves_are

    if posterior.n > MAX_LEAVES:  # it would take longer than one waits for the output of a cell
        return None, ""
    suggestion = posterior.suggest_n_clusters()
    html = f"<p><strong>{escape(suggestion.numbers)} suggested</strong>: {escape(suggestion.reason)}</p>"
    k = suggestion.n_clusters
    if k < 2 or len(posterior) == 1:
        return (k if k > 1 else None), html
    line = in_a_line(answer_for(posterior, k, quietly=True), leaves_are(posterior))
    return k, f"{html}<p><strong>Stability</strong>: {escape(line)}</p>"


def _warning(posterior: "Posterior") -> str:
    """What `fit` warned of, if chains have not converged; else nothing."""
    from ..diagnostics import convergence, resamples

    if not posterior.is_chain:
        return ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        judge = resamples if posterior.is_resampled else convergence
        judge.warn_if_bad(judge.figures(posterior))
    messages = [str(one.message) for one in caught if issubclass(one.category, ConvergenceWarning)]
    return "".join(f"<p><strong>Warning</strong>: {escape(message)}</p>" for message in messages)
