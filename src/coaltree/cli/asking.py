"""What a saved posterior knows: ``report``, ``plot``, ``place``, ``info``."""

import sys
from pathlib import Path

import click

from ..errors import InputError
from .shell import (
    clusters_option,
    commands,
    debug_option,
    force_option,
    load_posterior,
    output_file,
    posterior_argument,
    table_options,
)

KINDS = ("tree", "cloud", "heatmap", "coclustering")
PLACED = (
    "row", "log_density", "cluster", "probability", "time_low", "time_high", "clade_probability", "clade_size", "clade",
)  # fmt: skip


def file_option(text, **more):
    """The file that a command leaves."""
    return click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), help=text, **more)


@commands.command()
@posterior_argument
@file_option("The page. [report.html beside the posterior]")
@clusters_option("Number of clusters the page opens with. [the suggested one]")
@click.option("--title", help="Heading of the page.")
@force_option
@debug_option
def report(posterior, out, clusters, title, force):
    """Write the report page of a posterior.

    POSTERIOR is a file, or a folder that `coaltree fit` left.

    \b
    Examples:
      coaltree report wines --clusters 3 --force
      coaltree report wines/posterior.npz -o page.html --title "178 wines"
    """
    from ..report import write_report

    out = output_file(out or (posterior if posterior.is_dir() else posterior.parent) / "report.html", force)
    post = load_posterior(posterior)
    click.echo(write_report(post, out, n_clusters=clusters, title=title, force=force))


@commands.command()
@posterior_argument
@file_option("The picture; its suffix (.png, .svg, .pdf) says what it is.", required=True)
@click.option("--kind", type=click.Choice(KINDS), default="tree", show_default=True, help="What to draw.")
@clusters_option("Number of clusters to colour or to compare. [the suggested one]")
@click.option("--width", type=click.FloatRange(min=1, max=100), metavar="INCHES", help="[8]")
@click.option("--height", type=click.FloatRange(min=1, max=100), metavar="INCHES", help="[as the leaves need]")
@force_option
@debug_option
def plot(posterior, out, kind, clusters, width, height, force):
    """Draw a posterior.

    POSTERIOR is a file, or a folder that `coaltree fit` left. What can be drawn of it:

    \b
    tree          the maximum clade credibility tree, with supports and intervals of times
    cloud         many sampled trees on top of each other
    heatmap       the data beside the tree
    coclustering  how often two leaves are in one cluster

    \b
    Examples:
      coaltree plot wines -o wines.pdf --clusters 3
      coaltree plot wines --kind cloud -o cloud.png --width 6 --height 9
    """
    from matplotlib.figure import Figure

    from .outputs import draw, height_for

    out = output_file(out, force)
    known = Figure().canvas.get_supported_filetypes()
    if out.suffix.removeprefix(".").lower() not in known:
        raise InputError(f"{out.name!r} is no kind of picture; give it a suffix such as .png, .svg or .pdf.")
    post = load_posterior(posterior)
    n_clusters = clusters or post.suggest_n_clusters().n_clusters
    picture = _picture(post, kind, n_clusters)
    draw(picture, [out], (width or 8.0, height or (7.0 if kind == "coclustering" else height_for(post.n))))
    click.echo(out)


def _picture(post, kind, n_clusters):
    """A function that draws on axes."""
    from .. import plotting
    from .outputs import LARGE, draw_tree

    tree = post.mcc_tree()
    clusters = post.cut(n_clusters) if n_clusters > 1 else None
    if kind == "tree":
        return lambda ax: draw_tree(ax, tree, post, clusters)
    if kind == "cloud":
        return lambda ax: plotting.cloud(post, ax)
    if kind == "coclustering":
        return lambda ax: plotting.coclustering(post, ax, n_clusters=max(n_clusters, 2))
    if post.X is None:
        raise InputError("this posterior does not hold its data, so that there is no heat map to draw.")
    if tree.n <= LARGE:
        return lambda ax: plotting.heatmap(tree, post.X, ax, features=post.columns, clusters=clusters, support=post)
    return lambda ax: plotting.heatmap(
        tree, post.X, ax, features=post.columns, clusters=clusters, support=False, time_scale="sqrt"
    )


@commands.command()
@posterior_argument
@click.argument("rows", type=click.Path(path_type=Path))
@file_option("The table. [on the terminal]")
@clusters_option()
@table_options
@click.option("--trees", type=click.IntRange(min=1), default=200, show_default=True, help="How many trees to ask.")
@force_option
@debug_option
def place(posterior, rows, out, clusters, index, columns, drop, header, array, trees, force):
    """Say where new rows would join the trees of a posterior.

    POSTERIOR is a file, or a folder that `coaltree fit` left; ROWS a table as `fit` reads, with the columns that were
    fitted (others are passed over). Empty cells are integrated out.

    \b
    The answer is a CSV table, one line for each new row:
      log_density          how likely the row is, given those fitted
      cluster              the cluster it belongs to most probably, numbered as in clusters.csv
      probability          and how probably
      time_low, time_high  when it joins, with probability 0.9 between them
      clade_probability    probability of the clade it joins most probably
      clade_size, clade    leaves of that clade, and the names of some

    \b
    Examples:
      coaltree place wines new.csv
      coaltree place wines new.csv --clusters 3 -o placed.csv
    """
    from ..tables import Choice, read

    if out is not None:
        output_file(out, force)
    post = load_posterior(posterior)
    choice = Choice(index, columns, drop, header, array)
    if post.columns is not None and not (columns or drop):
        choice = Choice(index, post.columns, drop, header, array, columns_are="which was fitted")
    table = read(rows, choice)
    labels = post.cut(clusters or post.suggest_n_clusters().n_clusters)
    placed = post.place(table, classes=labels, n_trees=trees)
    if out is None:
        _write_placed(sys.stdout, placed)
        return
    with open(out, "w", newline="", encoding="utf-8") as file:
        _write_placed(file, placed)
    click.echo(out)


def _write_placed(file, placed, most=5):
    import csv

    best = placed.class_probability.argmax(axis=1)
    times = placed.time_interval(0.9)
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(PLACED)
    for i, name in enumerate(placed.labels):
        ((share, leaves),) = placed.nearest_clades(i, 1)
        numbers = (placed.log_density[i], best[i], placed.class_probability[i, best[i]], *times[i], share)
        more = ("…",) if len(leaves) > most else ()
        lines.writerow([name, *(f"{number:.6g}" for number in numbers), len(leaves), "; ".join(leaves[:most] + more)])


@commands.command()
@posterior_argument
@debug_option
def info(posterior):
    """Say what a posterior holds, and how far to trust it.

    POSTERIOR is a file, or a folder that `coaltree fit` left.

    \b
    Examples:
      coaltree info wines
      coaltree info wines/posterior.npz
    """
    post = load_posterior(posterior)
    rows = [*_holds(post), *_parameters(post), *_judged(post)]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:{width}}  {value}")


def _holds(post):
    import numpy as np

    from ..report.reproduce import describe

    yield "leaves", f"{post.n}: {_some(post.labels)}"
    if post.X is not None:
        names = "" if post.columns is None else f": {_some(post.columns)}"
        yield "columns", f"{post.X.shape[1]}{names}"
        yield "missing entries", str(int(np.isnan(post.X).sum()))
    yield "trees", f"{len(post)} in {len(np.unique(post.chain))} chain(s)"
    for name in ("sampler", "seed", "n_warmup"):
        if name in post.info:
            yield name.replace("n_", ""), describe(post.info[name])
    if post.covariance is not None:
        yield "covariance", type(post.covariance).__name__
    if post.leaf_noise:
        yield "leaf noise", f"{post.leaf_noise:g}"


def _parameters(post, most=20):
    """Median and 90 % interval of every parameter that is a number, and of the entries of a short list of numbers."""
    from ..clades import weighted_quantile

    for name, draws in post.theta.items():
        if draws.ndim > 2 or (draws.ndim == 2 and draws.shape[1] > most):
            yield name, f"draws of shape {draws.shape[1:]}"
            continue
        columns = [name] if draws.ndim == 1 else [f"{name}, {j}" for j in post.columns or range(draws.shape[1])]
        for title, values in zip(columns, draws.reshape(len(draws), -1).T, strict=True):
            low, middle, high = weighted_quantile(values, post.weights, [0.05, 0.5, 0.95])
            yield title, f"{middle:.4g}  (90 %: {low:.4g} to {high:.4g})"


def _judged(post):
    from ..report.verdicts import judge

    verdict = judge(post)
    for finding in verdict.findings:
        yield finding.name, finding.value
    yield "verdict", verdict.heading
    yield "clusters", post.suggest_n_clusters().reason


def _some(names, most=4):
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, …"
