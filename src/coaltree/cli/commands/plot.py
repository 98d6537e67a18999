"""``coaltree plot``: plots of a posterior."""

from pathlib import Path
from typing import Any

import click

from .. import options
from ..shell import commands, echo

KINDS = ("tree", "densitree", "clustermap", "coclustering")


@commands.command()
@options.posterior_argument
@options.file_option(
    "Output file; its suffix (.png, .svg, .pdf) is the format. [default: KIND.png beside the posterior]"
)
@click.option("--kind", type=click.Choice(KINDS), default="tree", help="Kind of plot.")
@click.option("--clustermap", "kind", flag_value="clustermap", help="The same as --kind clustermap.")
@options.clusters_option("Number of clusters to colour, or to cut the trees into.")
@click.option("--width", type=options.INCHES, metavar="INCHES", help="Width. [default: what the leaves need]")
@click.option("--height", type=options.INCHES, metavar="INCHES", help="Height. [default: what the leaves need]")
@options.force_option
def plot(
    posterior: Path,
    out: Path | None,
    kind: str,
    clusters: int | None,
    width: float | None,
    height: float | None,
    force: bool,
) -> None:
    """Plot a posterior.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`. The kinds of plot are

    \b
    tree          the mean tree, with supports and time intervals
    densitree     many sampled trees on top of each other
    clustermap    the data beside the tree, in standard deviations of each column, with seaborn
    coclustering  how often two leaves are in the same cluster

    \b
    Examples:
      coaltree plot wines -o wines.pdf --clusters 3
      coaltree plot wines --kind densitree -o densitree.png --width 6 --height 9
      coaltree plot wines --clustermap
    """
    from ... import plotting
    from ...plotting.style import new_axes
    from ...posterior.io.archive import load
    from ..outputs import save_figure

    folder = posterior if posterior.is_dir() else posterior.parent
    out = options.output_file(out or folder / f"{kind}.png", force, is_figure=True, inputs=[posterior])
    post = load(posterior)
    size = (width or 8.0, height or 8.0) if width or height else None
    if kind == "clustermap":
        picture: Any = plotting.clustermap(
            post, n_clusters=clusters, z_score=1, cmap="RdBu_r", figsize=size or (10.0, 10.0)
        )
    else:
        k = clusters or post.suggest_n_clusters().n_clusters
        ax = None if size is None else new_axes(*size)
        if kind == "tree":
            picture = plotting.dendrogram(post, ax, n_clusters=k if k > 1 else None).figure
        elif kind == "densitree":
            picture = plotting.densitree(post, ax, n_clusters=k if k > 1 else None).figure
        else:
            picture = plotting.coclustering(post, ax, n_clusters=max(k, 2)).figure
    save_figure(picture, [out])
    echo(out)
