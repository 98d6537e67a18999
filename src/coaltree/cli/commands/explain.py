"""``coaltree explain``: which columns make each cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import options
from ..shell import commands, echo

if TYPE_CHECKING:
    from ...posterior.clusters.explanation import Explanation


@commands.command()
@options.posterior_argument
@options.file_option("Output CSV file with all columns of all clusters. [default: print the first to the terminal]")
@options.clusters_option()
@click.option("--columns", type=click.IntRange(min=1), default=5, help="Number of columns to print for each cluster.")
@options.force_option
def explain(posterior: Path, out: Path | None, clusters: int | None, columns: int, force: bool) -> None:
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
    from ...posterior.io.archive import load
    from ..outputs import write_csv

    if out is not None:
        options.output_file(out, force, inputs=[posterior])
    post = load(posterior)
    labels = post.cut(clusters or post.suggest_n_clusters().n_clusters)
    if labels.max() == 0:
        echo("All rows are in one cluster, which has nothing to be compared with; choose a number with --clusters K.")
        return
    explanation = explain_clusters(post, labels)
    if out is None:
        echo("\n".join(_lines(explanation, columns)))
        return
    frame = explanation.frame()
    frame["cluster"] += 1
    write_csv(out, {name: frame[name].tolist() for name in frame})
    echo(out)


def _lines(of: "Explanation", most: int) -> Iterator[str]:
    from ..._runtime.formatting import shortened
    from ...posterior.clusters.explanation import difference

    names = [shortened(name, 40) for name in of.columns]
    width = max(map(len, names))
    for g in range(len(of.names)):
        size, beside = int(of.members[g].sum()), int(of.sisters[g].sum())
        yield f"cluster {g + 1}: {size:,} of {of.members.shape[1]:,} leaves, sister clade of {beside:,}"
        yield f"  {'':{width}}  {'to its sister clade':22}  to all others"
        for j in of.order(g)[:most].tolist():
            yield f"  {names[j]:{width}}  {difference(of, g, j):22}  {difference(of, g, j, 1)}"
