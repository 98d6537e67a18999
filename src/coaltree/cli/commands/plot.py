"""``coaltree plot``: plots of a posterior."""

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from ...errors import InputError
from .. import options
from ..shell import commands, echo

KINDS = ("tree", "densitree", "clustermap", "coclustering")
Z_SCORES = {"columns": 1, "rows": 0, "none": None}


@commands.command()
@options.posterior_argument
@options.file_option("Output file; its suffix (.png, .svg, .pdf) is the format.", required=True)
@click.option("--kind", type=click.Choice(KINDS), default="tree", help="Kind of plot.")
@options.clusters_option("Number of clusters to colour, or to cut the trees into.")
@click.option(
    "--scale",
    type=click.Choice(list(Z_SCORES)),
    default="columns",
    help="What a clustermap shows as standard deviations from its mean.",
)
@click.option("--colormap", metavar="NAME", default="RdBu_r", help="Colours of a clustermap, such as PuOr or viridis.")
@click.option("--width", type=options.INCHES, metavar="INCHES", help="Width. [default: what the leaves need]")
@click.option("--height", type=options.INCHES, metavar="INCHES", help="Height. [default: what the leaves need]")
@options.force_option
def plot(
    posterior: Path,
    out: Path,
    kind: str,
    clusters: int | None,
    scale: str,
    colormap: str,
    width: float | None,
    height: float | None,
    force: bool,
) -> None:
    """Plot a posterior.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`. The kinds of plot are

    \b
    tree          the mean tree, with transfer supports and time intervals
    densitree     many sampled trees on top of each other
    clustermap    the data beside the tree, with seaborn
    coclustering  how often two leaves are in the same cluster

    \b
    Examples:
      coaltree plot wines -o wines.pdf --clusters 3
      coaltree plot wines --kind densitree -o densitree.png --width 6 --height 9
      coaltree plot wines --kind clustermap -o heatmap.png --scale none
    """
    from ... import plotting
    from ...plotting.style import new_axes
    from ...posterior.io.archive import load
    from ..outputs import save_figure

    options.output_file(out, force, is_figure=True, inputs=[posterior])
    post = load(posterior)
    is_sized = width is not None or height is not None
    size = (width or 8.0, height or 8.0)
    if kind == "clustermap":
        settings: dict[str, Any] = {"z_score": Z_SCORES[scale], "cmap": _known(colormap)}
        settings |= {"figsize": size} if is_sized else {}
        picture: Any = plotting.clustermap(post, n_clusters=clusters, **settings)
    else:
        k = clusters or post.suggest_n_clusters().n_clusters
        ax = new_axes(*size) if is_sized else None
        if kind == "tree":
            picture = plotting.dendrogram(post, ax, n_clusters=k if k > 1 else None).figure
        elif kind == "densitree":
            picture = plotting.densitree(post, ax, n_clusters=k if k > 1 else None).figure
        else:
            picture = plotting.coclustering(post, ax, n_clusters=max(k, 2)).figure
    save_figure(picture, [out])
    echo(out)


def _known(colormap: str) -> str:
    """The name of a colormap, or an error that names similar ones."""
    from matplotlib import colormaps

    if colormap not in colormaps:
        close = get_close_matches(colormap, list(colormaps), n=3) or ["viridis", "cividis", "RdBu_r"]
        raise InputError(f"--colormap {colormap!r} is none of Matplotlib's; try {', '.join(close)}.")
    return colormap
