"""``coaltree place``: where new rows would join the trees of a posterior."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..._runtime.formatting import escaped
from .. import options
from ..shell import commands, echo

if TYPE_CHECKING:
    from ...posterior.predictive.placement import Placement


@commands.command()
@options.posterior_argument
@click.argument("rows", type=options.INPUT)
@options.file_option("Output CSV file. [default: print to the terminal]")
@options.clusters_option()
@options.table_options
@click.option("--trees", type=click.IntRange(min=1), default=200, help="Number of sampled trees to use.")
@options.force_option
def place(
    posterior: Path, rows: Path, out: Path | None, clusters: int | None, table_options: Any, trees: int, force: bool
) -> None:
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
      clade_size, clade    number of leaves in that clade, and the names of up to five

    \b
    Examples:
      coaltree place wines new.csv
      coaltree place wines new.csv --clusters 3 -o placed.csv
    """
    from ...posterior.io.archive import load
    from ..outputs import write_csv

    if out is not None:
        options.output_file(out, force, inputs=[posterior, rows])
    post = load(posterior)
    table = options.read_new_rows(rows, table_options, post)
    labels = post.cut(clusters or post.suggest_n_clusters().n_clusters)
    placed = post.place(table, classes=labels, n_trees=trees)
    columns = _columns(placed)
    if out is None and sys.stdout.isatty():
        columns |= {name: [escaped(str(cell)) for cell in columns[name]] for name in ("row", "clade")}
    write_csv(out or sys.stdout, columns)
    if out is not None:
        echo(out)


def _columns(placed: "Placement") -> dict[str, Any]:
    probability: Any = placed.class_probability
    clades = [placed.nearest_clades(i, 1)[0] for i in range(len(placed.labels))]
    low, high = placed.time_interval(0.9).T

    def texts(values: Any) -> list[str]:
        return ["" if value != value else f"{value:.6g}" for value in values]

    return {
        "row": placed.labels,
        "log_density": texts(placed.log_density),
        "cluster": probability.argmax(axis=1) + 1,
        "probability": texts(probability.max(axis=1)),
        "time_low": texts(low),
        "time_high": texts(high),
        "clade_probability": texts(share for share, _ in clades),
        "clade_size": [len(leaves) for _, leaves in clades],
        "clade": ["; ".join(names[:5]) + "; …" * (len(names) > 5) for _, names in clades],
    }
