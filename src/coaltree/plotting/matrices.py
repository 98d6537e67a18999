"""Matrices in tree order: co-clustering probabilities, and the data beside the tree."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.gridspec import GridSpec

from .._runtime.fielddocs import field_docs
from .._runtime.typing import ArrayLike
from ..errors import InputError
from ..model.data.table import column_names
from ..posterior.posterior import Posterior
from ..tree.distances import with_leaves_as
from ..tree.rooted import RootedTree, as_names
from ..tree.tree import Tree
from .clusters import as_clusters
from .color_scale import ZScore, draw_table, rescaled
from .dendrogram import dendrogram, leaf_names
from .geometry import arrange
from .strips import add_strip_legend, as_strips
from .style import color_of, name_cells, new_axes

_STRIP_WIDTH = 0.02  # as a share of the width of the data


@field_docs(data="The heat map.", tree="The tree beside it.", bar="The scale of colours.")
class HeatmapAxes(NamedTuple):
    """The parts of a heat map beside a tree."""

    data: Axes
    tree: Axes
    bar: Axes


def coclustering(
    posterior: Posterior,
    ax: Axes | None = None,
    *,
    n_clusters: int | None = None,
    time: float | None = None,
    tree: Tree | None = None,
    labels: bool = True,
    cmap: Any = "Blues",
    colorbar: bool = True,
) -> Axes:
    """Draw the probability that two leaves are in the same cluster, with rows and columns in the order of a tree.

    Parameters
    ----------
    posterior : Posterior
    n_clusters, time : how to cut the sampled trees, into this many clusters or at this time
    tree : Tree that orders the leaves; by default the mean tree
    labels : bool, whether to write the names of the leaves if there is room
    """
    together = posterior.coclustering(n_clusters, time=time)
    base = posterior.mean_tree() if tree is None else with_leaves_as(tree, posterior.labels)
    order = arrange(base).tips
    ax = ax or new_axes(6.0, 5.0)
    image = ax.imshow(together[np.ix_(order, order)], vmin=0.0, vmax=1.0, cmap=cmap, interpolation="nearest")
    names = [posterior.labels[leaf] for leaf in order] if labels else []
    name_cells(ax, names, names)
    if colorbar:
        bar = ax.figure.colorbar(image, ax=ax, label="probability of the same cluster", fraction=0.046, pad=0.03)
        bar.ax.yaxis.label.set_fontsize(9)
        bar.ax.tick_params(labelsize=8)
    return ax


def heatmap(
    tree: RootedTree,
    X: ArrayLike,
    ax: Axes | None = None,
    *,
    features: Sequence[str] | None = None,
    clusters: ArrayLike | None = None,
    n_clusters: int | None = None,
    support: ArrayLike | Posterior | None = None,
    labels: bool | Sequence[str] = True,
    z_score: ZScore = "auto",
    standard_scale: Any = None,
    row_colors: Any = None,
    cmap: Any = None,
    center: float | None = None,
    value_label: str | None = None,
    tree_share: float = 0.5,
    time_scale: str = "linear",
    time_label: str | None = "time",
) -> HeatmapAxes:
    """Draw the data beside the tree, one row of X (n, d) per leaf.

    Parameters
    ----------
    tree : Tree or ConsensusTree
    X : (n, d) array, or DataFrame, rows in the order of the leaves
        NaN is hatched. Colours are limited to the 1st and 99th percentile, so that outliers do not hide the rest.
    ax : Axes for the data; the tree takes room on the left, the colour bar above
    features : sequence of str, names of the columns; by default those of the DataFrame
    tree_share : float, width of the tree relative to that of the data
    clusters, n_clusters, support, labels, row_colors, time_scale, time_label : as in `dendrogram`
    z_score, standard_scale, cmap, center, value_label : as in `clustermap`
    """
    values = np.asarray(X, dtype=float)
    if values.ndim != 2 or len(values) != tree.n:
        raise InputError(f"X must have shape ({tree.n}, d), one row per leaf, not {values.shape}.")
    columns = column_names(X) or () if features is None else as_names(features, "features", values.shape[1])
    number, _, side_branch = as_clusters(tree, clusters, n_clusters, support)
    order = arrange(tree).tips
    ax = ax or new_axes(7.5, float(np.clip(1.0 + 0.13 * tree.n, 3.0, 9.0)))
    strips = as_strips(row_colors, tree.labels, clusters=number)
    beside = [(strip.name, strip.colors) for strip in strips]  # an annotation may be called "clusters" too
    if number is not None:
        beside.append(("clusters", np.array([color_of(cluster) for cluster in number.tolist()])))
    parts = _split(ax, tree_share, 1.2 * _STRIP_WIDTH * len(beside))
    values, scale_label = rescaled(values, z_score, standard_scale)
    image = draw_table(ax, values[order], center, cmap=cmap)
    ax.figure.colorbar(image, cax=parts.bar, orientation="horizontal", label=value_label or scale_label or "value")
    parts.bar.xaxis.set_ticks_position("top")
    parts.bar.xaxis.set_label_position("top")
    parts.bar.tick_params(labelsize=8)
    parts.bar.xaxis.label.set_fontsize(9)
    for k, (name, colors) in enumerate(reversed(beside)):
        _draw_strip(ax, -_STRIP_WIDTH * (1 + 1.2 * k), name, colors[order])
    add_strip_legend(ax, strips, parts)
    shape: dict[str, Any] = {"labels": False, "max_leaves": None, "time_scale": time_scale, "time_label": time_label}
    dendrogram(tree, parts.tree, clusters=number, side_branches=side_branch, support=support, **shape)
    names = leaf_names(tree, labels)
    name_cells(ax, columns, [names[leaf] for leaf in order] if names else [])
    ax.yaxis.tick_right()
    return parts


def _split(ax: Axes, tree_share: float, strips_share: float) -> HeatmapAxes:
    """Make room for the tree to the left of the axes, with strips between, and for a colour bar above them."""
    figure: Any = ax.figure
    ratios: dict[str, Any] = {
        "width_ratios": [tree_share, max(strips_share, 1e-3), 1.0],
        "height_ratios": [0.12 / max(ax.bbox.height / figure.dpi, 1.0), 1.0],
        "wspace": 0.02,
        "hspace": 0.02,
    }
    spec = ax.get_subplotspec()
    if spec is not None:
        grid: Any = spec.subgridspec(2, 3, **ratios)
    else:  # placed by hand: divide the same rectangle
        box = ax.get_position()
        grid = GridSpec(2, 3, figure, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1, **ratios)
        ax.set_position(grid[1, 2].get_position(figure))
    ax.set_subplotspec(grid[1, 2])
    return HeatmapAxes(ax, figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[0, 2]))


def _draw_strip(ax: Axes, left: float, name: str, colors: np.ndarray) -> None:
    """Draw a column of colours, one per row, to the left of the data."""
    right = left + _STRIP_WIDTH
    corners = [[(left, i - 0.5), (right, i - 0.5), (right, i + 0.5), (left, i + 0.5)] for i in range(len(colors))]
    strip = PolyCollection(corners, facecolors=colors.tolist(), edgecolors="none", label=name, clip_on=False)
    strip.set_transform(ax.get_yaxis_transform())
    ax.add_collection(strip, autolim=False)
