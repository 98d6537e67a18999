"""``coaltree report``: the report page of a posterior."""

import click

from .. import shell


@shell.commands.command()
@shell.posterior_argument
@shell.file_option("Output file. [default: report.html beside the posterior]")
@shell.clusters_option("Number of clusters the page opens with. [default: the suggested number]")
@click.option("--title", help="Title of the page.")
@shell.force_option
@shell.debug_option
def report(posterior, out, clusters, title, force):
    """Write the report page of a posterior.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`.

    \b
    Examples:
      coaltree report wines --clusters 3 --force
      coaltree report wines/posterior.npz -o page.html --title "178 wines"
    """
    from ...report import write_report

    out = shell.output_file(out or (posterior if posterior.is_dir() else posterior.parent) / "report.html", force)
    post = shell.load_posterior(posterior)
    click.echo(write_report(post, out, n_clusters=clusters, title=title, force=force))
