"""Dendrogram of one tree: branches, clusters, support, intervals of node times, clades folded into triangles."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from .._runtime.typing import ArrayLike
from .._runtime.validation import check_count
from ..errors import InputError
from ..posterior.posterior import Posterior
from ..tree.rooted import RootedTree, as_names
from . import style
from .clusters import as_clusters
from .geometry import (
    MAX_UNFOLDED_LEAVES,
    Direction,
    Folding,
    TreeLayout,
    arrange,
    node_clusters,
    time_scale_for,
)
from .strips import as_strips, draw_strips, strip_lines

_MIN_POINTS_PER_NUMBER = 9.0  # room of a tip from which on supports are printed as numbers; below, as shaded dots
_MIN_POINTS_PER_NAME, _MIN_POINTS_PER_LINE = 6.0, 3.0  # between leaves with names, and without
_MAX_TIPS = 60  # of a larger tree
_MIN_TIPS = 12  # of a larger tree: where there are fewer clusters, the largest are opened
_MIN_SUPPORT = 0.5  # that is shown
NO_SUPPORT = f"below {100 * _MIN_SUPPORT:.0f} % everywhere, not shown"  # in the legend, where there is none to show
_DASHES = (0, (2.2, 1.4))  # of side branches, in widths of the line
_GRADES = ((0.95, style.INK), (0.75, style.PALE), (_MIN_SUPPORT, "white"))  # least support, shade of its dot
_BOX_COLOR = "#B8860B"  # of highlighted clades


def dendrogram(
    tree: RootedTree,
    ax: Axes | None = None,
    *,
    support: ArrayLike | Posterior | None = None,
    intervals: ArrayLike | Posterior | None = None,
    clusters: ArrayLike | None = None,
    n_clusters: int | None = None,
    side_branches: ArrayLike | None = None,
    number_clusters: bool = True,
    highlight: float | None = None,
    orientation: str = "left",
    labels: bool | Sequence[str] = True,
    max_leaves: int | str | None = "auto",
    time_scale: str = "auto",
    time_label: str | None = "time",
    title: str | None = None,
    ladder: bool = True,
    linewidth: float | None = None,
    row_colors: Any = None,
    legend: Sequence[Sequence[Any]] = (),
) -> Axes:
    """Draw a tree.

    Parameters
    ----------
    tree : Tree or ConsensusTree
    ax : Axes; by default a new figure that fits the tree
    support : array (inner nodes,), Posterior or False, optional
        Support of each clade, or the posterior to compute transfer supports from (see `Posterior.clade_support`); by
        default that of a consensus tree. In percent above each branch if there is room, otherwise as shaded dots; not
        shown below 50 %.
    intervals : array (inner nodes, 2) or Posterior; credible intervals of the node times, drawn as bars
    clusters, n_clusters : array (n,) of labels, or int, optional
        Clusters to colour, or their number: those of the posterior (`Posterior.cut`) where `support` or `intervals` is
        one, otherwise of the tree. Outliers (-1) and branches above several clusters are grey; a folded clade of
        several is cut into slices as wide as their shares.
    side_branches : array (n,) of bool, optional
        Leaves in side branches of their cluster, drawn dashed, or hollow if folded; found where `n_clusters` is given.
    number_clusters : bool, whether to write the number of each cluster, counted from 1, at its largest clade
    highlight : float, optional
        Draw boxes around the largest clades whose support is at least this, such as 0.95.
    orientation : "left", "right", "top" or "bottom", where the root is
    labels : bool or sequence of str
        Names of the leaves: the tree's, others, or none. They are left out where they would be too small to read.
    max_leaves : int, None or "auto"
        How many tips to draw, None all, "auto" as many as there is room for, and each cluster as one where there are
        more than 150 leaves. Other clades become triangles labelled with their number of leaves.
    time_scale : "auto", "linear" or "sqrt"
        "sqrt" gives the many recent merges more room; "auto" is "sqrt" where half of the merges are in the youngest
        tenth of the time. The label of the axis says so.
    time_label : str, or None, which hides the time axis
    title : str, optional; by default a new figure's title says what is drawn
    ladder : bool, whether the smaller clade of each node comes first; otherwise leaves are in `tree.leaf_order()`
    linewidth : float, optional
    row_colors : Series, DataFrame, mapping or sequence, optional
        Annotations of the leaves, as strips of colour beside them: classes, numbers, or colours. Rows are matched by
        an index that names the leaves. Classes have a palette of their own, lighter than that of the clusters.
    legend : lines of Matplotlib artists with labels to add to the legend; the first of each line is its title
    """
    settings = TreeSettings(
        support, intervals, clusters, n_clusters, side_branches, number_clusters, highlight, orientation,
        labels, max_leaves, time_scale, time_label, ladder, linewidth, row_colors,
    )  # fmt: skip
    is_new = ax is None
    ax, lines = draw_dendrogram(tree, ax, settings)
    style.add_legend(ax, [*legend, *lines], above=orientation == "top")  # where names of leaves are below the axes
    if is_new or title is not None:
        text = _title(tree, clusters, n_clusters) if title is None else title
        style.set_title(ax, text, y=1.0 if orientation in ("left", "right") else None)
    return ax


class TreeSettings(NamedTuple):
    """The settings of `dendrogram`."""

    support: Any = None
    intervals: Any = None
    clusters: Any = None
    n_clusters: int | None = None
    side_branches: Any = None
    number_clusters: bool = True
    highlight: float | None = None
    orientation: str = "left"
    labels: Any = True
    max_leaves: int | str | None = "auto"
    time_scale: str = "auto"
    time_label: str | None = "time"
    ladder: bool = True
    linewidth: float | None = None
    row_colors: Any = None


def draw_dendrogram(tree: RootedTree, ax: Axes | None, settings: TreeSettings) -> tuple[Axes, list[list[Artist]]]:
    """Draw a tree, and return its axes and the lines of its legend, which are for the caller to draw."""
    given = settings
    direction = Direction.of(given.orientation)
    scale = time_scale_for(tree, given.time_scale)
    names = leaf_names(tree, given.labels)
    number, cluster_names, side_branch = as_clusters(
        tree, given.clusters, given.n_clusters, given.support, given.intervals
    )
    is_side = _side_nodes(tree, side_branch if given.side_branches is None else given.side_branches)
    support = getattr(tree, "support", None) if given.support is None else given.support
    node_support = _per_node(tree, "support", support, (len(tree.times),))
    node_intervals = _per_node(tree, "intervals", given.intervals, (len(tree.times), 2))
    cluster = np.full(tree.root + 1, -1) if number is None else node_clusters(tree, number)
    folding = _folding(tree, given.max_leaves, None if number is None else cluster)
    name_length = max(map(len, names)) if names is not None and tree.n <= MAX_UNFOLDED_LEAVES else 14
    is_new = ax is None
    ax = ax or direction.new_axes(_n_tips(tree, folding, given.max_leaves, given.ladder), name_length)
    if given.max_leaves is not None and not (is_new and tree.n <= MAX_UNFOLDED_LEAVES):
        per_tip = _MIN_POINTS_PER_LINE if names is None else _MIN_POINTS_PER_NAME
        folding = folding._replace(room=direction.length_across(ax) / per_tip)
    placed = arrange(tree, folding, given.ladder)
    strips = as_strips(given.row_colors, tree.labels)
    linewidth = given.linewidth or float(np.clip(120.0 / placed.total_width, 0.5, 1.4))
    drawing = _Drawing(ax, tree, placed, direction, linewidth, cluster, is_side)
    top = tree.node_times[-1]
    if node_intervals is not None:
        top = np.nanmax(node_intervals[np.isfinite(placed.across[tree.n :])], initial=top)
    direction.frame(ax, placed.limits, top, scale, given.time_label)
    drawing.draw_branches()
    drawing.draw_folded(number)
    if given.highlight is not None:
        drawing.highlight(node_support, given.highlight)
    if node_intervals is not None:
        drawing.draw_intervals(node_intervals)
    reach = draw_strips(ax, direction, placed, strips)
    drawing.write_names(names, reach)
    taken = drawing.number_clusters() if given.number_clusters and cluster_names is None else []
    lines = drawing.draw_support(node_support, taken) if node_support is not None else []
    lines += drawing.other_marks(given.highlight, given.intervals)
    if cluster_names is not None:
        lines.append(style.legend_line("clusters", style.cluster_lines(cluster_names)))
    return ax, [*lines, *strip_lines(strips)]


def _title(tree: RootedTree, clusters: ArrayLike | None, n_clusters: int | None) -> str:
    kind = "Consensus tree" if hasattr(tree, "support") else "Tree"
    labels = [] if clusters is None else [label for label in np.asarray(clusters).tolist() if label != -1]
    k = n_clusters or len(set(labels))
    return f"{kind} of {tree.n:,} leaves" + (f" in {k} clusters" if k > 1 else "")


def _folding(tree: RootedTree, max_leaves: int | str | None, cluster: np.ndarray | None) -> Folding:
    """Return which clades to fold, whatever the room."""
    max_tips = None if max_leaves in (None, "auto") else check_count("max_leaves", max_leaves, 2)
    is_large = max_leaves == "auto" and tree.n > MAX_UNFOLDED_LEAVES
    has_several = cluster is not None and cluster[-1] < 0
    return Folding(max_tips, cluster=cluster, max_pure_tips=_MIN_TIPS if has_several and is_large else None)


def _n_tips(tree: RootedTree, folding: Folding, max_leaves: int | str | None, ladder: bool) -> int:
    """Return how many tips a new figure is made for."""
    if max_leaves is None:
        return tree.n
    most = MAX_UNFOLDED_LEAVES if tree.n <= MAX_UNFOLDED_LEAVES else _MAX_TIPS
    return int(np.ceil(arrange(tree, folding._replace(room=most), ladder).total_width))


def leaf_names(tree: RootedTree, labels: bool | Sequence[str]) -> Sequence[str] | None:
    """Return the names to write at the leaves, or None."""
    if labels is False or labels is None:
        return None
    return tree.labels if labels is True else as_names(labels, "labels", tree.n)


def support_dots(size: float) -> list[Line2D]:
    """Return legend entries of the grades of support."""
    return [
        Line2D([], [], ls="", marker="o", ms=size, mfc=shade, mec=style.INK, mew=0.5, label=f"≥ {100 * least:.0f} %")
        for least, shade in _GRADES
    ]


def support_number(label: str = "in %") -> Line2D:
    """Return the legend entry of supports that are written as numbers."""
    return Line2D([], [], ls="", marker="$95$", ms=8, color=style.INK, mew=0.2, label=label)


def side_branch_line() -> Line2D:
    """Return the legend entry of side branches."""
    return Line2D([], [], color=style.INK, lw=1.2, ls=_DASHES, label="side branch")


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
        return [style.INK if cluster < 0 else style.color_of(cluster) for cluster in self.cluster[nodes].tolist()]

    def points_of(self, nodes: np.ndarray) -> np.ndarray:
        return self.direction.points(self.layout.across[nodes], self.tree.node_times[nodes])

    def draw_branches(self) -> None:
        parent, child = self.layout.branches()
        nodes = np.stack([parent, child], axis=1)
        points = self.direction.branches(self.layout.across[nodes], self.tree.node_times[nodes])
        order = np.argsort(self.cluster[child] >= 0, kind="stable")  # at a corner the cluster's colour is on top
        dashed = self.is_side[child[order]]
        for label, edges, dashes, cap in (
            ("branches", order[~dashed], "solid", "projecting"),
            ("side branches", order[dashed], [_DASHES], "butt"),
        ):
            if len(edges):
                look: dict[str, Any] = {"colors": self.colors(child[edges]), "linestyles": dashes, "capstyle": cap}
                look |= {"linewidths": self.linewidth, "joinstyle": "miter", "label": label, "zorder": 2}
                self.ax.add_collection(LineCollection(list(points[edges]), **look), autolim=False)

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
                apex = (layout.across[tip], self.tree.node_times[tip])
                corners.append(self.direction.triangle(apex, (first, last)))
                edge_colors.append(style.INK if cluster < -1 else style.color_of(cluster))
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
        bars.set(color=style.PALETTE[5], alpha=0.55, label="intervals")
        self.ax.add_collection(bars, autolim=False)

    def highlight(self, support: np.ndarray | None, limit: float) -> None:
        """Draw a box around each of the largest clades with at least this support; the root's is no clade."""
        if support is None:
            raise InputError("highlight needs support, an array or a posterior.")
        if not 0.0 < limit <= 1.0:
            raise InputError(f"highlight must be a support between 0 and 1, such as 0.95, not {limit!r}.")
        layout, n = self.layout, self.tree.n
        is_inside = np.zeros(len(layout.size), dtype=bool)
        parent, child = layout.branches()
        ends, corners = layout.extents(), []
        for up, node in zip(parent[::-1].tolist(), child[::-1].tolist(), strict=True):  # parents before children
            is_inside[node] = is_inside[up]
            if node < n or is_inside[up] or not support[node - n] >= limit:
                continue
            is_inside[node] = True
            low, high = self.tree.node_times[[node, up]]
            time = low + min(0.25 * (high - low), 0.02 * self.tree.times[-1])
            corners.append(self.direction.box((ends[node, 0] + 0.08, ends[node, 1] - 0.08), (0.0, time)))
        if not corners:
            return
        boxes = PolyCollection(corners, facecolors=_BOX_COLOR, edgecolors=_BOX_COLOR, linewidths=1.0, zorder=1.2)
        boxes.set(alpha=0.25, label="highlighted")
        self.ax.add_collection(boxes, autolim=False)

    def write_names(self, names: Sequence[str] | None, distance: float) -> None:
        """Write the names of the leaves and the sizes of folded clades this far away from the tips."""
        if names is None:
            self.direction.name_leaves(self.ax, [], [], style.NameStyle())
            return
        layout = self.layout
        texts = [names[node] if node < self.tree.n else f"({layout.size[node]})" for node in layout.tips.tolist()]
        of_tip = self.cluster[layout.tips]
        for place in np.flatnonzero((of_tip >= 0) & (layout.tips >= self.tree.n)).tolist():
            in_cluster = layout.tips[of_tip == of_tip[place]]
            if in_cluster[~self.is_side[in_cluster]].tolist() == [layout.tips[place]]:  # all but side branches
                texts[place] = f"cluster {of_tip[place] + 1} {texts[place]}"
        positions = layout.across[layout.tips]
        size = style.font_that_fits(
            np.diff(positions).min() * self.direction.length_across(self.ax) / layout.total_width
        )
        colors = self.colors(layout.tips) if (self.cluster >= 0).any() else None
        self.direction.name_leaves(self.ax, positions, texts, style.NameStyle(size, colors, distance))

    def number_clusters(self) -> list[np.ndarray]:
        """Write the number of each cluster on the branch above its largest clade, larger ones first; return where."""
        parent, child = self.layout.branches()
        order = np.argsort(-self.layout.size[child], kind="stable")
        order = order[self.cluster[child[order]] >= 0]
        _, first = np.unique(self.cluster[child[order]], return_index=True)
        edges = order[np.sort(first)]
        if self.cluster[-1] >= 0:  # one cluster has no branch of its own
            return []
        ends = np.stack([parent[edges], child[edges]], axis=1)
        places = np.repeat(self.layout.across[child[edges]][:, None], 2, axis=1)
        points = self.direction.points(places, self.tree.node_times[ends])
        return style.number_branches(self.ax, self.cluster[child[edges]].tolist(), list(points))

    def draw_support(self, support: np.ndarray, taken: Sequence[np.ndarray]) -> list[list[Artist]]:
        """Print the supports as numbers or, where room is small, as dots; return the line of the legend."""
        nodes = np.append(self.layout.open_nodes[:-1], self.layout.folded)  # all trees have the root's clade
        values = support[nodes - self.tree.n]
        no_support = [style.legend_line("support", [style.text_entry(NO_SUPPORT)])] if len(nodes) else []
        if self.direction.length_across(self.ax) >= _MIN_POINTS_PER_NUMBER * len(self.layout.tips):
            is_written = self._write_support(nodes, values, taken)
            return [style.legend_line("numbers", [support_number("support in %")])] if is_written else no_support
        upper = np.inf
        for least, shade in _GRADES:
            x, y = self.points_of(nodes[(values >= least) & (values < upper)]).T
            self.ax.scatter(x, y, s=9, facecolors=shade, edgecolors=style.INK, linewidths=0.5, zorder=3, clip_on=False)
            upper = least
        return [style.legend_line("support", support_dots(3.5))] if (values >= _MIN_SUPPORT).any() else no_support

    def other_marks(self, highlight: float | None, intervals: object) -> list[list[Artist]]:
        """Return the line of the legend that explains boxes, bars, dashes and triangles, where there are any."""
        drawn = {str(part.get_label()) for part in self.ax.collections}
        marks: list[Artist] = []
        if "highlighted" in drawn and highlight is not None:
            box: dict[str, Any] = {"facecolor": _BOX_COLOR, "alpha": 0.3}
            marks.append(Patch(**box, label=f"support ≥ {100 * highlight:.0f} %"))
        if "intervals" in drawn:
            level = "90 % interval of the time" if isinstance(intervals, Posterior) else "interval of the time"
            marks.append(Line2D([], [], color=style.PALETTE[5], alpha=0.55, lw=4, label=level))
        if self.is_side.any():
            marks.append(side_branch_line())
        if "folded clades" in drawn:
            triangle: dict[str, Any] = {
                "ls": "",
                "marker": "<",
                "ms": 5,
                "mfc": style.PALE,
                "mec": style.INK,
                "mew": 0.5,
            }
            marks.append(Line2D([], [], **triangle, label="folded clade (leaves)"))
        return [style.legend_line("marks", marks)] if marks else []

    def _write_support(self, nodes: np.ndarray, values: np.ndarray, numbers: Sequence[np.ndarray]) -> bool:
        """Write percentages beside the branch above each node, the oldest first, leaving out what would overlap.

        Return whether there are any; `numbers` is where the numbers of clusters stand, in pixels.
        """
        size = self.direction.length_across(self.ax) / self.layout.total_width / 1.5
        size = min(style.MAX_FONT - 2, max(style.MIN_FONT, size))
        root = self.direction.root
        offset = {"left": (-2, 1), "right": (2, 1), "top": (1, 2), "bottom": (1, -2)}.get(root, (2, 1))
        look: dict[str, Any] = {"fontsize": size, "color": style.INK, "zorder": 4}
        look |= {"ha": "right" if root == "left" else "left", "va": "top" if root == "bottom" else "bottom"}
        look["path_effects"] = [withStroke(linewidth=1.5, foreground="white")]
        per_point = 72.0 / self.ax.figure.dpi
        taken = [spot * per_point for spot in numbers]
        points = self.points_of(nodes)
        on_paper = self.ax.transData.transform(points) * per_point
        for i in np.argsort(-self.tree.node_times[nodes], kind="stable").tolist():
            overlaps = any((np.abs(on_paper[i] - other) < (1.9 * size, 1.15 * size)).all() for other in taken)
            if overlaps or not values[i] >= _MIN_SUPPORT:
                continue
            taken.append(on_paper[i])
            self.ax.annotate(f"{100 * values[i]:.0f}", points[i], offset, textcoords="offset points", **look)
        return len(taken) > len(numbers)
