"""``coaltree info``: what a posterior contains, and whether it has converged."""

import csv
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..._runtime.formatting import count, escaped, shortened, shortlist
from ..options import posterior_command
from ..shell import echo

if TYPE_CHECKING:
    from ...posterior.posterior import Posterior


@posterior_command()
@click.option(
    "--group",
    multiple=True,
    metavar="NAME,NAME",
    help="Show instead how well a group of rows is supported, and which rows wander in or out (may be repeated).",
)
def info(posterior: "Posterior", group: tuple[str, ...]) -> None:
    """Show what a posterior holds, its clusters, and its convergence.

    Each cluster is looked for in every sampled tree, by the closest clade: the one with the largest Jaccard similarity
    (rows in both, divided by rows in either). Its stability is the mean similarity. The probability that a row is in it
    is the share of trees whose closest clade has the row; what is missing to 100 % is in none of the clusters. The
    suggested number is the largest one whose clusters all have a stability of at least 0.75. The support of a group is
    computed in the same way.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`. Names with commas in a --group are put into
    double quotes.

    \b
    Examples:
      coaltree info wines
      coaltree info wines/posterior.npz
      coaltree info wines --group wine1,wine2,wine9
    """
    if group:
        lines = csv.reader((text.replace("\n", ",") for text in group), skipinitialspace=True)
        echo("\n\n".join(str(posterior.support([name for name in names if name])) for names in lines))
        return
    rows = [*_contents(posterior), *_parameters(posterior), *_diagnostics(posterior)]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        echo(escaped(f"{name:{width}}  {value}"))


def _contents(post: "Posterior") -> Iterator[tuple[str, str]]:
    import numpy as np

    from ...posterior.diagnostics.outliers import describe_noise, describe_rows, find_outliers

    yield "leaves", f"{post.n}: {shortlist(post.labels, 4)}"
    if rows := describe_rows(post):
        yield "rows", rows
    if (errors := post.model.leaves.errors) is not None:
        yield "errors", f"{errors.min():.4g} to {errors.max():.4g}, standard errors of the rows"
    if post.model.X is not None:
        names = "" if post.model.columns is None else f": {shortlist(post.model.columns, 4)}"
        yield "columns", f"{post.model.X.shape[1]}{names}"
        yield "missing values", str(int(np.isnan(post.model.X).sum()))
    n_chains = len(np.unique(post.draws.chain))
    yield "trees", f"{len(post)} from {count(n_chains, 'chain')}"
    for key in ("transform", "sampler", "seed", "n_warmup", "left_out", "ties", "components"):
        if key in post.info:
            yield key.removeprefix("n_").replace("_", " "), shortened(str(post.info[key]), 400)
    if post.model.covariance is not None:
        auto = post.info.get("covariance_choice")
        yield "covariance", f"auto: {auto}" if auto else type(post.model.covariance).__name__
    yield "noise", describe_noise(post)
    for row in find_outliers(post, 8):
        yield "outlier", str(row)


def _parameters(post: "Posterior") -> Iterator[tuple[str, str]]:
    """Median and 90 % interval of every parameter, or of each of its entries where they are few."""
    from ...numerics.weighted import weighted_quantile
    from ...posterior.diagnostics.watched import in_words

    for parameter, draws in post.theta.items():
        name = in_words(parameter)
        if draws.ndim > 2 or draws[0].size > 20:  # too many to show one by one
            yield f"{name} matrix" if draws.ndim > 2 else name, f"draws of shape {draws.shape[1:]}"
            continue
        titles = [name] if draws.ndim == 1 else [f"{name}, {column}" for column in post.model.coordinate_names]
        for title, values in zip(titles, draws.reshape(len(draws), -1).T, strict=True):
            low, median, high = weighted_quantile(values, post.weights, [0.05, 0.5, 0.95])
            yield title, f"{median:.4g}  (90 %: {low:.4g} to {high:.4g})"


def _diagnostics(post: "Posterior") -> Iterator[tuple[str, str]]:
    from ...posterior.clusters.answer import answer_for, clusters_in_words, leaves_are, uncertain_in_words
    from ...posterior.diagnostics.convergence import ending, summarize
    from ...posterior.diagnostics.model_checks import check_or_reason

    summary = summarize(post)
    yield "convergence", summary.heading
    for figure in summary.figures:
        yield "", str(figure)
    if post.log_evidence is not None:
        yield "log evidence", f"{post.log_evidence:.6g}"
    if ending(post.info):
        yield "sampling", ending(post.info)
    yield "model", check_or_reason(post).headline
    suggestion = post.suggest_n_clusters()
    yield "how many", suggestion.reason
    each = [f"{k} clusters: {least:.2f}" for k, least in suggestion.candidates]
    yield "least stability", ", ".join(each) or "no candidates"
    answer = answer_for(post, suggestion.n_clusters)
    yield "clusters", clusters_in_words(answer, leaves_are(post))
    if uncertain := uncertain_in_words(answer, post.labels, leaves_are(post)):
        yield "uncertain", uncertain
