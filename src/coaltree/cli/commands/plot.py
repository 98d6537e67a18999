"""``coaltree plot``: plots of a posterior."""

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import InputError
from .. import options
from ..shell import commands, echo

if TYPE_CHECKING:
    from ...posterior.posterior import Posterior

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
@click.option("--width", type=options.INCHES, metavar="INCHES", help="Width. [default: 8]")
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
    from ...posterior.io.archive import load
    from ..outputs import draw, height_for

    options.output_file(out, force, is_figure=True, inputs=[posterior])
    post = load(posterior)
    if kind == "clustermap":
        size = (width or 8.0, height or max(5.0, height_for(post.n)))
        _clustermap(out, post, clusters, Z_SCORES[scale], colormap, size)
        echo(out)
        return
    usual = (8.0, 7.0 if kind == "coclustering" else height_for(post.n))
    draw(lambda ax: _plot(ax, post, kind, clusters), [out], (width or usual[0], height or usual[1]))
    echo(out)


def _clustermap(
    out: Path,
    post: "Posterior",
    clusters: int | None,
    z_score: int | None,
    colormap: str,
    size: tuple[float, float],
) -> None:
    """Write seaborn's clustermap, which makes a figure of its own."""
    from matplotlib import colormaps

    from ... import plotting
    from ..._runtime.atomic_write import replacing
    from ...posterior.leaf_annotations import annotations_of
    from ..outputs import FIGURE_DPI

    if colormap not in colormaps:
        close = get_close_matches(colormap, list(colormaps), n=3) or ["viridis", "cividis", "RdBu_r"]
        raise InputError(f"--colormap {colormap!r} is none of Matplotlib's; try {', '.join(close)}.")
    settings: dict[str, Any] = {"n_clusters": clusters, "row_colors": annotations_of(post) or None, "figsize": size}
    grid = plotting.clustermap(post, z_score=z_score, cmap=colormap, **settings)
    with replacing(out, "wb") as file:
        grid.savefig(file, format=out.suffix[1:].lower(), dpi=FIGURE_DPI)


def _plot(ax: Any, post: "Posterior", kind: str, clusters: int | None) -> None:
    from ... import plotting
    from ...plotting.style import set_title
    from ...posterior.clusters.answer import answer_for, leaves_are
    from ..outputs import draw_tree

    k = clusters or post.suggest_n_clusters().n_clusters
    if kind == "tree":
        draw_tree(ax, post.mean_tree(), post, answer_for(post, k))
    elif kind == "coclustering":
        plotting.coclustering(post, ax, n_clusters=max(k, 2))
    else:
        plotting.densitree(post, ax, n_clusters=k if k > 1 else None)
        set_title(ax, f"Sampled trees of {post.n:,} {leaves_are(post)}")
