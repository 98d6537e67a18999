"""Densitree: many trees of a posterior on top of each other, dark lines where they agree, a blur where they differ."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from .._runtime.validation import check_choice, check_count
from ..numerics.weighted import pick_evenly
from ..posterior.posterior import Posterior
from ..tree.distances import with_leaves_as
from ..tree.tree import Tree
from .geometry import Direction, arrange
from .style import INK, PALETTE, add_legend, font_that_fits

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
    time_scale: str = "linear",
    time_label: str | None = "time",
    alpha: float | None = None,
) -> Axes:
    """Draw many trees of a posterior over one order of the leaves (a densitree).

    The three most common topologies have colours of their own, if they are common enough; the others are grey.

    Parameters
    ----------
    posterior : Posterior
    max_trees : int, how many trees to draw, each standing for the same share of the posterior
    reference : Tree that orders the leaves and is drawn on top, by default the mean tree; False does not draw it
    shape : "slanted" or "square", for branches straight from parent to child, or with a right angle
    alpha : opacity of one tree; by default it depends on the number of trees
    orientation, labels, time_scale, time_label : as in `dendrogram`
    """
    check_choice("shape", shape, ("slanted", "square"))
    check_count("max_trees", max_trees)
    direction = Direction.of(orientation)
    base = posterior.mean_tree() if isinstance(reference, bool) else with_leaves_as(reference, posterior.labels)
    layout = arrange(base)
    picked = pick_evenly(posterior.weights, max_trees)
    children, times = posterior.children[picked], posterior.times[picked]
    ax = ax or direction.new_axes(base.n)
    direction.frame(ax, layout.limits, max(times.max(), base.times[-1]), time_scale, time_label)

    crowd = len(picked) * np.sqrt(max(base.n, 20) / 20)
    opacity = float(np.clip(16.0 / crowd, 0.02, 0.8)) if alpha is None else alpha
    topology, shares = _topologies(posterior)
    groups = [(f"topology {k + 1}", PALETTE[k], topology[picked] == k) for k in range(len(shares))]
    groups.append(("other topologies", _OTHERS if shares else PALETTE[0], topology[picked] >= len(shares)))
    for rank, (name, color, of_tree) in enumerate(group for group in groups if group[2].any()):
        lines = _lines(children[of_tree], times[of_tree], layout.across[: base.n], direction, shape)
        collection = LineCollection(lines, colors=color, linewidths=0.7, alpha=opacity, zorder=2 - 0.1 * rank)
        collection.set(label=name, rasterized=len(lines) > _MAX_VECTOR_LINES)
        ax.add_collection(collection, autolim=False)
    if reference is not False:
        lines = _lines(base.children[None], base.times[None], layout.across[: base.n], direction, shape)
        ax.add_collection(LineCollection(lines, colors=INK, linewidths=1.1, label="reference", zorder=3))
    size = font_that_fits(direction.length_across(ax) / layout.total_width) if labels else None
    direction.name_leaves(ax, layout.across[layout.tips], [base.labels[leaf] for leaf in layout.tips], size)
    if shares:
        handles = [Line2D([], [], color=PALETTE[k], label=f"{100 * share:.0f} %") for k, share in enumerate(shares)]
        rest = 1.0 - sum(shares)
        if rest > 0.005:
            handles.append(Line2D([], [], color=_OTHERS, label=f"{100 * rest:.0f} % others"))
        add_legend(ax, handles, "topologies", below=orientation == "bottom")
    return ax


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
