"""``coaltree place``: where new rows would join the trees of a posterior."""

import csv
import dataclasses
import sys
from pathlib import Path
from typing import Any

import click

from .. import shell
from ..outputs import harmless

PLACED = (
    "row", "log_density", "cluster", "probability", "time_low", "time_high", "clade_probability", "clade_size", "clade",
)  # fmt: skip


@shell.commands.command()
@shell.posterior_argument
@click.argument("rows", type=click.Path(path_type=Path))
@shell.file_option("Output CSV file. [default: print to the terminal]")
@shell.clusters_option()
@shell.table_options
@click.option(
    "--trees", type=click.IntRange(min=1), default=200, show_default=True, help="Number of sampled trees to use."
)
@shell.force_option
@shell.debug_option
def place(posterior, rows, out, clusters, choice, trees, force):
    """Show where new rows would join the trees of a posterior.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`. ROWS is a table in any format that `fit`
    reads, with the fitted columns (others are ignored). Missing values are integrated out.

    \b
    The result is a CSV table with one line per new row:
      log_density          log predictive density of the row, given the fitted ones
      cluster              its most probable cluster, numbered as in clusters.csv
      probability          probability of that cluster
      time_low, time_high  90 % interval of the time at which it joins
      clade_probability    probability of the clade it most probably joins
      clade_size, clade    number of leaves in that clade, and the names of some

    \b
    Examples:
      coaltree place wines new.csv
      coaltree place wines new.csv --clusters 3 -o placed.csv
    """
    from ..tables.reading import understood

    if out is not None:
        shell.output_file(out, force)
    post = shell.load_posterior(posterior)
    if post.columns is not None and not (choice.columns or choice.drop):
        choice = dataclasses.replace(choice, columns=post.columns, columns_from="a column of the fitted data")
    table: Any  # which carries the names as a DataFrame would
    reading = understood(rows, choice)
    table = reading.table
    click.echo(reading.how, err=True)
    labels = post.cut(clusters or post.suggest_n_clusters().n_clusters, output="numpy")
    placed = post.place(table, classes=labels, n_trees=trees)
    if out is None:
        _write_placed(sys.stdout, placed)
        return
    with open(out, "w", newline="", encoding="utf-8") as file:
        _write_placed(file, placed)
    click.echo(out)


def _write_placed(file, placed, most=5):
    best = placed.class_probability.argmax(axis=1)
    times = placed.time_interval(0.9)
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(PLACED)
    for i, name in enumerate(placed.labels):
        ((share, leaves),) = placed.nearest_clades(i, 1)
        numbers = (placed.log_density[i], best[i] + 1, placed.class_probability[i, best[i]], *times[i], share)
        clade = "; ".join((*leaves[:most], "…") if len(leaves) > most else leaves)
        cells = (name, *(f"{number:.6g}" for number in numbers), len(leaves), clade)
        lines.writerow(map(harmless, cells))
