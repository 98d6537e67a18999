"""``coaltree compare``: which of several posteriors predicts the rows best."""

from pathlib import Path
from typing import Any

import click

from .. import shell
from .plot import require_picture


@shell.commands.command()
@click.argument("posteriors", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="POSTERIOR POSTERIOR …")
@click.option(
    "--heldout",
    type=click.Path(path_type=Path),
    metavar="ROWS",
    help="Table of rows that were not fitted, to be predicted. [default: each fitted row, from all others]",
)
@click.option("--draws", type=click.IntRange(min=1), help="Number of sampled trees to use. [default: 200]")
@click.option("--jobs", type=int, help="Number of trees to work on at the same time.")
@shell.file_option("Figure to write, such as compare.png or compare.svg.")
@shell.force_option
@shell.debug_option
def compare(posteriors, heldout, draws, jobs, out, force):
    """Compare posteriors of a table: which predicts its rows best?

    Each POSTERIOR is a posterior file, or the output folder of `coaltree fit`. Every row is predicted from all others
    (leave-one-out), or held-out rows are. The table has the sum of the log densities, the difference from the best,
    its standard error, and the weight of each model in the mixture that predicts best. Differences below about two
    standard errors mean little.

    \b
    Examples:
      coaltree compare wines-full wines-scaled
      coaltree compare a b c --heldout new.csv -o compare.svg
    """
    from ...inference.compare import compare as compare_posteriors

    if len(posteriors) < 2:
        raise click.UsageError("compare needs at least two posteriors.")
    if out is not None:
        require_picture(shell.output_file(out, force))
    found = {}
    for path in posteriors:
        name = str(path)
        if name in found:
            raise click.UsageError(f"{name!r} is given twice.")
        found[name] = shell.load_posterior(path)
    rows: Any = None  # with names, as a DataFrame has them
    if heldout is not None:
        from ..tables.reading import Choice, understood

        columns = next(iter(found.values())).columns
        choice = Choice() if columns is None else Choice(columns=columns, columns_from="a column of the fitted data")
        reading = understood(heldout, choice)
        click.echo(reading.how, err=True)
        rows = reading.table
    comparison = compare_posteriors(found, rows, n_draws=draws, n_jobs=jobs)
    click.echo(f"by {comparison.basis}, {comparison.rows.shape[1]} rows")
    click.echo(str(comparison))
    if out is not None:
        from ... import plotting
        from ..outputs import draw

        draw(lambda ax: plotting.comparison(comparison, ax), [out], (6.0, 1.2 + 0.45 * len(found)))
        click.echo(out)
