"""A posterior in a notebook: what it holds in a line, whether it has converged, and the mean tree as a picture."""

import warnings
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..._runtime.notebook import paragraph

if TYPE_CHECKING:
    from ..posterior import Posterior


def posterior_html(posterior: "Posterior") -> str:
    """HTML for the output of a cell: one line and a picture of the mean tree."""
    n_chains = len(np.unique(posterior.chain))
    parts = [f"{len(posterior):,} trees of {posterior.n:,} leaves"]
    if posterior.is_chain:
        parts.append(f"{n_chains} chain{'s' if n_chains > 1 else ''}")
    if posterior.covariance is not None:
        parts.append(f"covariance {type(posterior.covariance).__name__}")
    parts.append(f"effective sample size {posterior.ess:.0f}")
    html = f"<p><strong>Posterior</strong>: {escape(', '.join(parts))}</p>"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        picture = posterior.mean_tree().svg(support=posterior)
    note = "Mean tree with transfer supports. coaltree.report.write_report(posterior, path) makes a page of all."
    return f"<div>{html}{picture}{paragraph(note)}</div>"
