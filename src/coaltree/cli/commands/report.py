"""``coaltree report``: the report page of a posterior."""

from pathlib import Path
from typing import Any

import click

from .. import options
from ..shell import echo


@options.posterior_command("Output file. [default: report.html beside the posterior]", "report.html")
@options.clusters_option("Number of clusters the page opens with.")
@click.option("--title", help="Title of the page.")
def report(posterior: Any, out: Path, clusters: int | None, title: str | None) -> None:
    """Write the report page of a posterior.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`.

    \b
    Examples:
      coaltree report wines --clusters 3 --force
      coaltree report wines/posterior.npz -o page.html --title "178 wines"
    """
    from ...report import write_report

    echo(write_report(posterior, out, n_clusters=clusters, title=title, force=True, options=True))
