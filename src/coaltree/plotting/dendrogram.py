"""Dendrogram of one tree: branches, clusters, support, intervals of node times, clades folded into triangles."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from .._runtime.typing import ArrayLike
from .._runtime.validation import check_count
from ..errors import InputError
from ..posterior.clusters.answer import leaves_are
from ..posterior.clusters.stability import similarity
from ..posterior.diagnostics.convergence import shown_support
from ..posterior.leaf_annotations import annotations_of
from ..posterior.posterior import Posterior
from ..tree.rooted import RootedTree, as_names
from . import style
from .clusters import as_clusters
from .geometry import MAX_UNFOLDED_LEAVES, Direction, TreeLayout, arrange, node_clusters, time_scale_for
from .strips import as_strips, draw_strips, strip_lines

_MIN_POINTS_PER_NUMBER = 9.0  # room of a tip from which on supports are printed as numbers; below, as shaded dots
_MIN_POINTS_PER_NAME, _MIN_POINTS_PER_LINE = 6.0, 3.0  # between leaves with names, and without
_MAX_TIPS = 60  # of a larger tree in a new figure
_MIN_SUPPORT = 0.5  # that is shown
_SUPPORT = "of draws have this group, or nearly"  # what transfer support is, in words
_GRADES = ((0.95, style.INK), (0.75, style.PALE), (_MIN_SUPPORT, "white"))  # least support, shade of its dot


def dendrogram(
    tree: RootedTree | Posterior,
    ax: Axes | None = None,
    *,
    support: ArrayLike | Posterior | None = None,
    intervals: ArrayLike | Posterior | None = None,
    clusters: ArrayLike | None = None,
    n_clusters: int | None = None,
    orientation: str = "left",
    labels: bool | Sequence[str] = True,
    max_leaves: int | str | None = "auto",
    time_scale: str = "auto",
    row_colors: Any = None,
) -> Axes:
    """Draw a tree.

    Parameters
    ----------
    tree : Tree, ConsensusTree or Posterior
        Of a posterior the mean tree is drawn, with its supports and intervals, its leaf annotations, and in the legend
        how stable `n_clusters` clusters are.
    ax : Axes, optional; by default a new figure that fits the tree and has a title
    support : array (inner nodes,), Posterior or False, optional
        Support of each clade, or the posterior to compute transfer supports from (see `Posterior.clade_support`); by
        default that of a consensus tree. In percent above each branch if there is room, otherwise as shaded dots; not
        shown below 50 %.
    intervals : array (inner nodes, 2), Posterior or False, optional; credible intervals of the times, drawn as bars
    clusters, n_clusters : array (n,) of labels, or int, optional
        Clusters to colour, or their number: those of the posterior (`Posterior.cut`) where there is one, otherwise of
        the tree. Outliers (-1) and branches above several clusters are grey; a folded clade of several is cut into
        slices as wide as their shares.
    orientation : "left" or "top", where the root is
    labels : bool or sequence of str
        Names of the leaves: the tree's, others, or none. They are left out where they would be too small to read.
    max_leaves : int, None or "auto"
        How many tips to draw, None all, "auto" as many as there is room for, and each cluster as one where there are
        more than 150 leaves. Other clades become triangles labelled with their number of leaves.
    time_scale : "auto", "linear" or "sqrt"
        "sqrt" gives the many recent merges more room; "auto" is "sqrt" where half of the merges are in the youngest
        tenth of the time. The label of the axis says so.
    row_colors : Series, DataFrame, mapping or sequence, optional
        Annotations of the leaves, as strips of colour beside them: classes, numbers, or colours. Rows are matched by
        an index that names the leaves. Classes have a palette of their own, lighter than that of the clusters.

    Returns
    -------
    matplotlib.axes.Axes
        With the tree.

    Examples
    --------
    >>> X, tree = ct.simulate(12, 3, random_state=0)
    >>> ax = ct.plotting.dendrogram(tree, n_clusters=3)
    """
    is_new, posterior = ax is None, tree if isinstance(tree, Posterior) else None
    if isinstance(tree, Posterior):
        support, intervals = (tree if values is None else values for values in (support, intervals))
        row_colors = annotations_of(tree) or None if row_colors is None else row_colors
        tree = tree.mean_tree()
    direction = Direction.of(orientation)
    scale = time_scale_for(tree, time_scale)
    names = None if labels is False else tree.labels if labels is True else as_names(labels, "labels", tree.n)
    number, cluster_names = as_clusters(tree, clusters, n_clusters, support, intervals)
    cluster = np.full(tree.root + 1, -1) if number is None else node_clusters(tree, number)
    node_support, node_intervals = _supports(tree, support), _intervals(tree, intervals)
    ax, layout = _placed(tree, ax, direction, names, cluster, max_leaves)
    drawing = _Drawing(ax, tree, layout, direction, float(np.clip(120.0 / layout.total_width, 0.5, 1.4)), cluster)
    shown_intervals = None if node_intervals is None else node_intervals[layout.open_nodes - tree.n]
    latest = tree.times[-1] if shown_intervals is None else np.nanmax(shown_intervals, initial=tree.times[-1])
    direction.frame(ax, layout.limits, float(latest), scale)
    drawing.draw_branches()
    drawing.draw_folded(number)
    if shown_intervals is not None:
        drawing.draw_intervals(shown_intervals)
    strips = as_strips(row_colors, tree.labels)
    drawing.write_names(names, draw_strips(ax, direction, layout, strips))
    taken = drawing.number_clusters() if cluster_names is None else []
    lines: list[Sequence[Artist]] = []
    if posterior is not None and number is not None and n_clusters is not None and n_clusters <= 30:
        lines.append(_stability_line(posterior, number))
    if node_support is not None:
        lines.append(drawing.draw_support(node_support, taken))
    lines.append(drawing.other_marks(isinstance(intervals, Posterior)))
    if cluster_names is not None:
        lines.append(style.legend_line("clusters", style.cluster_lines(cluster_names)))
    style.add_legend(ax, [*lines, *strip_lines(strips)], above=orientation == "top")  # else below the names
    if is_new:
        kind = "Mean tree" if posterior is not None else "Consensus tree" if hasattr(tree, "support") else "Tree"
        k = 1 if number is None else len(set(number[number >= 0].tolist()))
        leaves = "leaves" if posterior is None else leaves_are(posterior)
        title = f"{kind} of {tree.n:,} {leaves}" + (f" in {k} clusters" if k > 1 else "")
        style.set_title(ax, title, y=None if direction.is_upright else 1.0)
    return ax


def _stability_line(posterior: Posterior, number: np.ndarray) -> list[Artist]:
    """Return the line of the legend that says how stable each cluster is."""
    of = posterior.stability(number)
    words = enumerate(zip(of.words, of.jaccard, strict=True), 1)
    names = [f"cluster {c}: {similarity(jaccard)}, {word}" for c, (word, jaccard) in words]
    return style.legend_line("stability", style.cluster_lines(names))


def _placed(
    tree: RootedTree,
    ax: Axes | None,
    direction: Direction,
    names: Sequence[str] | None,
    cluster: np.ndarray,
    max_leaves: int | str | None,
) -> tuple[Axes, TreeLayout]:
    """Return the axes, new ones if there are none, and the layout of the tree, folded as far as it takes."""
    max_tips = np.inf if max_leaves in (None, "auto") else check_count("max_leaves", max_leaves, 2)
    is_large = tree.n > MAX_UNFOLDED_LEAVES
    by_cluster = cluster if max_leaves == "auto" and is_large and (cluster >= 0).any() and cluster[-1] < 0 else None
    if ax is None:
        room = np.inf if max_leaves is None or not is_large else _MAX_TIPS
        layout = arrange(tree, max_tips, room, by_cluster)
        n_tips = int(np.ceil(layout.total_width))
        name_length = max(map(len, names)) if names is not None and not is_large else 14
        ax = direction.new_axes(n_tips, name_length)
        if not is_large or max_leaves is None:
            return ax, layout
    per_tip = _MIN_POINTS_PER_LINE if names is None else _MIN_POINTS_PER_NAME
    room = np.inf if max_leaves is None else direction.length_across(ax) / per_tip
    return ax, arrange(tree, max_tips, room, by_cluster)


def _supports(tree: Any, support: Any) -> np.ndarray | None:
    """Return the support of each inner node, as an array or computed from a posterior."""
    if isinstance(support, Posterior):
        support = shown_support(support, tree)
    return _per_node("support", getattr(tree, "support", None) if support is None else support, tree.times.shape)


def _intervals(tree: Any, intervals: Any) -> np.ndarray | None:
    """Return the interval of the time of each inner node, as an array or computed from a posterior."""
    if isinstance(intervals, Posterior):
        intervals = np.asarray(intervals.node_times(tree))
    return _per_node("intervals", intervals, (len(tree.times), 2))


def _per_node(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    if values is None or values is False:
        return None
    values = np.asarray(values, dtype=float)
    if values.shape != shape:
        raise InputError(f"{name} must have shape {shape}, one per inner node, not {values.shape}.")
    return values


class _Drawing(NamedTuple):
    """A tree laid out on axes, and the parts that can be drawn of it."""

    ax: Axes
    tree: RootedTree
    layout: TreeLayout
    direction: Direction
    linewidth: float
    cluster: np.ndarray  # (nodes,) the cluster of all leaves under a node, -1 where there are several or none

    def colors(self, nodes: np.ndarray) -> list[str]:
        return [style.INK if cluster < 0 else style.color_of(cluster) for cluster in self.cluster[nodes].tolist()]

    def points_of(self, nodes: np.ndarray) -> np.ndarray:
        return self.direction.points(self.layout.across[nodes], self.tree.node_times[nodes])

    def draw_branches(self) -> None:
        parent, child = self.layout.branches()
        order = np.argsort(self.cluster[child] >= 0, kind="stable")  # at a corner the cluster's colour is on top
        parent, child = parent[order], child[order]
        across, times = self.layout.across, self.tree.node_times
        corner = self.direction.points(across[child], times[parent])
        points = np.stack([self.points_of(parent), corner, self.points_of(child)], axis=1)
        line_style: dict[str, Any] = {"colors": self.colors(child), "linewidths": self.linewidth, "label": "branches"}
        lines = LineCollection(list(points), capstyle="projecting", joinstyle="miter", zorder=2, **line_style)
        self.ax.add_collection(lines, autolim=False)

    def draw_folded(self, number: np.ndarray | None) -> None:
        """Draw triangles, in slices as wide as the shares of their clusters, largest first."""
        layout, corners, colors = self.layout, [], []
        for tip, width, leaves in zip(layout.tips, layout.width, layout.leaves_of_tips(), strict=True):
            if tip < self.tree.n:
                continue
            of_leaves = np.full(len(leaves), -2) if number is None else number[leaves]
            clusters, counts = np.unique(of_leaves, return_counts=True)
            order = np.argsort(-counts, kind="stable")
            ends = np.append(0.0, np.cumsum(counts[order])) / len(leaves)
            base = layout.across[tip] + 0.84 * width * (ends - 0.5)
            for cluster, first, last in zip(clusters[order].tolist(), base[:-1], base[1:], strict=True):
                times = [self.tree.node_times[tip], 0.0, 0.0]
                corners.append(self.direction.points([layout.across[tip], first, last], times))
                colors.append(style.INK if cluster < -1 else style.color_of(cluster))
        if corners:
            triangles = PolyCollection(corners, linewidths=0.6 * self.linewidth, zorder=2.1)
            triangles.set(color=colors, alpha=0.55, label="folded clades")
            self.ax.add_collection(triangles, autolim=False)

    def draw_intervals(self, intervals: np.ndarray) -> None:
        """Draw bars at the open nodes, whose intervals these are."""
        finite = np.isfinite(intervals).all(axis=1)
        points = self.direction.points(self.layout.across[self.layout.open_nodes[finite], None], intervals[finite])
        bars = LineCollection(list(points), linewidths=max(2.0, 3.5 * self.linewidth), capstyle="butt", zorder=1.5)
        bars.set(color=style.PALETTE[5], alpha=0.55, label="intervals")
        self.ax.add_collection(bars, autolim=False)

    def write_names(self, names: Sequence[str] | None, distance: float) -> None:
        """Write the names of the leaves and the sizes of folded clades this far away from the tips."""
        if names is None:
            self.direction.name_leaves(self.ax, [], [], None)
            return
        layout = self.layout
        texts = [names[node] if node < self.tree.n else f"({layout.size[node]})" for node in layout.tips.tolist()]
        of_tip = self.cluster[layout.tips]
        for place in np.flatnonzero((of_tip >= 0) & (layout.tips >= self.tree.n)).tolist():
            if (of_tip == of_tip[place]).sum() == 1:
                texts[place] = f"cluster {of_tip[place] + 1} {texts[place]}"
        positions = layout.across[layout.tips]
        per_leaf = self.direction.length_across(self.ax) / layout.total_width
        size = style.font_that_fits(np.diff(positions).min() * per_leaf)
        colors = self.colors(layout.tips) if (self.cluster >= 0).any() else None
        self.direction.name_leaves(self.ax, positions, texts, size, colors, distance)

    def number_clusters(self) -> list[np.ndarray]:
        """Write the number of each cluster on the branch above its largest clade, larger ones first; return where."""
        if self.cluster[-1] >= 0:  # one cluster has no branch of its own
            return []
        parent, child = self.layout.branches()
        order = np.argsort(-self.layout.size[child], kind="stable")
        order = order[self.cluster[child[order]] >= 0]
        _, first = np.unique(self.cluster[child[order]], return_index=True)
        edges = order[np.sort(first)]
        times = self.tree.node_times[np.stack([parent[edges], child[edges]], axis=1)]
        points = self.direction.points(self.layout.across[child[edges]][:, None], times)
        return style.number_branches(self.ax, self.cluster[child[edges]].tolist(), list(points))

    def draw_support(self, support: np.ndarray, taken: Sequence[np.ndarray]) -> list[Artist]:
        """Print the supports as numbers or, where room is small, as dots; return the line of the legend."""
        nodes = np.append(self.layout.open_nodes[:-1], self.layout.folded)  # all trees have the root's clade
        values = support[nodes - self.tree.n]
        if len(nodes) and not (values >= _MIN_SUPPORT).any():
            return style.legend_line("numbers", [style.text_entry("no group is in half of the draws")])
        if self.direction.length_across(self.ax) >= _MIN_POINTS_PER_NUMBER * len(self.layout.tips):
            self._write_support(nodes, values, taken)
            number = Line2D([], [], ls="", marker="$95$", ms=8, color=style.INK, mew=0.2, label=f"% {_SUPPORT}")
            return style.legend_line("numbers", [number]) if len(nodes) else []
        dots: list[Artist] = []
        upper = np.inf
        for least, shade in _GRADES:
            x, y = self.points_of(nodes[(values >= least) & (values < upper)]).T
            self.ax.scatter(x, y, s=9, facecolors=shade, edgecolors=style.INK, linewidths=0.5, zorder=3, clip_on=False)
            dot: dict[str, Any] = {"marker": "o", "ms": 3.5, "mfc": shade, "mec": style.INK, "mew": 0.5}
            dots.append(Line2D([], [], ls="", label=f"≥ {100 * least:.0f} %", **dot))
            upper = least
        return style.legend_line("dots", [*dots, style.text_entry(_SUPPORT)])

    def other_marks(self, is_posterior: bool) -> list[Artist]:
        """Return the line of the legend that explains bars and triangles, where there are any."""
        drawn = {str(part.get_label()) for part in self.ax.collections}
        marks: list[Artist] = []
        if "intervals" in drawn:
            label = "90 % interval of the time" if is_posterior else "interval of the time"
            marks.append(Line2D([], [], color=style.PALETTE[5], alpha=0.55, lw=4, label=label))
        if "folded clades" in drawn:
            triangle: dict[str, Any] = {"marker": "<", "ms": 5, "mfc": style.PALE, "mec": style.INK, "mew": 0.5}
            marks.append(Line2D([], [], ls="", label="folded clade (leaves)", **triangle))
        return style.legend_line("marks", marks) if marks else []

    def _write_support(self, nodes: np.ndarray, values: np.ndarray, numbers: Sequence[np.ndarray]) -> None:
        """Write percentages beside the branch above each node, the oldest first, leaving out what would overlap.

        `numbers` is where the numbers of clusters stand, in pixels.
        """
        size = self.direction.length_across(self.ax) / self.layout.total_width / 1.5
        size = min(style.MAX_FONT - 2, max(style.MIN_FONT, size))
        is_upright = self.direction.is_upright
        text_style: dict[str, Any] = {"fontsize": size, "color": style.INK, "zorder": 4, "va": "bottom"}
        text_style["ha"] = "left" if is_upright else "right"
        text_style["path_effects"] = [withStroke(linewidth=1.5, foreground="white")]
        per_point = 72.0 / self.ax.figure.dpi
        taken = [spot * per_point for spot in numbers]
        points = self.points_of(nodes)
        on_paper = self.ax.transData.transform(points) * per_point
        for i in np.argsort(-self.tree.node_times[nodes], kind="stable").tolist():
            overlaps = any((np.abs(on_paper[i] - other) < (1.9 * size, 1.15 * size)).all() for other in taken)
            if overlaps or not values[i] >= _MIN_SUPPORT:
                continue
            taken.append(on_paper[i])
            offset = (1, 2) if is_upright else (-2, 1)
            self.ax.annotate(f"{100 * values[i]:.0f}", points[i], offset, textcoords="offset points", **text_style)
