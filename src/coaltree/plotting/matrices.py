"""Matrices: co-clustering probabilities, the data beside the tree, and which columns make a cluster."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba_array

from .._runtime.validation import check_choice, check_count
from ..posterior.clusters.explanation import columns_by_cluster
from ..posterior.posterior import Posterior
from ..tree.distances import with_leaves_as
from ..tree.tree import Tree
from .geometry import arrange
from .style import as_text, color_of, name_cells, new_axes, number_runs, set_title

if TYPE_CHECKING:
    import pandas

_STRIP_WIDTH = 0.024  # as a share of the width of the data
_MAX_NAME = 30  # characters of names of rows and columns
_POINTS_PER_ROW = 6.0  # at least, where rows are named


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


def _draw_cluster_strips(ax: Axes, number: np.ndarray) -> float:
    """Draw the clusters of ordered rows at the left and above, numbered; return how many points of paper they take."""
    colors = to_rgba_array([color_of(cluster) for cluster in number.tolist()])
    width = 1.5 * _STRIP_WIDTH
    left, above = ax.inset_axes((-1.2 * width, 0.0, width, 1.0)), ax.inset_axes((0.0, 1.0 + 0.2 * width, 1.0, width))
    for inset, image, name in ((left, colors[:, None], "clusters"), (above, colors[None], "clusters above")):
        inset.imshow(image, aspect="auto", interpolation="nearest")
        inset.set_axis_off()
        inset.set_label(name)
    number_runs(left, number, 0.0)
    return 1.4 * width * ax.bbox.height * 72.0 / ax.figure.dpi
