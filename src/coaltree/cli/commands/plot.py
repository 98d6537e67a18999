"""``coaltree plot``: plots of a posterior."""

from pathlib import Path
from typing import Any

import click

from ...errors import InputError
from .. import options
from ..shell import echo

KINDS = ("tree", "densitree", "clustermap", "coclustering")


@options.posterior_command(
    "Output file; its suffix (.png, .svg, .pdf) is the format. [default: KIND.png beside the posterior]", "{kind}.png"
)
@click.option("--kind", type=click.Choice(KINDS), default="tree", help="Kind of plot.")
@click.option("--clustermap", "kind", flag_value="clustermap", help="The same as --kind clustermap.")
@options.clusters_option("Number of clusters to colour, or to cut the trees into.")
@click.option("--width", type=options.INCHES, metavar="INCHES", help="Width. [default: what the leaves need]")
@click.option("--height", type=options.INCHES, metavar="INCHES", help="Height. [default: what the leaves need]")
def plot(posterior: Any, out: Path, kind: str, clusters: int | None, width: float | None, height: float | None) -> None:
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
    from matplotlib.figure import Figure

    from ... import plotting
    from ...plotting.style import new_axes
    from ..outputs import save_figure

    if out.suffix.removeprefix(".").lower() not in Figure().canvas.get_supported_filetypes():
        raise InputError(f"{out.name}: unsupported file type; expected a suffix such as .png, .svg or .pdf.")
    size = (width or 8.0, height or 8.0) if width or height else None
    if kind == "clustermap":
        style: Any = {"z_score": 1, "cmap": "RdBu_r", "figsize": size or (10.0, 10.0)}
        picture: Any = plotting.clustermap(posterior, n_clusters=clusters, **style)
    else:
        k = clusters or posterior.suggest_n_clusters().n_clusters
        coloured = max(k, 2) if kind == "coclustering" else k if k > 1 else None
        draw: Any = plotting.dendrogram if kind == "tree" else getattr(plotting, kind)
        picture = draw(posterior, None if size is None else new_axes(*size), n_clusters=coloured).figure
    save_figure(picture, [out])
    echo(out)
