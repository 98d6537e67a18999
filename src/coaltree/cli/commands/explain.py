"""``coaltree explain``: which columns make each cluster."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import options
from ..shell import echo

if TYPE_CHECKING:
    from ...posterior.clusters.explanation import Explanation


@options.posterior_command(
    "Output CSV file with all columns of all clusters. [default: print the first to the terminal]"
)
@options.clusters_option()
@click.option("--columns", type=click.IntRange(min=1), default=5, help="Number of columns to print for each cluster.")
def explain(posterior: Any, out: Path | None, clusters: int | None, columns: int) -> None:
    """Show which columns make each cluster.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`. Each cluster is compared with its sister
    clade, the other side of the merge above it in the tree, and with all other rows. A difference is that of the means
    in standard deviations of the column within the cluster and its sister clade, with a 90 % interval over the sampled
    trees, the noise and missing values. Columns that surely differ most from the sister clade come first. There are no
    p-values: the clusters come from the same data.

    \b
    Examples:
      coaltree explain wines
      coaltree explain wines --clusters 3 --columns 10
      coaltree explain wines -o differences.csv
    """
    from ...posterior.clusters.explanation import explain as explain_clusters
    from ..outputs import write_csv

    labels = posterior.cut(clusters or posterior.suggest_n_clusters().n_clusters)
    if labels.max() == 0:
        echo("All rows are in one cluster, which has nothing to be compared with; choose a number with --clusters K.")
        return
    explanation = explain_clusters(posterior, labels)
    if out is None:
        echo("\n".join(_lines(explanation, columns)))
        return
    frame = explanation.frame()
    frame["cluster"] += 1
    write_csv(out, frame)
    echo(out)


def _lines(of: "Explanation", most: int) -> Iterator[str]:
    import pandas

    from ..._runtime.formatting import shortened
    from ...posterior.clusters.explanation import difference

    for g in range(len(of.names)):
        size, beside = int(of.members[g].sum()), int(of.sisters[g].sum())
        yield f"cluster {g + 1}: {size:,} of {of.members.shape[1]:,} leaves, sister clade of {beside:,}"
        order = of.order(g)[:most].tolist()
        sides = {"to its sister clade": 0, "to all others": 1}
        table = {name: [difference(of, g, j, side) for j in order] for name, side in sides.items()}
        names = [shortened(of.columns[j], 40) for j in order]
        yield textwrap.indent(pandas.DataFrame(table, names).to_string(), "  ")
