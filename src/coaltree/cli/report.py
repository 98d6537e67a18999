"""``coaltree report``: the report page of a posterior."""

import click

from .shell import (
    clusters_option,
    commands,
    debug_option,
    file_option,
    force_option,
    load_posterior,
    output_file,
    posterior_argument,
)


@commands.command()
@posterior_argument
@file_option("Output file. [default: report.html beside the posterior]")
@clusters_option("Number of clusters the page opens with. [default: the suggested number]")
@click.option("--title", help="Title of the page.")
@force_option
@debug_option
def report(posterior, out, clusters, title, force):
    """Write the report page of a posterior.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`.

    \b
    Examples:
      coaltree report wines --clusters 3 --force
      coaltree report wines/posterior.npz -o page.html --title "178 wines"
    """
    from ..report import write_report

    out = output_file(out or (posterior if posterior.is_dir() else posterior.parent) / "report.html", force)
    post = load_posterior(posterior)
    click.echo(write_report(post, out, n_clusters=clusters, title=title, force=force))
