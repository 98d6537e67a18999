"""``coaltree info``: what a posterior contains, and whether it has converged."""

import csv

import click

from ..._runtime.formatting import count, shortened, some
from ..shell import commands, debug_option, load_posterior, posterior_argument


@commands.command()
@posterior_argument
@click.option(
    "--group",
    multiple=True,
    metavar="NAME,NAME",
    help="Show instead how well a group of rows is supported, and which rows wander in or out (may be repeated).",
)
@debug_option
def info(posterior, group):
    """Show what a posterior contains, and whether it has converged.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`. Names with commas in a --group are put into
    double quotes.

    \b
    Examples:
      coaltree info wines
      coaltree info wines/posterior.npz
      coaltree info wines --group wine1,wine2,wine9
    """
    post = load_posterior(posterior)
    if group:
        click.echo("\n\n".join(str(post.support(_names(text))) for text in group))
        return
    rows = [*_contents(post), *_parameters(post), *_diagnostics(post)]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:{width}}  {value}")


def _names(text):
    """Names as in a line of a CSV file; a new line separates them as well."""
    lines = csv.reader(text.splitlines(), skipinitialspace=True)
    return [name for line in lines for name in line if name]


def _contents(post):
    import numpy as np

    from ...posterior.diagnostics.covariance_selection import in_a_line
    from ...posterior.diagnostics.outliers import describe_noise, describe_rows, find_outliers

    yield "leaves", f"{post.n}: {some(post.labels, 4)}"
    rows = describe_rows(post)
    if rows is not None:
        yield "rows", rows
    if post.errors is not None:
        yield "errors", f"{post.errors.min():.4g} to {post.errors.max():.4g}, standard errors of the rows"
    if post.X is not None:
        names = "" if post.columns is None else f": {some(post.columns, 4)}"
        yield "columns", f"{post.X.shape[1]}{names}"
        yield "missing values", str(int(np.isnan(post.X).sum()))
    yield "trees", f"{len(post)} from {count(len(np.unique(post.chain)), 'chain')}"
    for name in ("sampler", "seed", "n_warmup"):
        if name in post.info:
            yield name.replace("n_", ""), shortened(str(post.info[name]), 400)
    if post.covariance is not None:
        choice, best = post.info.get("covariance_choice"), in_a_line(post.info.get("choice"))
        family = type(post.covariance).__name__
        yield "covariance", f"auto: {choice}" if choice else f"{family} ({best})" if best else family
    for name in ("left_out", "ties"):
        if name in post.info:
            yield name.replace("_", " "), str(post.info[name])
    yield "noise", describe_noise(post)
    for row in find_outliers(post, 8):
        yield "odd row", str(row)


def _parameters(post, most=20):
    """Median and 90 % interval of every parameter that is a number, and of the entries of a short list of numbers."""
    from ...numerics.weighted import weighted_quantile

    for name, draws in post.theta.items():
        if draws.ndim > 2 or (draws.ndim == 2 and draws.shape[1] > most):
            yield name, f"draws of shape {draws.shape[1:]}"
            continue
        columns = [name] if draws.ndim == 1 else [f"{name}, {j}" for j in post.model_columns]
        for title, values in zip(columns, draws.reshape(len(draws), -1).T, strict=True):
            low, middle, high = weighted_quantile(values, post.weights, [0.05, 0.5, 0.95])
            yield title, f"{middle:.4g}  (90 %: {low:.4g} to {high:.4g})"


def _diagnostics(post):
    from ...posterior.clusters.answer import answer_for, elsewhere_in_a_line, in_a_line, leaves_are
    from ...posterior.diagnostics.convergence_verdict import judge

    verdict = judge(post)
    for finding in verdict.findings:
        yield finding.name, f"unknown: {finding.advice}" if finding.grade == "unknown" else finding.value
    yield "verdict", verdict.heading
    yield "model", model_in_a_line(post)
    suggestion = post.suggest_n_clusters()
    yield "how many", suggestion.reason
    answer = answer_for(post, suggestion.n_clusters)
    yield "clusters", in_a_line(answer, leaves_are(post))
    elsewhere = elsewhere_in_a_line(answer, post.labels, leaves_are(post))
    if elsewhere is not None:
        yield "uncertain", elsewhere


def model_in_a_line(post):
    """What the checks of the model say, in a sentence."""
    from ...errors import InputError

    try:
        return post.check().headline
    except InputError as error:
        return f"The model cannot be checked: {error}"
