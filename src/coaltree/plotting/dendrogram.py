"""One tree as a picture: branches, clusters, support, intervals of node times, small clades folded into triangles."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from .._runtime.typing import ArrayLike
from .._runtime.validation import check_count
from ..errors import InputError
from ..posterior.posterior import Posterior
from ..tree.rooted import RootedTree
from . import geometry
from .strips import add_strip_legend, as_strips, draw_strips
from .style import (
    INK,
    LARGEST_FONT,
    PALE,
    PALETTE,
    SMALLEST_FONT,
    Direction,
    add_legend,
    as_clusters,
    as_text,
    color_of,
    draw_scale,
    font_that_fits,
)

_POINTS_PER_NUMBER = 9.0  # room of a tip from which supports are printed as numbers; below, as shaded dots
DASHES = (0, (2.2, 1.4))  # of side branches, in widths of the line
SIDE_BRANCH = "side branch"  # in the legend
GRADES = ((0.95, INK), (0.75, PALE), (0.5, "white"))  # least support, shade of its dot


def dendrogram(
    tree: RootedTree,
    ax: Axes | None = None,
    *,
    support: ArrayLike | Posterior | None = None,
    intervals: ArrayLike | Posterior | None = None,
    clusters: ArrayLike | None = None,
    n_clusters: int | None = None,
    side_branches: ArrayLike | None = None,
    number_clusters: bool = False,
    orientation: str = "left",
    labels: bool | Sequence[str] = True,
    max_leaves: int | str | None = "auto",
    time_scale: str = "linear",
    time_label: str | None = "time",
    ladder: bool = True,
    linewidth: float | None = None,
    row_colors: Any = None,
) -> Axes:
    """Draw a tree.

    Parameters
    ----------
    tree : Tree or ConsensusTree
    ax : Axes, optional
        Where to draw; by default a new figure that fits the tree.
    support : array (inner nodes,), Posterior or False, optional
        Support of each clade, or the posterior to compute transfer supports from (see `Posterior.clade_support`); by
        default that of the tree itself, if it has any. Shown in percent above each branch if there is room, otherwise
        as shaded dots.
    intervals : array (inner nodes, 2) or Posterior, optional
        Credible intervals of the node times, drawn as bars.
    clusters, n_clusters : array (n,) of labels, or int, optional
        Clusters to colour, or their number: those of the posterior (`Posterior.cut`) where `support` or `intervals` is
        one, otherwise of the tree. Branches above several clusters, and outliers (-1), are grey; a folded clade of
        several is cut into slices as wide as their shares.
    side_branches : array (n,) of bool, optional
        Which leaves hang beside the core of their cluster, in branches too small to be clusters: these are dashed, and
        hollow where they are folded. With `n_clusters` they are found.
    number_clusters : bool
        Whether to write the number of each cluster, counted from 1, at its largest clade: colours come again after ten.
    orientation : "left", "right", "top" or "bottom"
        Where the root is.
    labels : bool or sequence of str
        Names of the leaves: the tree's, others, or none. They are left out where they would be too small to read.
    max_leaves : int, None or "auto"
        How many tips to draw; smaller clades become triangles labelled with their number of leaves. By default as
        many as there is room for; None draws all.
    time_scale : "linear" or "sqrt"
        "sqrt" gives the many recent merges of large trees more room.
    time_label : str or None
        Label of the time axis; None hides the axis.
    ladder : bool
        Whether the smaller clade of each node comes first; otherwise leaves are in `tree.leaf_order()`.
    linewidth : float, optional
    row_colors : Series, DataFrame, mapping or sequence, optional
        What is known of the leaves, as strips of colour beside them: classes, numbers, or colours. An index of the
        leaves' names is minded. A class has the colour of the cluster that it shares most leaves with.

    Returns
    -------
    The axes.
    """
    direction = Direction.of(orientation)
    names = leaf_names(tree, labels)
    coloured = as_clusters(tree, clusters, n_clusters, support, intervals)
    side_branch = _side_branch(tree, coloured, side_branches)
    own_support = getattr(tree, "support", None)
    support = _per_node(tree, "support", own_support if support is None else support, 1)
    intervals = _per_node(tree, "intervals", intervals, 2)
    if ax is None:
        most = max_leaves if isinstance(max_leaves, int) else 60
        ax = direction.new_axes(min(tree.n, most if names is not None else min(most, 40)))
    place = _arrange(tree, direction, ax, max_leaves, names is not None, ladder)
    draw_scale(ax, direction, time_scale)
    top = tree.node_times[-1]
    if intervals is not None:
        top = max(top, np.nanmax(np.where(np.isnan(place.across[tree.n :, None]), np.nan, intervals), initial=top))
    top = top or 1.0
    direction.frame(ax, place.limits, (0.0, 1.03 * top), time_label)
    width = linewidth or float(np.clip(120.0 / place.total_width, 0.5, 1.4))

    of_node = None if coloured is None else geometry.node_clusters(tree, coloured.number)
    is_side = geometry.node_clusters(tree, side_branch) == 1
    _draw_branches(ax, tree, place, direction, of_node, is_side, width)
    _draw_folded(ax, tree, place, direction, None if coloured is None else coloured.number, is_side, width)
    if intervals is not None:
        _draw_intervals(ax, tree, place, direction, intervals, width)
    strips = as_strips(row_colors, tree.labels, clusters=None if coloured is None else coloured.number)
    room = draw_strips(ax, direction, place, geometry.leaves_of_tips(tree, place), strips) if strips else 0.0
    _write_names(ax, tree, place, direction, names, of_node, room)
    marks = [] if support is None else _draw_support(ax, tree, place, direction, support)
    if is_side.any():
        marks.append(Line2D([], [], color=INK, lw=1.2, ls=DASHES, label=SIDE_BRANCH))
    if marks:
        add_legend(ax, direction, marks)
    if number_clusters and of_node is not None:
        _number_clusters(ax, tree, place, direction, of_node)
    if coloured is not None and coloured.names is not None:
        named = enumerate(coloured.names)
        add_legend(ax, direction, [Line2D([], [], color=color_of(k), lw=2, label=as_text(name)) for k, name in named])
    add_strip_legend(ax, strips)
    return ax


# Reading the arguments


def leaf_names(tree: RootedTree, labels: bool | Sequence[str]) -> Sequence[str] | None:
    """The names to write at the leaves, or None."""
    if labels is False or labels is None:
        return None
    if labels is True:
        return tree.labels
    names = [str(label) for label in labels]
    if len(names) != tree.n:
        raise InputError(f"labels must have one name per leaf, {tree.n} of them, not {len(names)}.")
    return names


def _per_node(tree, what, given, n_dimensions):
    """Values of the inner nodes, given as an array or computed by a posterior."""
    if given is None or given is False:
        return None
    if isinstance(given, Posterior):
        if what == "support":
            given = given.clade_support(tree, kind="transfer", output="numpy")
        else:
            given = given.node_times(tree, output="numpy")
    values = np.asarray(given, dtype=float)
    wanted = (len(tree.children), 2)[:n_dimensions]
    if values.shape != wanted:
        raise InputError(f"{what} must have shape {wanted}, one per inner node, not {values.shape}.")
    return values


def _side_branch(tree, coloured, given):
    """(n,) 1 for the leaves of side branches, 0 for others."""
    if given is None:
        return np.zeros(tree.n, dtype=int) if coloured is None else coloured.side_branch.astype(int)
    found = np.asarray(given)
    if found.shape != (tree.n,) or found.dtype != bool:
        raise InputError(
            f"side_branches must be True or False for each of the {tree.n} leaves, not {found.dtype} of shape "
            f"{found.shape}."
        )
    return found.astype(int)


def _arrange(tree, direction, ax, max_leaves, has_names, ladder):
    # Without names lines may be closer, but not so close that they run into each other.
    room = direction.length_across(ax) / (1.2 * SMALLEST_FONT if has_names else 3.0)
    max_tips = None if max_leaves in (None, "auto") else check_count("max_leaves", max_leaves, 2)
    return geometry.arrange(tree, max_tips, None if max_leaves is None else room, ladder)


# Drawing


def _colors(of_node, nodes):
    if of_node is None:
        return [INK] * len(nodes)
    return [INK if cluster < 0 else color_of(cluster) for cluster in of_node[nodes].tolist()]


def _draw_branches(ax, tree, place, direction, of_node, is_side, width):
    lines = geometry.edges(tree, place)
    points = direction.points(lines.across, lines.time)
    # Grey ones first, so that at a corner the cluster's colour is on top.
    is_grey = np.ones(len(lines.child), dtype=bool) if of_node is None else of_node[lines.child] < 0
    order = np.argsort(~is_grey, kind="stable")
    dashed = is_side[lines.child[order]]
    for label, chosen in (("branches", order[~dashed]), ("side branches", order[dashed])):
        if not len(chosen):
            continue
        drawn = LineCollection(
            list(points[chosen]),
            colors=_colors(of_node, lines.child[chosen]),
            linewidths=width,
            linestyles=[DASHES] if label == "side branches" else "solid",
            capstyle="butt" if label == "side branches" else "projecting",
            joinstyle="miter",
            label=label,
            zorder=2,
        )
        ax.add_collection(drawn, autolim=False)


def _draw_folded(ax, tree, place, direction, clusters, is_side, width):
    """Triangles, hollow in side branches, else in slices as wide as the shares of their clusters, the largest first."""
    if not (place.tips >= tree.n).any():
        return
    corners, colors, inside = [], [], []
    for tip, room, leaves in zip(place.tips, place.width, geometry.leaves_of_tips(tree, place), strict=True):
        if tip < tree.n:
            continue
        found, counts = np.unique([-2] * len(leaves) if clusters is None else clusters[leaves], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        ends = np.concatenate([[0.0], np.cumsum(counts[order])]) / len(leaves)
        base = place.across[tip] + 0.84 * room * (ends - 0.5)
        for cluster, first, last in zip(found[order].tolist(), base[:-1], base[1:], strict=True):
            across, time = [place.across[tip], first, last], [tree.node_times[tip], 0.0, 0.0]
            corners.append(direction.points(np.array(across), np.array(time)))
            colors.append(INK if cluster < -1 else color_of(cluster))
            inside.append("none" if is_side[tip] else colors[-1])
    triangles = PolyCollection(
        corners, facecolors=inside, edgecolors=colors, linewidths=0.6 * width, label="folded clades", zorder=2.1
    )
    triangles.set_alpha(0.55)
    ax.add_collection(triangles, autolim=False)


def _draw_intervals(ax, tree, place, direction, intervals, width):
    nodes = place.open_nodes[np.isfinite(intervals[place.open_nodes - tree.n]).all(axis=1)]
    across = np.repeat(place.across[nodes][:, None], 2, axis=1)
    bars = LineCollection(
        list(direction.points(across, intervals[nodes - tree.n])),
        colors=PALETTE[5],
        linewidths=max(2.0, 3.5 * width),
        alpha=0.55,
        capstyle="butt",
        label="intervals",
        zorder=1.5,
    )
    ax.add_collection(bars, autolim=False)


def _write_names(ax, tree, place, direction, names, of_node, room):
    if names is None:
        direction.name_leaves(ax, [], [], None)
        return
    texts = [names[node] if node < tree.n else f"({place.size[node]})" for node in place.tips.tolist()]
    at = place.across[place.tips]
    gap = np.diff(at).min() * direction.length_across(ax) / place.total_width
    size = font_that_fits(gap)
    direction.name_leaves(ax, at, texts, size)
    if room:
        direction.leaf_axis(ax).set_tick_params(pad=2 + room)
    if size is not None and of_node is not None:
        for text, color in zip(direction.leaf_axis(ax).get_ticklabels(), _colors(of_node, place.tips), strict=False):
            text.set_color(color)


def _number_clusters(ax, tree, place, direction, of_node):
    """Write the number of each cluster on the branch above its largest clade, the larger ones first."""
    lines, times, scale = geometry.edges(tree, place), tree.node_times, ax.figure.dpi / 72.0
    order = np.argsort(-place.size[lines.child], kind="stable")
    seen: set[int] = set()
    taken: list[np.ndarray] = []
    for edge in order.tolist():
        node = int(lines.child[edge])
        cluster = int(of_node[node])
        if cluster < 0 or cluster in seen:
            continue
        seen.add(cluster)
        above, at = lines.time[edge, 0], times[node]
        ends = ax.transData.transform(direction.points(np.repeat(place.across[node], 2), np.array([above, at])))
        spots = [end + (ends[0] - ends[1]) * share for end, share in ((ends[1], 0.5), (ends[1], 0.9), (ends[1], 0.1))]
        spot = next((s for s in spots if all(np.abs(s - t).max() > 11 * scale for t in taken)), spots[0])
        taken.append(spot)
        ax.annotate(
            str(cluster + 1),
            ax.transData.inverted().transform(spot),
            ha="center",
            va="center",
            fontsize=LARGEST_FONT - 1.5,
            color=color_of(cluster),
            fontweight="bold",
            bbox={"boxstyle": "round,pad=0.2", "fc": "white", "ec": color_of(cluster), "lw": 0.8},
            zorder=5,
            annotation_clip=False,
        )


def _draw_support(ax, tree, place, direction, support):
    """Print the supports as numbers or, where room is small, as dots; return what a legend says of these."""
    nodes = place.open_nodes[:-1]  # all trees have the root's clade
    nodes = np.append(nodes, place.tips[place.tips >= tree.n])
    if direction.length_across(ax) >= _POINTS_PER_NUMBER * len(place.tips):
        _write_support(ax, tree, place, direction, nodes, support)
        return []
    return _dot_support(ax, tree, place, direction, nodes, support)


def _write_support(ax, tree, place, direction, nodes, support):
    """Write percentages beside the branch above each node, the oldest first, leaving out what would overlap."""
    size = min(LARGEST_FONT - 2, max(SMALLEST_FONT, direction.length_across(ax) / place.total_width / 1.5))
    taken: list[tuple[float, float]] = []
    times = tree.node_times
    points_per_pixel = 72.0 / ax.figure.dpi
    horizontal, vertical, dx, dy = {
        "left": ("right", "bottom", -2, 1),
        "right": ("left", "bottom", 2, 1),
        "top": ("left", "bottom", 1, 2),
        "bottom": ("left", "top", 1, -2),
    }[direction.root]
    for node in nodes[np.argsort(-times[nodes], kind="stable")].tolist():
        value = support[node - tree.n]
        if not np.isfinite(value):
            continue
        at = direction.points(place.across[node], times[node])
        x, y = ax.transData.transform(at) * points_per_pixel
        if any(abs(x - u) < 1.9 * size and abs(y - v) < 1.15 * size for u, v in taken):
            continue
        taken.append((x, y))
        ax.annotate(
            f"{100 * value:.0f}",
            at,
            xytext=(dx, dy),
            textcoords="offset points",
            ha=horizontal,
            va=vertical,
            fontsize=size,
            color=INK,
            path_effects=[withStroke(linewidth=1.5, foreground="white")],
            zorder=4,
        )


def _dot_support(ax, tree, place, direction, nodes, support):
    values = support[nodes - tree.n]
    times = tree.node_times
    handles, upper = [Line2D([], [], ls="", label="support")], np.inf
    for least, shade in GRADES:
        here = nodes[(values >= least) & (values < upper)]
        at = direction.points(place.across[here], times[here])
        ax.scatter(*at.T, s=9, facecolors=shade, edgecolors=INK, linewidths=0.5, zorder=3, clip_on=False)
        handles.append(
            Line2D([], [], ls="", marker="o", ms=3.5, mfc=shade, mec=INK, mew=0.5, label=f"≥ {100 * least:.0f} %")
        )
        upper = least
    return handles
