"""Densitree: many trees of a posterior on top of each other, dark lines where they agree, a blur where they differ."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from .._runtime.typing import ArrayLike
from .._runtime.validation import check_choice, check_count
from ..numerics.weighted import pick_evenly
from ..posterior.posterior import Posterior
from ..tree.distances import with_leaves_as
from ..tree.tree import Tree
from . import style
from .clusters import as_clusters
from .geometry import Direction, arrange, node_clusters, time_scale_for

_MAX_COLOURED_TOPOLOGIES = 3
_MIN_COLOURED_SHARE = 0.05  # of the posterior; a rarer topology has no colour of its own
_OTHERS = "#808080"
_MAX_VECTOR_LINES = 20_000  # a PDF with more could not be opened, so they are rasterized


def cloud(
    posterior: Posterior,
    ax: Axes | None = None,
    *,
    max_trees: int = 200,
    reference: Tree | bool = True,
    orientation: str = "left",
    shape: str = "slanted",
    labels: bool = True,
    clusters: ArrayLike | None = None,
    n_clusters: int | None = None,
    time_scale: str = "auto",
    time_label: str | None = "time",
    title: str | None = None,
    alpha: float | None = None,
) -> Axes:
    """Draw many trees of a posterior over one order of the leaves (a densitree).

    Without clusters, the three most common topologies have colours of their own, if they are common enough; the
    others are grey.

    Parameters
    ----------
    posterior : Posterior
    max_trees : int, how many trees to draw, each standing for the same share of the posterior
    reference : Tree that orders the leaves and is drawn on top, by default the mean tree; False does not draw it
    shape : "slanted" or "square", for branches straight from parent to child, or with a right angle
    clusters, n_clusters : array (n,) of labels, or int, optional
        Clusters to colour, as in `dendrogram`, instead of topologies: a branch above leaves of one cluster has its
        colour.
    title : str, optional; by default a new figure's title says what is drawn
    alpha : opacity of one tree; by default it depends on the number of trees
    orientation, labels, time_scale, time_label : as in `dendrogram`
    """
    check_choice("shape", shape, ("slanted", "square"))
    check_count("max_trees", max_trees)
    direction = Direction.of(orientation)
    base = posterior.mean_tree() if isinstance(reference, bool) else with_leaves_as(reference, posterior.labels)
    layout = arrange(base)
    number, cluster_names, _ = as_clusters(base, clusters, n_clusters, posterior)
    picked = pick_evenly(posterior.weights, max_trees)
    children, times = posterior.children[picked], posterior.times[picked]
    is_new = ax is None
    ax = ax or direction.new_axes(base.n, max(map(len, base.labels)))
    scale = time_scale_for(base, time_scale)
    direction.frame(ax, layout.limits, max(times.max(), base.times[-1]), scale, time_label)

    crowd = len(picked) * np.sqrt(max(base.n, 20) / 20)
    opacity = float(np.clip(16.0 / crowd, 0.02, 0.8)) if alpha is None else alpha
    canvas = _Canvas(ax, layout.across[: base.n], direction, shape, opacity)
    if number is None:
        entries = canvas.draw_by_topology(posterior, picked)
    else:
        canvas.draw(children, times, "trees", canvas.colors(children, number), zorder=2)
        found = sorted(set(number[number >= 0].tolist()))
        entries = [Line2D([], [], color=style.color_of(c), lw=2, label=str(c + 1)) for c in found]
        entries = [
            style.legend_line("clusters", entries if cluster_names is None else style.cluster_lines(cluster_names))
        ]
    if reference is not False:
        mixed = style.INK if number is None else canvas.colors(base.children[None], number, style.INK)
        canvas.draw(base.children[None], base.times[None], "reference", mixed, linewidths=1.1, alpha=None, zorder=3)
        if number is not None and cluster_names is None:
            canvas.number_clusters(base, number)
        line = Line2D([], [], color=style.INK, lw=1.1, label="mean tree" if reference is True else "reference")
        entries.append(style.legend_line("dark lines" if number is None else "bold lines", [line]))
    size = style.font_that_fits(direction.length_across(ax) / layout.total_width) if labels else None
    colors = None if number is None else [style.color_of(c) for c in number[layout.tips].tolist()]
    names = [base.labels[leaf] for leaf in layout.tips]
    direction.name_leaves(ax, layout.across[layout.tips], names, style.NameStyle(size, colors))
    style.add_legend(ax, entries, above=orientation == "top")
    if is_new or title is not None:
        style.set_title(ax, f"{len(picked):,} sampled trees of {base.n:,} leaves" if title is None else title)
    return ax


class _Canvas(NamedTuple):
    """Where trees are drawn, and how."""

    ax: Axes
    leaf_places: np.ndarray
    direction: Direction
    shape: str
    opacity: float

    def draw(self, children: np.ndarray, times: np.ndarray, label: str, colors: Any, **look: Any) -> None:
        lines = _lines(children, times, self.leaf_places, self.direction, self.shape)
        collection = LineCollection(lines, colors=colors, **{"linewidths": 0.7, "alpha": self.opacity, **look})
        collection.set(label=label, rasterized=len(lines) > _MAX_VECTOR_LINES)
        self.ax.add_collection(collection, autolim=False)

    def draw_by_topology(self, posterior: Posterior, picked: np.ndarray) -> list[list[Any]]:
        """Draw the most common topologies in colours and return the line of the legend, if there are any."""
        children, times = posterior.children[picked], posterior.times[picked]
        topology, shares = _topologies(posterior)
        groups = [(f"topology {k + 1}", style.PALETTE[k], topology[picked] == k) for k in range(len(shares))]
        groups.append(("other topologies", _OTHERS if shares else style.PALETTE[0], topology[picked] >= len(shares)))
        for rank, (name, color, of_tree) in enumerate(group for group in groups if group[2].any()):
            self.draw(children[of_tree], times[of_tree], name, color, zorder=2 - 0.1 * rank)
        if not shares:
            return []
        handles = [
            Line2D([], [], color=style.PALETTE[k], label=f"{100 * share:.0f} %") for k, share in enumerate(shares)
        ]
        rest = 1.0 - sum(shares)
        if rest > 0.005:
            handles.append(Line2D([], [], color=_OTHERS, label=f"{100 * rest:.0f} % others"))
        return [style.legend_line("topologies", handles)]

    def number_clusters(self, tree: Tree, number: np.ndarray) -> None:
        """Write the number of each cluster on the branch above its largest clade, unless there is only one."""
        cluster = node_clusters(tree, number)
        if cluster[-1] >= 0:
            return
        lines = _lines(tree.children[None], tree.times[None], self.leaf_places, self.direction, self.shape)
        child = tree.children.ravel()
        order = np.argsort(-tree.sizes[child], kind="stable")
        largest = {int(cluster[child[edge]]): edge for edge in order[::-1].tolist() if cluster[child[edge]] >= 0}
        style.number_branches(self.ax, list(largest), [lines[edge][-2:] for edge in largest.values()])

    @staticmethod
    def colors(children: np.ndarray, number: np.ndarray, mixed: str = _OTHERS) -> np.ndarray:
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


def _lines(
    children: np.ndarray, times: np.ndarray, leaf_places: np.ndarray, direction: Direction, shape: str
) -> list[np.ndarray]:
    """Return the branches of M trees, each as an array (points, 2).

    A slanted tree's nodes stand at the mean place of their leaves, which moves little between similar trees; a square
    one's half-way between their children, where no branch of theirs stands.
    """
    n_trees, n = len(times), len(leaf_places)
    across, size = np.empty((n_trees, 2 * n - 1)), np.ones((n_trees, 2 * n - 1))
    across[:, :n] = leaf_places
    for k in range(n - 1):
        weights = np.take_along_axis(size, children[:, k], axis=1)
        total = (weights * np.take_along_axis(across, children[:, k], axis=1)).sum(axis=1)
        across[:, n + k] = total / weights.sum(axis=1)
        if shape == "slanted":
            size[:, n + k] = weights.sum(axis=1)
    time = np.concatenate([np.zeros((n_trees, n)), times], axis=1)
    child = children.reshape(n_trees, -1)
    parent = np.broadcast_to(np.repeat(np.arange(n, 2 * n - 1), 2), child.shape)
    corner = [] if shape == "slanted" else [(child, parent)]  # (node whose place, node whose time)
    points = [
        direction.points(np.take_along_axis(across, at, axis=1), np.take_along_axis(time, when, axis=1))
        for at, when in [(parent, parent), *corner, (child, child)]
    ]
    return list(np.stack(points, axis=-2).reshape(-1, len(points), 2))


def _topologies(posterior: Posterior) -> tuple[np.ndarray, list[float]]:
    """Return the topology of each tree, (T,) numbered from the commonest on, and the shares of those with a colour."""
    clades = np.sort(posterior.clade_table.ids, axis=1)
    _, first, number = np.unique(clades, axis=0, return_index=True, return_inverse=True)
    share = np.bincount(number.ravel(), weights=posterior.weights)
    order = np.lexsort((first, -share))
    common = share[order][:_MAX_COLOURED_TOPOLOGIES]
    return np.argsort(order)[number.ravel()], common[common >= _MIN_COLOURED_SHARE].tolist()
