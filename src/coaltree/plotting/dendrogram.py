"""Dendrogram of one tree: branches, clusters, support, intervals of node times, small clades folded into triangles."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from .._runtime.typing import ArrayLike
from .._runtime.validation import check_count
from ..errors import InputError
from ..posterior.posterior import Posterior
from ..tree.rooted import RootedTree, as_names
from .clusters import as_clusters
from .geometry import Direction, TreeLayout, arrange, node_clusters
from .strips import add_strip_legend, as_strips, draw_strips
from .style import INK, MAX_FONT, MIN_FONT, PALE, PALETTE, add_legend, cluster_lines, color_of, font_that_fits

_MIN_POINTS_PER_NUMBER = 9.0  # room of a tip from which on supports are printed as numbers; below, as shaded dots
_MIN_POINTS_PER_NAME, _MIN_POINTS_PER_LINE = 6.0, 3.0  # between leaves with names, and without
_MAX_TIPS, _MAX_TIPS_WITHOUT_NAMES = 60, 40  # that a new figure is made for
_DASHES = (0, (2.2, 1.4))  # of side branches, in widths of the line
_GRADES = ((0.95, INK), (0.75, PALE), (0.5, "white"))  # least support, shade of its dot


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
    ax : Axes; by default a new figure that fits the tree
    support : array (inner nodes,), Posterior or False, optional
        Support of each clade, or the posterior to compute transfer supports from (see `Posterior.clade_support`); by
        default that of a consensus tree. In percent above each branch if there is room, otherwise as shaded dots.
    intervals : array (inner nodes, 2) or Posterior; credible intervals of the node times, drawn as bars
    clusters, n_clusters : array (n,) of labels, or int, optional
        Clusters to colour, or their number: those of the posterior (`Posterior.cut`) where `support` or `intervals` is
        one, otherwise of the tree. Outliers (-1) and branches above several clusters are grey; a folded clade of
        several is cut into slices as wide as their shares.
    side_branches : array (n,) of bool, optional
        Leaves in side branches of their cluster, drawn dashed, or hollow if folded; found where `n_clusters` is given.
    number_clusters : bool, whether to write the number of each cluster, counted from 1, at its largest clade
    orientation : "left", "right", "top" or "bottom", where the root is
    labels : bool or sequence of str
        Names of the leaves: the tree's, others, or none. They are left out where they would be too small to read.
    max_leaves : int, None or "auto"
        How many tips to draw, "auto" as many as there is room for, None all. Smaller clades become triangles labelled
        with their number of leaves.
    time_scale : "linear" or "sqrt", which gives the many recent merges of large trees more room
    time_label : str, or None, which hides the time axis
    ladder : bool, whether the smaller clade of each node comes first; otherwise leaves are in `tree.leaf_order()`
    linewidth : float, optional
    row_colors : Series, DataFrame, mapping or sequence, optional
        Annotations of the leaves, as strips of colour beside them: classes, numbers, or colours. Rows are matched by
        an index that names the leaves. A class has the colour of the cluster that it shares most leaves with.
    """
    direction = Direction.of(orientation)
    names = leaf_names(tree, labels)
    number, cluster_names, side_branch = as_clusters(tree, clusters, n_clusters, support, intervals)
    is_side = _side_nodes(tree, side_branch if side_branches is None else side_branches)
    own_support = getattr(tree, "support", None) if support is None else support
    node_support = _per_node(tree, "support", own_support, (len(tree.times),))
    node_intervals = _per_node(tree, "intervals", intervals, (len(tree.times), 2))
    if ax is None:
        most = max_leaves if isinstance(max_leaves, int) else _MAX_TIPS
        ax = direction.new_axes(min(tree.n, most if names is not None else min(most, _MAX_TIPS_WITHOUT_NAMES)))
    room = direction.length_across(ax) / (_MIN_POINTS_PER_LINE if names is None else _MIN_POINTS_PER_NAME)
    max_tips = None if max_leaves in (None, "auto") else check_count("max_leaves", max_leaves, 2)
    layout = arrange(tree, max_tips, None if max_leaves is None else room, ladder)
    linewidth = linewidth or float(np.clip(120.0 / layout.total_width, 0.5, 1.4))
    cluster = np.full(tree.root + 1, -1) if number is None else node_clusters(tree, number)
    drawing = _Drawing(ax, tree, layout, direction, linewidth, cluster, is_side)
    top = tree.node_times[-1]
    if node_intervals is not None:
        top = np.nanmax(node_intervals[np.isfinite(layout.across[tree.n :])], initial=top)
    direction.frame(ax, layout.limits, top, time_scale, time_label)
    drawing.draw_branches()
    drawing.draw_folded(number)
    if node_intervals is not None:
        drawing.draw_intervals(node_intervals)
    strips = as_strips(row_colors, tree.labels, clusters=number)
    drawing.write_names(names, draw_strips(ax, direction, layout, strips))
    marks = [] if node_support is None else drawing.draw_support(node_support)
    if is_side.any():
        marks.append(side_branch_line())
    if marks:
        add_legend(ax, marks, below=direction.root == "bottom")
    if number_clusters:
        drawing.number_clusters()
    if cluster_names is not None:
        add_legend(ax, cluster_lines(cluster_names), below=direction.root == "bottom")
    add_strip_legend(ax, strips)
    return ax


def leaf_names(tree: RootedTree, labels: bool | Sequence[str]) -> Sequence[str] | None:
    """Return the names to write at the leaves, or None."""
    if labels is False or labels is None:
        return None
    return tree.labels if labels is True else as_names(labels, "labels", tree.n)


def support_dots(size: float) -> list[Line2D]:
    """Return legend entries of the grades of support."""
    return [
        Line2D([], [], ls="", marker="o", ms=size, mfc=shade, mec=INK, mew=0.5, label=f"≥ {100 * least:.0f} %")
        for least, shade in _GRADES
    ]


def side_branch_line() -> Line2D:
    """Return the legend entry of side branches."""
    return Line2D([], [], color=INK, lw=1.2, ls=_DASHES, label="side branch")


def _per_node(tree: Any, name: str, given: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return values of the inner nodes, given as an array or computed by a posterior."""
    if given is None or given is False:
        return None
    if isinstance(given, Posterior) and name == "support":
        given = given.clade_support(tree, kind="transfer", output="numpy")
    elif isinstance(given, Posterior):
        given = given.node_times(tree, output="numpy")
    values = np.asarray(given, dtype=float)
    if values.shape != shape:
        raise InputError(f"{name} must have shape {shape}, one per inner node, not {values.shape}.")
    return values


def _side_nodes(tree: RootedTree, side_branches: ArrayLike) -> np.ndarray:
    """Return (nodes,) bool: whether a node is in a side branch."""
    leaves = np.asarray(side_branches)
    if leaves.shape != (tree.n,) or leaves.dtype != bool:
        was = f"{leaves.dtype} of shape {leaves.shape}"
        raise InputError(f"side_branches must be True or False for each of the {tree.n} leaves, not {was}.")
    return node_clusters(tree, leaves.astype(int)) == 1


class _Drawing(NamedTuple):
    """A tree laid out on axes, and the parts that can be drawn of it."""

    ax: Axes
    tree: RootedTree
    layout: TreeLayout
    direction: Direction
    linewidth: float
    cluster: np.ndarray  # (nodes,) the cluster of all leaves under a node, -1 where there are several or none
    is_side: np.ndarray  # (nodes,) bool, whether a node is in a side branch

    def colors(self, nodes: np.ndarray) -> list[str]:
        return [INK if cluster < 0 else color_of(cluster) for cluster in self.cluster[nodes].tolist()]

    def points_of(self, nodes: np.ndarray) -> np.ndarray:
        return self.direction.points(self.layout.across[nodes], self.tree.node_times[nodes])

    def draw_branches(self) -> None:
        parent, child = self.layout.branches()
        across = self.layout.across[np.stack([parent, child, child], axis=1)]
        points = self.direction.points(across, self.tree.node_times[np.stack([parent, parent, child], axis=1)])
        order = np.argsort(self.cluster[child] >= 0, kind="stable")  # at a corner the cluster's colour is on top
        dashed = self.is_side[child[order]]
        for label, edges, dashes, cap in (
            ("branches", order[~dashed], "solid", "projecting"),
            ("side branches", order[dashed], [_DASHES], "butt"),
        ):
            if len(edges):
                style: dict[str, Any] = {"colors": self.colors(child[edges]), "linestyles": dashes, "capstyle": cap}
                style |= {"linewidths": self.linewidth, "joinstyle": "miter", "label": label, "zorder": 2}
                self.ax.add_collection(LineCollection(list(points[edges]), **style), autolim=False)

    def draw_folded(self, number: np.ndarray | None) -> None:
        """Draw triangles, hollow in side branches, in slices as wide as the shares of their clusters, largest first."""
        layout, corners, edge_colors, face_colors = self.layout, [], [], []
        for tip, width, leaves in zip(layout.tips, layout.width, layout.leaves_of_tips(), strict=True):
            if tip < self.tree.n:
                continue
            found, counts = np.unique(
                np.full(len(leaves), -2) if number is None else number[leaves], return_counts=True
            )
            order = np.argsort(-counts, kind="stable")
            ends = np.append(0.0, np.cumsum(counts[order])) / len(leaves)
            base = layout.across[tip] + 0.84 * width * (ends - 0.5)
            for cluster, first, last in zip(found[order].tolist(), base[:-1], base[1:], strict=True):
                across = [layout.across[tip], first, last]
                corners.append(self.direction.points(across, [self.tree.node_times[tip], 0.0, 0.0]))
                edge_colors.append(INK if cluster < -1 else color_of(cluster))
                face_colors.append("none" if self.is_side[tip] else edge_colors[-1])
        if corners:
            colors: dict[str, Any] = {"facecolors": face_colors, "edgecolors": edge_colors}
            triangles = PolyCollection(corners, linewidths=0.6 * self.linewidth, zorder=2.1, **colors)
            triangles.set(alpha=0.55, label="folded clades")
            self.ax.add_collection(triangles, autolim=False)

    def draw_intervals(self, intervals: np.ndarray) -> None:
        nodes = self.layout.open_nodes
        nodes = nodes[np.isfinite(intervals[nodes - self.tree.n]).all(axis=1)]
        points = self.direction.points(self.layout.across[nodes][:, None], intervals[nodes - self.tree.n])
        bars = LineCollection(list(points), linewidths=max(2.0, 3.5 * self.linewidth), capstyle="butt", zorder=1.5)
        bars.set(color=PALETTE[5], alpha=0.55, label="intervals")
        self.ax.add_collection(bars, autolim=False)

    def write_names(self, names: Sequence[str] | None, distance: float) -> None:
        """Write the names of the leaves and the sizes of folded clades this many points away from the tips."""
        if names is None:
            self.direction.name_leaves(self.ax, [], [], None)
            return
        layout, axis = self.layout, self.direction.leaf_axis(self.ax)
        texts = [names[node] if node < self.tree.n else f"({layout.size[node]})" for node in layout.tips.tolist()]
        positions = layout.across[layout.tips]
        size = font_that_fits(np.diff(positions).min() * self.direction.length_across(self.ax) / layout.total_width)
        self.direction.name_leaves(self.ax, positions, texts, size)
        if distance:
            axis.set_tick_params(pad=2 + distance)
        if size is not None and (self.cluster >= 0).any():
            for text, color in zip(axis.get_ticklabels(), self.colors(layout.tips), strict=False):
                text.set_color(color)

    def number_clusters(self) -> None:
        """Write the number of each cluster on the branch above its largest clade, the larger ones first."""
        parent, child = self.layout.branches()
        order = np.argsort(-self.layout.size[child], kind="stable")
        order = order[self.cluster[child[order]] >= 0]
        _, first = np.unique(self.cluster[child[order]], return_index=True)
        distance = 11 * self.ax.figure.dpi / 72.0
        taken: list[np.ndarray] = []
        for edge in order[np.sort(first)].tolist():
            node, cluster = child[edge], int(self.cluster[child[edge]])
            times = self.tree.node_times[[parent[edge], node]]
            above, below = self.ax.transData.transform(self.direction.points(self.layout.across[node], times))
            spots = [below + (above - below) * share for share in (0.5, 0.9, 0.1)]
            spot = next((s for s in spots if all(np.abs(s - t).max() > distance for t in taken)), spots[0])
            taken.append(spot)
            box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": color_of(cluster), "lw": 0.8}
            font: dict[str, Any] = {"fontsize": MAX_FONT - 1.5, "fontweight": "bold", "color": color_of(cluster)}
            at: Any = self.ax.transData.inverted().transform(spot)
            self.ax.annotate(
                str(cluster + 1), at, ha="center", va="center", bbox=box, zorder=5, annotation_clip=False, **font
            )

    def draw_support(self, support: np.ndarray) -> list[Line2D]:
        """Print the supports as numbers or, where room is small, as dots; return the legend entries of these."""
        nodes = np.append(self.layout.open_nodes[:-1], self.layout.folded)  # all trees have the root's clade
        values = support[nodes - self.tree.n]
        if self.direction.length_across(self.ax) >= _MIN_POINTS_PER_NUMBER * len(self.layout.tips):
            self._write_support(nodes, values)
            return []
        upper = np.inf
        for least, shade in _GRADES:
            x, y = self.points_of(nodes[(values >= least) & (values < upper)]).T
            self.ax.scatter(x, y, s=9, facecolors=shade, edgecolors=INK, linewidths=0.5, zorder=3, clip_on=False)
            upper = least
        return [Line2D([], [], ls="", label="support"), *support_dots(3.5)]

    def _write_support(self, nodes: np.ndarray, values: np.ndarray) -> None:
        """Write percentages beside the branch above each node, the oldest first, leaving out what would overlap."""
        size = self.direction.length_across(self.ax) / self.layout.total_width / 1.5
        size = min(MAX_FONT - 2, max(MIN_FONT, size))
        root = self.direction.root
        offset = {"left": (-2, 1), "right": (2, 1), "top": (1, 2), "bottom": (1, -2)}[root]
        style: dict[str, Any] = {"fontsize": size, "color": INK, "zorder": 4}
        style |= {"ha": "right" if root == "left" else "left", "va": "top" if root == "bottom" else "bottom"}
        style["path_effects"] = [withStroke(linewidth=1.5, foreground="white")]
        taken: list[np.ndarray] = []
        points = self.points_of(nodes)
        on_paper = self.ax.transData.transform(points) * 72.0 / self.ax.figure.dpi
        for i in np.argsort(-self.tree.node_times[nodes], kind="stable").tolist():
            overlaps = any((np.abs(on_paper[i] - other) < (1.9 * size, 1.15 * size)).all() for other in taken)
            if overlaps or not np.isfinite(values[i]):
                continue
            taken.append(on_paper[i])
            self.ax.annotate(f"{100 * values[i]:.0f}", points[i], offset, textcoords="offset points", **style)
