"""Many trees of a posterior on top of each other: dark lines where they agree, a blur where they differ."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from .._runtime.validation import check_choice, check_count
from ..numerics.weighted import pick_evenly
from ..posterior.posterior import Posterior
from ..tree.distances import with_leaves_as
from ..tree.tree import Tree
from . import geometry
from .style import INK, PALETTE, Direction, add_legend, draw_scale, font_that_fits

_NAMED_TOPOLOGIES = 3
_LEAST_SHARE = 0.05  # a topology rarer than this gets no colour of its own
_OTHERS = "#808080"


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
    """Draw many trees of a posterior over one order of the leaves.

    Parameters
    ----------
    posterior : Posterior
    max_trees : int
        How many trees to draw, each standing for the same share of the posterior.
    reference : Tree or bool
        The tree that gives the leaves their order and is drawn on top: by default the mean tree;
        False orders by it but does not draw it.
    orientation : "left", "right", "top" or "bottom"
    shape : "slanted" or "square"
        How branches are drawn: straight from parent to child, or with a right angle.
    alpha : float, optional
        Opacity of one tree; by default it depends on the number of trees.

    The three most common topologies have colours of their own, if they are common enough; the others are grey.
    """
    check_choice("shape", shape, ("slanted", "square"))
    check_count("max_trees", max_trees)
    direction = Direction.of(orientation)
    base = posterior.mean_tree() if isinstance(reference, bool) else with_leaves_as(reference, posterior.labels)
    place = geometry.arrange(base)
    picked = pick_evenly(posterior.weights, max_trees)
    children, times = posterior.children[picked], posterior.times[picked]
    if ax is None:
        ax = direction.new_axes(base.n)
    draw_scale(ax, direction, time_scale)
    direction.frame(ax, place.limits, (0.0, 1.03 * (max(times.max(), base.times[-1]) or 1.0)), time_label)

    crowd = len(picked) * np.sqrt(max(base.n, 20) / 20)
    opacity = float(np.clip(16.0 / crowd, 0.02, 0.8)) if alpha is None else alpha
    topology, shares = _topologies(posterior)
    groups = [(f"topology {k + 1}", PALETTE[k], topology[picked] == k) for k in range(len(shares))]
    groups.append(("other topologies", _OTHERS if shares else PALETTE[0], topology[picked] >= len(shares)))
    for rank, (name, color, of_tree) in enumerate(group for group in groups if group[2].any()):
        lines = _lines(children[of_tree], times[of_tree], place.across[: base.n], direction, shape)
        collection = LineCollection(
            list(lines), colors=color, linewidths=0.7, alpha=opacity, label=name, zorder=2 - 0.1 * rank
        )
        collection.set_rasterized(len(lines) > 20_000)  # or the PDF of a large cloud cannot be opened
        ax.add_collection(collection, autolim=False)
    if reference is not False:
        lines = _lines(base.children[None], base.times[None], place.across[: base.n], direction, shape)
        ax.add_collection(LineCollection(list(lines), colors=INK, linewidths=1.1, label="reference", zorder=3))
    size = font_that_fits(direction.length_across(ax) / place.total_width) if labels else None
    direction.name_leaves(ax, place.across[place.tips], [base.labels[leaf] for leaf in place.tips], size)
    _add_legend(ax, direction, shares)
    return ax


def _lines(children, times, across_of_leaf, direction, shape):
    """Return (M · (2n-2), points, 2): the branches of M trees.

    A slanted tree's nodes stand at the mean place of their leaves, which moves little between similar trees; a square
    one's half-way between their children, where no branch of theirs stands.
    """
    n_trees, n_merges = times.shape
    n = n_merges + 1
    tree = np.arange(n_trees)
    place = np.empty((n_trees, 2 * n - 1))
    place[:, :n] = across_of_leaf
    size = np.ones((n_trees, 2 * n - 1))
    for k in range(n_merges):
        left, right = children[:, k, 0], children[:, k, 1]
        if shape == "slanted":
            size[:, n + k] = size[tree, left] + size[tree, right]
        total = size[tree, left] * place[tree, left] + size[tree, right] * place[tree, right]
        place[:, n + k] = total / (size[tree, left] + size[tree, right])
    when = np.concatenate([np.zeros((n_trees, n)), times], axis=1)
    child = children.reshape(n_trees, -1)
    parent = np.repeat(np.arange(n, 2 * n - 1), 2)[None].repeat(n_trees, axis=0)
    row = tree[:, None]
    if shape == "slanted":
        across, time = [place[row, parent], place[row, child]], [when[row, parent], when[row, child]]
    else:
        across = [place[row, parent], place[row, child], place[row, child]]
        time = [when[row, parent], when[row, parent], when[row, child]]
    points = direction.points(np.stack(across, axis=-1), np.stack(time, axis=-1))
    return points.reshape(-1, len(across), 2)


def _topologies(posterior):
    """The topology of each tree, (T,) numbered from the commonest on, and the shares of those that get a colour."""
    clades = np.sort(posterior.clade_table.ids, axis=1)
    _, first, number = np.unique(clades, axis=0, return_index=True, return_inverse=True)
    share = np.bincount(number.ravel(), weights=posterior.weights)
    order = np.lexsort((first, -share))
    common = share[order][:_NAMED_TOPOLOGIES]
    return np.argsort(order)[number.ravel()], common[common >= _LEAST_SHARE].tolist()


def _add_legend(ax, direction, shares):
    if not shares:
        return
    handles = [Line2D([], [], color=PALETTE[i], label=f"{100 * share:.0f} %") for i, share in enumerate(shares)]
    rest = 1.0 - sum(shares)
    if rest > 0.005:
        handles.append(Line2D([], [], color=_OTHERS, label=f"{100 * rest:.0f} % others"))
    add_legend(ax, direction, handles, "topologies")
