"""``coaltree report``: the report page of a posterior."""

from pathlib import Path

import click

from .. import options
from ..shell import commands, echo


@commands.command()
@options.posterior_argument
@options.file_option("Output file. [default: report.html beside the posterior]")
@options.clusters_option("Number of clusters the page opens with.")
@click.option("--title", help="Title of the page.")
@options.force_option
def report(posterior: Path, out: Path | None, clusters: int | None, title: str | None, force: bool) -> None:
    """Write the report page of a posterior.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`.

    \b
    Examples:
      coaltree report wines --clusters 3 --force
      coaltree report wines/posterior.npz -o page.html --title "178 wines"
    """
    from ...posterior.io.archive import load
    from ...report import write_report

    folder = posterior if posterior.is_dir() else posterior.parent
    out = options.output_file(out or folder / "report.html", force, inputs=[posterior])
    post = load(posterior)
    echo(write_report(post, out, n_clusters=clusters, title=title, force=force, options=True))
