"""``coaltree place``: where new rows would join the trees of a posterior."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import options
from ..shell import echo

if TYPE_CHECKING:
    from ...posterior.predictive.placement import Placement


@options.posterior_command("Output CSV file. [default: print to the terminal]")
@click.argument("rows", type=options.path)
@options.clusters_option()
@options.table_options
@click.option("--trees", type=click.IntRange(min=1), default=200, help="Number of sampled trees to use.")
def place(posterior: Any, rows: Path, out: Path | None, clusters: int | None, table_options: Any, trees: int) -> None:
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
    from ..outputs import csv_text, write_csv

    table = options.read_new_rows(rows, table_options, posterior)
    labels = posterior.cut(clusters or posterior.suggest_n_clusters().n_clusters)
    columns = _columns(posterior.place(table, classes=labels, n_trees=trees))
    if out is None:
        echo(csv_text(columns, float_format="%.6g").rstrip())
    else:
        write_csv(out, columns, float_format="%.6g")
        echo(out)


def _columns(placed: "Placement") -> dict[str, Any]:
    probability: Any = placed.class_probability
    clades = [placed.nearest_clades(i, 1)[0] for i in range(len(placed.labels))]
    low, high = placed.time_interval(0.9).T
    return {
        "row": placed.labels,
        "log_density": placed.log_density,
        "cluster": probability.argmax(axis=1) + 1,
        "probability": probability.max(axis=1),
        "time_low": low,
        "time_high": high,
        "clade_probability": [share for share, _ in clades],
        "clade_size": [len(leaves) for _, leaves in clades],
        "clade": ["; ".join(names[:5]) + "; …" * (len(names) > 5) for _, names in clades],
    }
