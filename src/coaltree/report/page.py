"""The page: its parts in one file, the script and the style sheet included.

The page's own rules (Content-Security-Policy) allow this one script and this one style sheet, known by their digests,
and nothing from outside: even a name that looked like markup could neither run nor load anything.
"""

import base64
import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from .._runtime.atomic_write import replacing
from .._runtime.typing import ArrayLike, PathLike
from ..errors import InputError
from ..posterior.clusters.answer import leaves_are, leaves_one
from ..posterior.clusters.n_clusters import ClusterSuggestion
from ..posterior.leaf_annotations import annotations_of, read_annotations
from ..posterior.posterior import Posterior
from . import checks, figures, glance, known, noise, offers, parameters, reproduce, verdicts
from .text import escape

_SCRIPT_PARTS = (
    "elements.js", "clusters.js", "view.js", "tree.js", "pointing.js", "heatmap.js", "together.js", "search.js",
    "groups.js", "known.js", "start.js",
)  # fmt: skip


def write_report(
    posterior: Posterior,
    path: PathLike,
    *,
    X: ArrayLike | None = None,
    n_clusters: int | ClusterSuggestion | None = None,
    classes: Any = None,
    title: str | None = None,
    force: bool = False,
) -> Path:
    """Write the report page of a posterior and return its path.

    Parameters
    ----------
    posterior : Posterior
    path : where to write; the name should end in .html.
    X : array-like (n, d) or DataFrame, optional
        The data to show beside the tree, for example in other units; by default the fitted data. Where leaves have
        several rows, either the leaves or all rows, of which the means are shown.
    n_clusters : int or suggestion, optional
        The number of clusters the page opens with, or what `Posterior.suggest_n_clusters` gave, with its reason; by
        default it is asked.
    classes : Series, DataFrame, mapping or sequence (n,), optional
        What is known of the leaves besides: classes or numbers, shown in colours beside the tree and compared with the
        clusters; by default the columns of ``coaltree fit --label``.
    title : str, optional
    force : bool
        Whether to overwrite an existing file.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected the name of a file, such as report.html.")
    if path.exists() and not force:
        raise InputError(f"{path} already exists; choose another name, or overwrite it with force=True.")
    with replacing(path) as file:
        file.write(report_html(posterior, X=X, n_clusters=n_clusters, classes=classes, title=title))
    return path


def report_html(
    posterior: Posterior,
    *,
    X: ArrayLike | None = None,
    n_clusters: int | ClusterSuggestion | None = None,
    classes: Any = None,
    title: str | None = None,
) -> str:
    """Return the report page as text; the arguments are those of `write_report`."""
    start = glance.choose_start(posterior, n_clusters)
    data = figures.read_data(posterior, X)
    figure = figures.tree_figure(posterior)
    order = figure.tree.leaf_order()
    partitions = offers.make_offers(posterior, start)
    answer = partitions[start.n_clusters].answer
    about = annotations_of(posterior) if classes is None else read_annotations(classes, posterior.labels)
    verdict = verdicts.judge(posterior)
    model = checks.found(posterior)
    names = None if posterior.columns is None else list(posterior.model_columns)
    parameter_section, correlation = parameters.section(posterior, names, verdict.scalars)
    content = {
        "tree": figure.content(),
        "clusters": start.n_clusters,
        "partitions": offers.content(posterior, start, partitions),
        "leaf": leaves_one(leaves_are(posterior)),
        "data": None if data is None else figures.data_figure(data, order),
        "known": known.content(about, answer, [offer.answer for offer in partitions.values()]),
        "together": figures.together_figure(posterior, order, start.n_clusters),
        "correlation": correlation,
    }
    heading = f"A tree of {posterior.n:,} leaves" if title is None else str(title)
    return _fill(
        _part("page.html"),
        {
            "title": escape(heading),
            "subtitle": escape(glance.subtitle(posterior, data)),
            "cards": glance.cards(posterior, start, answer, verdict, checks.card(model)),
            "data_words": _data_words(content["data"], posterior.groups is not None),
            "together_words": _together_words(posterior, content["together"]),
            "doubts": glance.doubts(posterior, answer),
            "noise": noise.section(posterior),
            "parameters": parameter_section,
            "trust": verdicts.section(posterior, verdict),
            "model": checks.section(model),
            "reproduce": reproduce.section(posterior, data),
            "policy": _policy(),
            "style": _part("page.css"),
            "script": _script(),
            # Inside a script element only "</" and "<!--" have a meaning, and both begin with "<".
            "content": json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        },
    )


def _data_words(content, has_groups):
    if content is None:
        return "<p>The posterior does not include the data, so there is no heat map; pass them as <code>X</code>.</p>"
    n, d = content["of"]
    words = "One row per leaf, in the order of the tree; one column per measurement. "
    if has_groups:
        words += "A leaf that was measured several times is shown by the mean of its rows. "
    if content["scaled"]:
        words += "Columns differ in scale, so colours are relative to the mean and standard deviation of each column. "
    if "other" in content:
        words += "The box “scale columns” above the tree changes that. "
    if content["rows"] < n or content["columns"] < d:
        words += (
            f"To keep the page small, neighbouring values are averaged: {content['rows']:,} × "
            f"{content['columns']:,} cells show {n:,} × {d:,} values. "
        )
    if content["missing"]:
        words += f"Missing values ({content['missing']:,}) are hatched. "
    return f"<p>{escape(words)}</p>"


def _together_words(posterior, content):
    words = (
        "Every sampled tree is cut into the same number of clusters. A cell shows the share of trees in which two "
        "leaves are in the same cluster: blocks in full colour are certain, faint areas uncertain. "
    )
    largest = max((level["size"] for level in content["levels"]), default=posterior.n)
    if largest < posterior.n:
        words += f"Of the {posterior.n:,} leaves, {largest:,} evenly spaced ones are shown. "
    if content["draws"] < len(posterior):
        words += f"Computed from {content['draws']:,} of the {len(posterior):,} trees. "
    return f"<p>{escape(words)}</p>"


def _fill(template, parts):
    """Put the parts where the template has {{name}}; what a part contains is never looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _part(name):
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _script():
    body = "\n".join(_part(f"script/{name}") for name in _SCRIPT_PARTS)
    return f'(() => {{\n"use strict";\n{body}\n}})();'


def _policy():
    def digest(text):
        return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")

    return (
        f"default-src 'none'; script-src 'sha256-{digest(_script())}'; style-src 'sha256-{digest(_part('page.css'))}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
