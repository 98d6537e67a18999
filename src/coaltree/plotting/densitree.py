"""Densitree: many trees of a posterior on top of each other, dark lines where they agree, a blur where they differ."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from .._runtime.typing import ArrayLike
from .._runtime.validation import check_count
from ..numerics.weighted import pick_evenly
from ..posterior.clusters.answer import leaves_are
from ..posterior.posterior import Posterior
from . import style
from .clusters import as_clusters
from .geometry import Direction, arrange, time_scale_for

_OTHERS = "#808080"  # branches above several clusters


def densitree(
    posterior: Posterior,
    ax: Axes | None = None,
    *,
    max_trees: int = 200,
    clusters: ArrayLike | None = None,
    n_clusters: int | None = None,
    orientation: str = "left",
    labels: bool = True,
    time_scale: str = "auto",
) -> Axes:
    """Draw many trees of a posterior over the leaves of the mean tree, which is drawn on top.

    Parameters
    ----------
    posterior : Posterior
    ax : Axes, optional; by default a new figure with a title
    max_trees : int, how many trees to draw, each standing for the same share of the posterior
    clusters, n_clusters : array (n,) of labels, or int, optional
        Clusters to colour, as in `dendrogram`: a branch above leaves of one cluster has its colour.
    orientation, labels, time_scale : as in `dendrogram`

    Returns
    -------
    matplotlib.axes.Axes
        With the trees.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
    >>> ax = ct.plotting.densitree(post, n_clusters=3)
    """
    check_count("max_trees", max_trees)
    direction = Direction.of(orientation)
    mean = posterior.mean_tree()
    layout = arrange(mean)
    number, cluster_names = as_clusters(mean, clusters, n_clusters, posterior)
    picked = pick_evenly(posterior.weights, max_trees)
    children, times = posterior.draws.children[picked], posterior.draws.times[picked]
    is_new = ax is None
    ax = ax or direction.new_axes(mean.n, max(map(len, mean.labels)))
    direction.frame(ax, layout.limits, max(times.max(), mean.times[-1]), time_scale_for(mean, time_scale))
    opacity = float(np.clip(16.0 / (len(picked) * np.sqrt(max(mean.n, 20) / 20)), 0.02, 0.8))
    for label, children_, times_, mixed, line_style in (
        ("trees", children, times, style.PALETTE[0] if number is None else _OTHERS, {"alpha": opacity, "zorder": 2}),
        ("mean tree", mean.children[None], mean.times[None], style.INK, {"linewidths": 1.1, "zorder": 3}),
    ):
        lines = _lines(children_, times_, layout.across[: mean.n], direction)
        colors = mixed if number is None else _colors(children_, number, mixed)
        collection = LineCollection(list(lines), colors=colors, **{"linewidths": 0.7, **line_style})
        collection.set(label=label, rasterized=len(lines) > 20_000)  # no program opens such a PDF
        ax.add_collection(collection, autolim=False)
    names = [mean.labels[leaf] for leaf in layout.tips]
    size = style.font_that_fits(direction.length_across(ax) / layout.total_width) if labels else None
    of_names = None if number is None else [style.color_of(c) for c in number[layout.tips].tolist()]
    direction.name_leaves(ax, layout.across[layout.tips], names, size, of_names)
    entries = [Line2D([], [], color=style.INK, lw=1.1, label="mean tree")]
    if number is not None:
        texts = cluster_names or [f"cluster {k + 1}" for k in range(int(number.max()) + 1)]
        entries = [*style.cluster_lines(texts), *entries]
    style.add_legend(ax, [style.legend_line("lines", entries)], above=orientation == "top")
    if is_new:
        style.set_title(ax, f"{len(picked):,} sampled trees of {mean.n:,} {leaves_are(posterior)}")
    return ax


def _lines(children: np.ndarray, times: np.ndarray, leaf_places: np.ndarray, direction: Direction) -> np.ndarray:
    """Return the branches of T trees, (lines, 2, 2), straight from parents to children.

    A node stands at the mean place of its leaves, which moves little between similar trees.
    """
    n_trees, n = len(times), len(leaf_places)
    across, size = np.empty((n_trees, 2 * n - 1)), np.ones((n_trees, 2 * n - 1))
    across[:, :n] = leaf_places
    for k in range(n - 1):
        weights = np.take_along_axis(size, children[:, k], axis=1)
        size[:, n + k] = weights.sum(axis=1)
        total = (weights * np.take_along_axis(across, children[:, k], axis=1)).sum(axis=1)
        across[:, n + k] = total / size[:, n + k]
    time = np.concatenate([np.zeros((n_trees, n)), times], axis=1)
    child = children.reshape(n_trees, -1)
    parent = np.broadcast_to(np.repeat(np.arange(n, 2 * n - 1), 2), child.shape)
    ends = [
        direction.points(np.take_along_axis(across, nodes, axis=1), np.take_along_axis(time, nodes, axis=1))
        for nodes in (parent, child)
    ]
    return np.stack(ends, axis=-2).reshape(-1, 2, 2)


def _colors(children: np.ndarray, number: np.ndarray, mixed: str) -> np.ndarray:
    """Return the colour of each branch, that of the cluster of all leaves below it, in the order of `_lines`."""
    n_trees, n_merges = children.shape[:2]
    cluster = np.full((n_trees, 2 * n_merges + 1), -1)
    cluster[:, : n_merges + 1] = number
    for k in range(n_merges):
        one, other = np.take_along_axis(cluster, children[:, k], axis=1).T
        cluster[:, n_merges + 1 + k] = np.where(one == other, one, -1)
    of_branch = np.take_along_axis(cluster, children.reshape(n_trees, -1), axis=1).ravel()
    palette = np.array([mixed, *(style.color_of(c) for c in range(int(number.max()) + 1))])
    return palette[of_branch + 1]
