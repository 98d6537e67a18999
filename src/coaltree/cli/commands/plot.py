"""``coaltree plot``: plots of a posterior."""

from pathlib import Path
from typing import Any

import click

from ...errors import InputError
from .. import shell

KINDS = ("tree", "cloud", "heatmap", "coclustering", "checks")


class Inches(click.FloatRange):
    """From 1 to 100; click's own range lets NaN pass."""

    def __init__(self) -> None:
        super().__init__(min=1, max=100)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        inches = super().convert(value, param, ctx)
        return self.fail(f"{value} is not a number of inches.", param, ctx) if inches != inches else inches


@shell.commands.command()
@shell.posterior_argument
@shell.file_option("Output file; its suffix (.png, .svg, .pdf) is the format.", required=True)
@click.option("--kind", type=click.Choice(KINDS), default="tree", show_default=True, help="Kind of plot.")
@shell.clusters_option("Number of clusters to colour, or to cut the trees into. [default: the suggested number]")
@click.option(
    "--scale",
    type=click.Choice(("auto", "columns", "rows", "none")),
    default="auto",
    show_default=True,
    help="What a heat map shows as standard deviations from its mean; auto is columns where their scales differ.",
)
@click.option("--width", type=Inches(), metavar="INCHES", help="Width. [default: 8, or 10.5 of checks]")
@click.option("--height", type=Inches(), metavar="INCHES", help="Height. [default: what the leaves need]")
@shell.force_option
@shell.debug_option
def plot(posterior, out, kind, clusters, scale, width, height, force):
    """Plot a posterior.

    POSTERIOR is a posterior file, or the output folder of `coaltree fit`. The kinds of plot are

    \b
    tree          the mean tree, with transfer supports and time intervals
    cloud         many sampled trees on top of each other
    heatmap       the data beside the tree
    coclustering  how often two leaves are in the same cluster
    checks        whether the model holds (see coaltree check)

    \b
    Examples:
      coaltree plot wines -o wines.pdf --clusters 3
      coaltree plot wines --kind cloud -o cloud.png --width 6 --height 9
      coaltree plot wines --kind heatmap -o heatmap.png --scale none
    """
    from ..outputs import draw, height_for

    out = shell.output_file(out, force)
    require_picture(out)
    post = shell.load_posterior(posterior)
    usual = {"coclustering": (8.0, 7.0), "checks": (10.5, 3.5)}.get(kind, (8.0, height_for(post.n)))
    draw(_picture(post, kind, clusters, scale), [out], (width or usual[0], height or usual[1]))
    click.echo(out)


def require_picture(out: Path) -> None:
    """Refuse a file that is no picture by its suffix."""
    from matplotlib.figure import Figure

    if out.suffix.removeprefix(".").lower() not in Figure().canvas.get_supported_filetypes():
        raise InputError(f"{out.name}: unsupported file type; expected a suffix such as .png, .svg or .pdf.")


def _picture(post, kind, clusters, scale):
    """A function that draws on axes."""
    from ... import plotting
    from ...posterior.clusters.answer import answer_for
    from ...posterior.leaf_annotations import annotations_of
    from ..outputs import LARGE, draw_tree

    if kind == "checks":
        return lambda ax: plotting.checks(post, ax)
    n_clusters = clusters or post.suggest_n_clusters().n_clusters
    tree = post.mean_tree()
    if kind == "tree":
        answer = answer_for(post, n_clusters)
        return lambda ax: draw_tree(ax, tree, post, answer)
    if kind == "cloud":
        return lambda ax: plotting.cloud(post, ax)
    if kind == "coclustering":
        return lambda ax: plotting.coclustering(post, ax, n_clusters=max(n_clusters, 2))
    if post.X is None:
        raise InputError("--kind heatmap needs the data, and this posterior does not include them.")
    settings: dict[str, Any] = {"support": post} if tree.n <= LARGE else {"support": False, "time_scale": "sqrt"}
    settings |= {"features": post.columns, "row_colors": annotations_of(post) or None}
    settings["n_clusters"] = n_clusters if n_clusters > 1 else None
    settings["z_score"] = {"auto": "auto", "columns": 1, "rows": 0, "none": None}[scale]
    return lambda ax: plotting.heatmap(tree, post.leaf_values(), ax, **settings)
