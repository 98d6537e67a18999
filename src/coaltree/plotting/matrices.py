"""Matrices: co-clustering probabilities, the data beside the tree, and which columns make a cluster."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba_array
from matplotlib.gridspec import GridSpec

from .._runtime.formatting import field_docs
from .._runtime.typing import ArrayLike
from .._runtime.validation import check_choice, check_count
from ..errors import InputError
from ..model.data.table import column_names
from ..posterior.clusters.explanation import columns_by_cluster
from ..posterior.posterior import Posterior
from ..tree.distances import with_leaves_as
from ..tree.rooted import RootedTree, as_names
from ..tree.tree import Tree
from .clusters import as_clusters
from .color_scale import ZScore, draw_table, rescaled
from .dendrogram import TreeSettings, draw_dendrogram, leaf_names
from .geometry import arrange
from .strips import as_strips, strip_lines
from .style import INCHES_PER_CHARACTER, LEGEND_FONT, add_legend, as_text, color_of, name_cells, new_axes, set_title

if TYPE_CHECKING:
    import pandas

_STRIP_WIDTH = 0.024  # as a share of the width of the data
_MAX_NAME = 30  # characters of names of rows and columns
_POINTS_PER_ROW = 6.0  # at least, where rows are named


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
    cmap, colorbar : colours of Matplotlib, and whether to draw their scale
    """
    together = posterior.coclustering(n_clusters, time=time)
    base = posterior.mean_tree() if tree is None else with_leaves_as(tree, posterior.labels)
    order = arrange(base).tips
    number = posterior.cut(n_clusters, time=time, output="numpy") if tree is None else base.cut(n_clusters, time=time)
    ax = ax or new_axes(6.0, 5.4)
    image = ax.imshow(together[np.ix_(order, order)], vmin=0.0, vmax=1.0, cmap=cmap, interpolation="nearest")
    names = [posterior.labels[leaf] for leaf in order] if labels else []
    name_cells(ax, names, names, max_length=20)
    pad = 4.0
    if number.max() > 0:
        width = _draw_cluster_strips(ax, number[order])
        pad += width
        ax.tick_params(axis="y", pad=2.0 + width)
    into = f"cut at time {time:.4g}" if n_clusters is None else f"cut into {n_clusters} clusters"
    set_title(ax, f"How often two leaves are in one cluster:\nsampled trees, {into}", pad)
    if colorbar:
        _draw_bar(image, ax, "probability of the same cluster", fraction=0.046)
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
    time_scale: str = "auto",
    time_label: str | None = "time",
    title: str | None = None,
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
    title : str, optional; by default a new figure's title says what is drawn
    """
    values = np.asarray(X, dtype=float)
    if values.ndim != 2 or len(values) != tree.n:
        raise InputError(f"X must have shape ({tree.n}, d), one row per leaf, not {values.shape}.")
    columns = column_names(X) or () if features is None else as_names(features, "features", values.shape[1])
    number, _, side_branch = as_clusters(tree, clusters, n_clusters, support)
    order = arrange(tree).tips
    is_new = ax is None
    names = leaf_names(tree, labels)
    ax = ax or _new_axes(tree.n, columns, names or [])
    strips = as_strips(row_colors, tree.labels)
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
        left = -_STRIP_WIDTH * (1 + 1.2 * k)
        _draw_strip(ax, left, name, colors[order])
        text: dict[str, Any] = {"fontsize": LEGEND_FONT, "rotation": 90, "ha": "center", "va": "top"}
        ax.text(left + 0.5 * _STRIP_WIDTH, -0.012, as_text(name, 24), transform=ax.transAxes, **text)
    if number is not None:
        number_runs(ax, number[order], -0.5 * _STRIP_WIDTH)
    shape: dict[str, Any] = {"labels": False, "max_leaves": None, "time_scale": time_scale, "time_label": time_label}
    shape |= {"clusters": number, "side_branches": side_branch, "support": support}
    _, lines = draw_dendrogram(tree, parts.tree, TreeSettings(**shape))
    add_legend(ax, [*lines, *strip_lines(strips)], parts)
    name_cells(ax, columns, [names[leaf] for leaf in order] if names else [], max_length=_MAX_NAME)
    ax.yaxis.tick_right()
    if is_new or title is not None:
        set_title(parts.tree, f"{tree.n:,} rows in the order of their tree" if title is None else title)
    return parts


def explain(
    found: "pandas.DataFrame | Posterior",
    ax: Axes | None = None,
    *,
    n_clusters: int | None = None,
    against: Literal["sister", "others"] = "sister",
    n_columns: int = 25,
    cmap: Any = "RdBu_r",
    colorbar: bool = True,
) -> Axes:
    """Draw which columns make a cluster: a circle for each, its size and colour the standardised difference.

    Circles with a dark edge have an interval without 0. Columns are listed cluster by cluster, each where it differs
    most, and there the larger differences first.

    Parameters
    ----------
    found : DataFrame of `Posterior.explain`; or a Posterior, whose clusters are explained
    n_clusters : int, number of clusters of a Posterior; by default the suggested number
    against : "sister", the difference to the sister clade, or "others", to all other leaves
    n_columns : int, how many columns are shown at most, those with the largest differences
    cmap, colorbar : colours of Matplotlib with a neutral middle, and whether to draw their scale
    """
    check_choice("against", against, ("sister", "others"))
    check_count("n_columns", n_columns)
    if isinstance(found, Posterior):
        number = n_clusters or found.suggest_n_clusters().n_clusters
        found = found.explain(found.cut(number, output="numpy"))
    effect, low, high = (
        found.pivot(index="column", columns="cluster", values=f"{against}{end}") for end in ("", "_low", "_high")
    )
    order = columns_by_cluster(effect.to_numpy().T, n_columns)
    values, is_sure = effect.to_numpy()[order], (low * high > 0.0).to_numpy()[order]
    clusters = list(effect.columns)
    is_counted = all(isinstance(name, int | np.integer) for name in clusters)
    names = [str(name + 1) if is_counted else str(name) for name in clusters]
    ax = ax or new_axes(2.9 + 0.5 * len(names), 1.7 + 0.25 * len(order))
    limit = max(float(np.abs(values).max()), 1.0)
    across, down = np.meshgrid(np.arange(len(names)), np.arange(len(order)))
    marks = ax.scatter(
        across, down, s=15.0 + 200.0 * np.abs(values) / limit, c=values, cmap=cmap, vmin=-limit, vmax=limit,
        edgecolors=np.where(is_sure.ravel(), "0.25", "0.85").tolist(), linewidths=0.8,
    )  # fmt: skip
    ax.set(xlim=(-0.6, len(names) - 0.4), ylim=(len(order) - 0.4, -0.6), xlabel="cluster")
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(order)), [as_text(effect.index[j], _MAX_NAME) for j in order], fontsize=8)
    ax.tick_params(length=0)
    ax.grid(color="0.93", zorder=0)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    whom = "its sister clade" if against == "sister" else "all other rows"
    set_title(ax, f"How each cluster differs\nfrom {whom}")
    if colorbar:
        _draw_bar(marks, ax, "difference in standard deviations", fraction=0.05)
    return ax


def _draw_bar(colors: Any, ax: Axes, label: str, fraction: float) -> None:
    bar = ax.figure.colorbar(colors, ax=ax, fraction=fraction, pad=0.03)
    bar.set_label(label, fontsize=9)
    bar.ax.tick_params(labelsize=8)


def _new_axes(n: int, columns: Sequence[str], rows: Sequence[str]) -> Axes:
    """Make a figure that has room for the names."""
    below, beside = (INCHES_PER_CHARACTER * min(max(map(len, of), default=0), _MAX_NAME) for of in (columns, rows))
    height = 1.8 + below + float(np.clip(0.15 * n, 2.5, 7.5))
    return new_axes(7.0 + (beside if n * _POINTS_PER_ROW <= 72.0 * 7.5 else 0.0), height)


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


def _draw_cluster_strips(ax: Axes, number: np.ndarray) -> float:
    """Draw the clusters of ordered rows at the left and above, numbered; return how many points of paper they take."""
    colors = to_rgba_array([color_of(cluster) for cluster in number.tolist()])
    width = 1.5 * _STRIP_WIDTH
    left, above = ax.inset_axes((-1.2 * width, 0.0, width, 1.0)), ax.inset_axes((0.0, 1.0 + 0.2 * width, 1.0, width))
    for inset, image, name in ((left, colors[:, None], "clusters"), (above, colors[None], "clusters above")):
        inset.imshow(image, aspect="auto", interpolation="nearest")
        inset.set_axis_off()
        inset.set_label(name)
    number_runs(left, number, 0.5)
    return 1.4 * width * ax.bbox.height * 72.0 / ax.figure.dpi


def number_runs(ax: Axes, number: np.ndarray, across: float) -> None:
    """Write the number of each cluster, counted from 1, in its longest run of rows if that is high enough."""
    edges = np.flatnonzero(np.diff(number, prepend=-2, append=-2))
    longest: dict[int, tuple[int, int]] = {}
    for first, last in pairwise(edges.tolist()):
        cluster = int(number[first])
        if cluster >= 0 and last - first > np.diff(longest.get(cluster, (0, 0)))[0]:
            longest[cluster] = (first, last)
    height = ax.bbox.height * 72.0 / ax.figure.dpi / len(number)
    for cluster, (first, last) in longest.items():
        if (last - first) * height < LEGEND_FONT:
            continue
        ax.text(
            across, 0.5 * (first + last - 1), str(cluster + 1), transform=ax.get_yaxis_transform(), ha="center",
            va="center", color="white", weight="bold", fontsize=LEGEND_FONT, clip_on=False,
        )  # fmt: skip


def _draw_strip(ax: Axes, start: float, name: str, colors: np.ndarray) -> None:
    """Draw a column of colours, one per row, to the left of the data."""
    end = start + _STRIP_WIDTH
    at = np.arange(len(colors))[:, None]
    sides = np.broadcast_to([start, end, end, start], (len(colors), 4))
    rows = at + np.array([-0.5, -0.5, 0.5, 0.5])
    strip = PolyCollection(
        list(np.stack([sides, rows], axis=-1)), facecolors=colors.tolist(), edgecolors="none", label=name, clip_on=False
    )
    strip.set_transform(ax.get_yaxis_transform())
    ax.add_collection(strip, autolim=False)
