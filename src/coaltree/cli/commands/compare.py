"""``coaltree compare``: which of several posteriors predicts the rows best."""

from pathlib import Path

import click

from ..options import path, read_new_rows
from ..shell import commands, echo


@commands.command()
@click.argument("posteriors", nargs=-1, required=True, type=path, metavar="POSTERIOR POSTERIOR …")
@click.option("--heldout", type=path, metavar="ROWS", help="Table of rows to predict. [default: each fitted row]")
@click.option("--draws", type=click.IntRange(min=1), help="Number of sampled trees to use. [default: 200]")
@click.option("--jobs", type=int, help="Number of trees to work on at the same time.")
def compare(posteriors: tuple[Path, ...], heldout: Path | None, draws: int | None, jobs: int | None) -> None:
    """Compare posteriors of a table: which predicts its rows best?

    Each POSTERIOR is a posterior file, or the output folder of `coaltree fit`. Every row is predicted from all others
    (leave-one-out), or held-out rows are. The table has the sum of the log densities, the difference from the best,
    its standard error, and the weight of each model in the mixture that predicts best. Differences below about two
    standard errors mean little.

    \b
    Examples:
      coaltree compare wines-full wines-scaled
      coaltree compare a b c --heldout new.csv
    """
    from ...inference.compare import compare as compare_posteriors
    from ...posterior.io.archive import load
    from ..tables.reading import TableOptions

    if len(posteriors) < 2 or len(set(posteriors)) < len(posteriors):
        raise click.UsageError("compare needs at least two posteriors, each given once.")
    loaded = {str(path): load(path) for path in posteriors}
    rows = None if heldout is None else read_new_rows(heldout, TableOptions(), loaded[str(posteriors[0])])
    comparison = compare_posteriors(loaded, rows, n_draws=draws, n_jobs=jobs)
    echo(f"by {comparison.basis}, {comparison.rows.shape[1]} rows")
    echo(str(comparison))
