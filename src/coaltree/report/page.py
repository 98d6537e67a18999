"""The report page: one HTML file with its script and style sheet inside.

The page's Content-Security-Policy allows this one script and this one style sheet, by their digests, and nothing from
outside: even a name that looked like markup could neither run nor load anything.
"""

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._runtime.atomic_write import as_path, check_writable, replacing
from .._runtime.formatting import count, number
from .._runtime.typing import PathLike
from ..errors import InputError
from ..posterior.clusters import stability
from ..posterior.clusters.answer import leaves_are, leaves_one
from ..posterior.clusters.n_clusters import ClusterSuggestion
from ..posterior.diagnostics.check_sentences import as_option
from ..posterior.diagnostics.convergence import LIMITS, summarize
from ..posterior.diagnostics.model_checks import check_or_reason, format_p
from ..posterior.leaf_annotations import annotations_of, read_annotations
from ..posterior.posterior import Posterior
from . import annotations, coclustering, figures, parameters, partitions, reproduce, svg
from .summary_cards import MIN_CERTAIN, cluster_cards, model_card, opening_number, sentence
from .text import percent, printable

if TYPE_CHECKING:
    from jinja2 import Environment

SCRIPT_PARTS = (
    "elements.js", "clusters.js", "view.js", "tree.js", "pointing.js", "annotations.js", "heatmap.js", "together.js",
    "search.js", "groups.js", "scatter.js", "start.js",
)  # fmt: skip


def write_report(
    posterior: Posterior,
    path: PathLike,
    *,
    n_clusters: int | ClusterSuggestion | None = None,
    classes: Any = None,
    title: str | None = None,
    force: bool = False,
    options: bool = False,
) -> Path:
    """Write the report page of a posterior and return its path.

    Parameters
    ----------
    posterior : Posterior
    path : where to write; the name should end in .html.
    n_clusters : int or suggestion, optional
        Number of clusters that the page opens with; by default `Posterior.suggest_n_clusters`.
    classes : Series, DataFrame, mapping or sequence (n,), optional
        Leaf annotations, classes or numbers, shown beside the tree and compared with the clusters; by default the
        columns of ``coaltree fit --label``.
    title : str, optional
    force : whether to overwrite an existing file.
    options : whether advice names options of the command line, and not arguments.

    Returns
    -------
    Path
        Where it was written.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> post = ct.sample_trees(X, random_state=0, progress=False)
    >>> ct.report.write_report(post, "report.html", n_clusters=3).name
    'report.html'
    """
    path = as_path(path)
    check_writable(path)
    if path.exists() and not force:
        raise InputError(f"{path} already exists; choose another name, or overwrite it with force=True.")
    if path.suffix == ".npz":
        raise InputError(f"{path} is the name of a posterior or a checkpoint; choose another one, such as report.html.")
    with replacing(path) as file:
        file.write(report_html(posterior, n_clusters=n_clusters, classes=classes, title=title, options=options))
    return path


def report_html(
    posterior: Posterior,
    *,
    n_clusters: int | ClusterSuggestion | None = None,
    classes: Any = None,
    title: str | None = None,
    options: bool = False,
) -> str:
    """Return the report page as text; the arguments are those of `write_report`.

    Parameters
    ----------
    posterior, n_clusters, classes, title
        As in `write_report`.

    Returns
    -------
    str
        A page that needs no other file.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> post = ct.sample_trees(X, random_state=0, progress=False)
    >>> ct.report.report_html(post, n_clusters=3).startswith("<!doctype html>")
    True
    """
    suggestion = n_clusters if isinstance(n_clusters, ClusterSuggestion) else posterior.suggest_n_clusters()
    opening = opening_number(posterior, suggestion if n_clusters is None else n_clusters)
    data = figures.leaf_data(posterior)
    tree, tree_content = figures.tree_figure(posterior)
    order = tree.leaf_order()
    shown = partitions.make_partitions(posterior, opening.n_clusters)
    answer = shown[opening.n_clusters]
    columns = annotations_of(posterior) if classes is None else read_annotations(classes, posterior.labels)
    convergence_summary = summarize(posterior)
    model, say = check_or_reason(posterior), as_option if options else str
    learnt = parameters.summarize(posterior, convergence_summary.scalars)
    content = {
        "tree": tree_content,
        "clusters": opening.n_clusters,
        "partitions": partitions.content(posterior, opening, shown),
        "leaf": leaves_one(leaves_are(posterior)),
        "data": None if data is None else figures.data_figure(*data, order),
        "scatter": figures.scatter(posterior),
        "numbers": suggestion.candidates.tolist(),
        "annotations": annotations.content(columns, list(shown.values())),
        "together": coclustering.coclustering_figure(posterior, order, shown, opening.n_clusters),
        "correlation": learnt["correlation"],
    }
    template = environment().get_template("page.html")
    return template.render(
        title=f"A tree of {posterior.n:,} leaves" if title is None else str(title),
        cards=[*cluster_cards(posterior, opening, answer), convergence_summary, model_card(model, say)],
        posterior=posterior,
        data=content["data"],
        loadings=parameters.loadings(posterior),
        together=content["together"],
        uncertain=coclustering.uncertain_leaves(posterior, answer),
        noise=parameters.summarize_noise(posterior),
        parameters=learnt,
        summary=convergence_summary,
        trace=svg.trace(posterior),
        n_clusters=svg.stability(suggestion),
        model=model,
        say=say,
        run=reproduce.summarize(posterior),
        **_assets(),
        # Inside a script element only "</" and "<!--" have a meaning, and both begin with "<".
        content=json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    )


@cache
def environment() -> "Environment":
    """Return the environment of the templates: everything that they show is escaped, and all of it must be there."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if hasattr(value, "__html__") or not isinstance(value, str) else printable(value),
    )
    made.filters |= {"px": "{:.1f}".format, "thousands": "{:,}".format, "sentence": sentence}
    made.globals |= {"number": number, "count": count, "percent": percent, "format_p": format_p}
    made.globals |= {
        "limits": {key: of.limit for key, of in LIMITS.items()},
        "stability": stability,
        "min_certain": MIN_CERTAIN,
    }
    return made


@cache
def _assets() -> dict[str, str]:
    """Style sheet, script, and the policy that allows them alone."""
    folder = files(__package__)
    style = folder.joinpath("page.css").read_text(encoding="utf-8")
    parts = [folder.joinpath("script", name).read_text(encoding="utf-8") for name in SCRIPT_PARTS]
    script = "\n".join(["(() => {", '"use strict";', *parts, "})();"])
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    sources = "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data: blob:".format(*digests)
    return {"style": style, "script": script, "policy": f"{sources}; base-uri 'none'; form-action 'none'"}
