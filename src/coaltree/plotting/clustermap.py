"""A heat map between two trees: rows and columns clustered, with supports, metadata in colours, and one legend."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from .._runtime.fielddocs import field_docs
from .._runtime.formatting import shortened, some
from .._runtime.typing import RandomState
from ..errors import InputError
from ..model.data.table import Table, read_table
from ..posterior.posterior import Posterior
from ..tree.distances import with_leaves_as
from ..tree.tree import Tree
from . import geometry
from .color_scale import ZScore, colour_limits, rescaled
from .dendrogram import DASHES, GRADES, SIDE_BRANCH, dendrogram
from .strips import NAME_FONT, Strip, as_strips, legend_lines
from .style import INK, LARGEST_FONT, MISSING, as_clusters, as_text, color_of, show_missing

_LONGEST_NAME = 40
_THINNED_FONT = 6.0  # points of names of which there is only room for some
_LEAST_CLADE = 8.0  # points of paper that a clade takes from which on its support is shown


@field_docs(
    tree="None where the order is that of the table.",
    posterior="What the supports are from, where there is one.",
    reordered_ind="Rows (or columns) of the table from top to bottom (left to right).",
)
class Side(NamedTuple):
    """One side of the map: its tree and the order of its leaves."""

    tree: Tree | None
    posterior: Posterior | None
    reordered_ind: np.ndarray


class ClusterMap:
    """A heat map with its trees: the parts that seaborn's grid has, under the same names."""

    figure: Figure
    ax_heatmap: Axes
    ax_row_dendrogram: Axes
    ax_col_dendrogram: Axes
    ax_row_colors: Axes | None
    ax_col_colors: Axes | None
    ax_cbar: Axes
    dendrogram_row: Side
    dendrogram_col: Side
    data2d: Any  #: The values as they are shown, in the order of the map; a DataFrame where one was given.

    @property
    def fig(self) -> Figure:
        """The figure."""
        return self.figure

    @property
    def cax(self) -> Axes:
        """The axes of the colour bar."""
        return self.ax_cbar

    def savefig(self, *args: Any, **settings: Any) -> None:
        """Save the figure, as its own method does, at 150 dots per inch."""
        self.figure.savefig(*args, **{"dpi": 150, **settings})

    def _repr_png_(self) -> bytes:
        from io import BytesIO

        held = BytesIO()
        self.figure.savefig(held, format="png", dpi=100)
        return held.getvalue()


def clustermap(
    data: Any,
    *,
    row_tree: "Posterior | Tree | np.ndarray | bool | None" = None,
    col_tree: "Posterior | Tree | np.ndarray | bool | None" = None,
    row_colors: Any = None,
    col_colors: Any = None,
    n_clusters: int | None = None,
    z_score: ZScore = "auto",
    standard_scale: Any = None,
    cmap: Any = None,
    center: float | None = None,
    vmin: float | None = None,
    vmax: float | None = None,
    value_label: str | None = None,
    time_scale: str = "sqrt",
    figsize: tuple[float, float] | None = None,
    random_state: RandomState = 0,
    **fit_settings: Any,
) -> ClusterMap:
    """Draw a table as a heat map between a tree of its rows and a tree of its columns.

    Parameters
    ----------
    data : DataFrame or array (n, d)
        NaN is missing: it is imputed for the trees, and hatched in the picture.
    row_tree, col_tree : Posterior, Tree, linkage, False or None
        The trees; by default rows are fitted (`fit`), and columns as the rows of the transposed table, in the units in
        which it is shown. False keeps the order of the table.
    row_colors, col_colors : str, list of str, Series, DataFrame, mapping or sequence, optional
        What is known of rows and columns, as strips: classes, numbers or colours. Text names columns (rows) of `data`
        that are taken out of it and used.
    n_clusters : int, optional
        Clusters of the rows to colour.
    z_score : 0, 1, None or "auto"
        Whether rows (0) or columns (1) are shown as standard deviations from their mean. "auto" does so with columns
        whose scales or levels differ so much that one scale of colours would show nothing else.
    standard_scale : 0, 1 or None
        Whether rows (0) or columns (1) are shown as shares of their range.
    cmap, center, vmin, vmax : colours, the middle of a diverging scale, and its ends
        By default the 1st and 99th percentile, symmetric about 0 if both signs occur.
    value_label : str, optional
        What the colours measure.
    time_scale : "sqrt" or "linear"
    figsize : width and height in inches; by default what the table needs, within reason.
    random_state, **fit_settings : for `fit`, such as ``n_samples=100`` or ``covariance="diagonal"``.

    Returns
    -------
    ClusterMap
        With the axes as attributes (`ax_heatmap`, `ax_row_dendrogram`, …) and `savefig`.
    """
    frame, row_strips_given = _taken_out(data, row_colors, "row_colors", by_columns=True)
    frame, col_strips_given = _taken_out(frame, col_colors, "col_colors", by_columns=False)
    table = read_table(frame, allow_missing=True)
    columns = table.features or tuple(map(str, range(table.values.shape[1])))
    shown, words = rescaled(table.values, z_score, standard_scale)
    settings = {"random_state": random_state, "progress": False, **fit_settings}
    rows = _side(row_tree, table, "row_tree", settings)
    cols = _side(col_tree, Table(np.ascontiguousarray(shown.T), columns, table.labels), "col_tree", settings)
    coloured = side_branch = None
    if n_clusters is not None:
        if rows.tree is None:
            raise InputError("n_clusters needs a tree of the rows, but row_tree is False.")
        clusters = as_clusters(rows.tree, None, n_clusters, rows.posterior)
        assert clusters is not None
        coloured, side_branch = clusters.number, clusters.side_branch
    row_strips = as_strips(row_strips_given, table.labels, "row_colors", coloured)
    col_strips = as_strips(col_strips_given, columns, "col_colors")

    found = ClusterMap()
    strips = (len(row_strips), len(col_strips))
    _make_axes(found, (rows, cols), strips, (_room_for(columns), _room_for(table.labels)), figsize)
    found.dendrogram_row, found.dendrogram_col = rows, cols
    values = shown[np.ix_(rows.reordered_ind, cols.reordered_ind)]
    limits = colour_limits(shown, center)
    image = found.ax_heatmap.imshow(
        np.ma.masked_invalid(values),
        aspect="auto",
        interpolation="nearest" if shown.shape[0] <= 1000 else "antialiased",
        cmap=cmap or ("RdBu_r" if limits.is_two_sided else "cividis"),
        vmin=limits.low if vmin is None else vmin,
        vmax=limits.high if vmax is None else vmax,
    )
    has_missing = bool(np.isnan(values).any())
    if has_missing:
        show_missing(found.ax_heatmap)
    _draw_bar(found, image, value_label or words or "value")
    marks = _draw_tree(found.ax_row_dendrogram, rows, "left", coloured, side_branch, time_scale)
    marks |= _draw_tree(found.ax_col_dendrogram, cols, "top", None, None, time_scale)
    _draw_colors(found.ax_row_colors, row_strips, rows.reordered_ind, upright=False)
    _draw_colors(found.ax_col_colors, col_strips, cols.reordered_ind, upright=True)
    _name(found.ax_heatmap, [table.labels[i] for i in rows.reordered_ind], [columns[j] for j in cols.reordered_ind])
    _add_legend(found, [*row_strips, *col_strips], coloured, marks, has_missing)
    found.data2d = values
    if hasattr(frame, "iloc"):
        found.data2d = type(frame)(values, frame.index[rows.reordered_ind], frame.columns[cols.reordered_ind])
    return found


# Reading the arguments


def _taken_out(data, given, what, by_columns):
    """The table without the columns (or rows) that `given` names, and these as metadata."""
    names = [given] if isinstance(given, str) else given
    is_frame = hasattr(data, "columns") and hasattr(data, "index")
    if not (is_frame and isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names)):
        return data, given
    known = list(data.columns if by_columns else data.index)
    if not set(names) <= set(known):
        if isinstance(given, str):
            raise InputError(f"{what} names {given!r}, but the table has only {some([str(name) for name in known])}.")
        return data, given  # a list of classes or colours
    if by_columns:
        return data.drop(columns=list(names)), data[list(names)]
    rest = data.drop(index=list(names))
    return rest.astype(float), data.loc[list(names)].T


def _side(given, table, what, settings):
    """The tree of one side from what the user gave, fitted where that is nothing."""
    n = len(table.labels)
    if given is False or (n < 2 and given is None):
        return Side(None, None, np.arange(n))
    posterior = None
    if given is None or given is True:
        from ..inference.fit import fit

        given = fit(table, **settings)
    if isinstance(given, Posterior):
        posterior = given
        tree = posterior.mean_tree()
    elif isinstance(given, Tree):
        tree = given
    else:
        tree = Tree.from_linkage(given)
    if tree.n != n:
        raise InputError(f"{what} has {tree.n} leaves, but the table has {n} of them.")
    if set(tree.labels) == set(table.labels):
        tree = with_leaves_as(tree, table.labels)
    elif set(tree.labels) == set(map(str, range(n))):  # nobody named them: they are in the order of the table
        tree = with_leaves_as(tree, tuple(map(str, range(n))))
    else:
        other = next(label for label in tree.labels if label not in set(table.labels))
        raise InputError(f"{what} has a leaf {other!r}, which is not in the table; name its leaves as the table does.")
    return Side(tree, posterior, geometry.arrange(tree).tips)


# Drawing


def _room_for(names):
    """Inches that the longest name takes, as far as it is shown."""
    return 0.55 * LARGEST_FONT / 72.0 * min(max(map(len, names)), _LONGEST_NAME)


def _make_axes(found, sides, n_strips, for_names, figsize):
    from matplotlib import pyplot

    (rows, cols), (n_row_strips, n_col_strips) = sides, n_strips
    n, d = len(rows.reordered_ind), len(cols.reordered_ind)
    strip = 0.16  # inches
    body = (float(np.clip(0.24 * d, 2.4, 10.0)), float(np.clip(0.17 * n, 2.4, 10.5)))
    tree = (1.5 if rows.tree is not None else 0.05, 1.1 if cols.tree is not None else 0.05)
    widths = [tree[0], max(strip * n_row_strips, 0.01), body[0]]
    heights = [tree[1], max(strip * n_col_strips, 0.01), body[1]]
    size = figsize or (sum(widths) + for_names[1] + 1.2, sum(heights) + for_names[0] + 0.2)
    figure = pyplot.figure(figsize=size)
    figure.set_layout_engine("constrained", w_pad=0.02, h_pad=0.02, wspace=0.0, hspace=0.0)
    grid = figure.add_gridspec(3, 3, width_ratios=widths, height_ratios=heights)
    found.figure = figure
    found.ax_heatmap = figure.add_subplot(grid[2, 2])
    found.ax_row_dendrogram = figure.add_subplot(grid[2, 0])
    found.ax_col_dendrogram = figure.add_subplot(grid[0, 2])
    found.ax_row_colors = figure.add_subplot(grid[2, 1]) if n_row_strips else None
    found.ax_col_colors = figure.add_subplot(grid[1, 2]) if n_col_strips else None
    found.ax_cbar = figure.add_subplot(grid[0, 0])


def _draw_bar(found, image, label):
    holder = found.ax_cbar
    holder.set_axis_off()
    bar = holder.inset_axes((0.05, 0.62, 0.8, 0.13))
    found.ax_cbar = bar
    found.figure.colorbar(image, cax=bar, orientation="horizontal")
    bar.tick_params(labelsize=NAME_FONT, length=2, pad=1)
    bar.set_title(_wrapped(label), fontsize=NAME_FONT, pad=3)


def _wrapped(text, width=24):
    import textwrap

    return "\n".join(textwrap.wrap(text, width))


def _draw_tree(ax, side, orientation, coloured, side_branch, time_scale):
    """Draw one of the trees; return what a legend is to explain: supports as "dots" or "numbers", `SIDE_BRANCH`."""
    if side.tree is None:
        ax.set_axis_off()
        return set()
    support: Any = False
    if side.posterior is not None:
        summary = side.posterior.mean_tree()
        support = side.posterior.clade_support(summary, kind="transfer", output="numpy")
        box = ax.get_window_extent()
        length = (box.height if orientation == "left" else box.width) / ax.figure.dpi * 72.0
        size = side.tree.sizes[side.tree.n :]
        support = np.where(size * length / side.tree.n >= _LEAST_CLADE, support, np.nan)
    dendrogram(
        side.tree,
        ax,
        support=support,
        clusters=coloured,
        side_branches=side_branch,
        orientation=orientation,
        labels=False,
        max_leaves=None,
        time_scale=time_scale,
        time_label=None,
        linewidth=float(np.clip(150.0 / side.tree.n, 0.2, 1.3)),
    )
    marks = {"numbers"} if ax.texts else set()
    if ax.get_legend() is not None:
        said = {text.get_text() for text in ax.get_legend().get_texts()}
        ax.get_legend().remove()  # it is in the legend of all
        marks |= said & {SIDE_BRANCH}
        if "support" in said:
            marks.add("dots")
    return marks


def _draw_colors(ax, strips: Sequence[Strip], order, upright):
    if ax is None:
        return
    from matplotlib.colors import to_rgba

    colors = np.array([[to_rgba(strip.colors[leaf]) for leaf in order] for strip in strips])
    ax.imshow(colors if upright else colors.transpose(1, 0, 2), aspect="auto", interpolation="nearest")
    ax.spines[:].set_visible(False)
    names = [as_text(shortened(strip.name, _LONGEST_NAME)) for strip in strips]
    ax.set_xticks([] if upright else range(len(names)), labels=[] if upright else names, rotation=90)
    ax.set_yticks(range(len(names)) if upright else [], labels=names if upright else [])
    ax.yaxis.tick_right()
    ax.tick_params(length=0, labelsize=NAME_FONT)
    for k in range(1, len(strips)):
        (ax.axhline if upright else ax.axvline)(k - 0.5, color="white", lw=1.5)


def _name(ax, rows, columns):
    """Name rows and columns: all where there is room, else every second, third …"""
    ax.spines[:].set_visible(False)
    ax.yaxis.tick_right()
    points = 72.0 / ax.figure.dpi
    box = ax.get_window_extent()
    for axis, names, length in ((ax.xaxis, columns, box.width), (ax.yaxis, rows, box.height)):
        room = length * points / len(names)
        size = min(LARGEST_FONT, room / 1.2)
        step = 1
        if size < _THINNED_FONT:
            size, step = _THINNED_FONT, int(np.ceil(1.2 * _THINNED_FONT / room))
        at = range(0, len(names), step)
        axis.set_ticks(at, labels=[as_text(shortened(names[i], _LONGEST_NAME)) for i in at])
        axis.set_tick_params(length=0 if step == 1 else 2, labelsize=size, pad=2)
    ax.tick_params(axis="x", rotation=90)


def _add_legend(found, strips, coloured, marks, has_missing):
    """One legend for everything, at the right of the figure."""
    handles: list[Any] = []

    def under(title, entries):
        handles.append(Patch(facecolor="none", edgecolor="none", label=title))
        handles.extend(entries)

    if coloured is not None:
        numbers = range(int(coloured.max()) + 1)
        lines = [Line2D([], [], color=color_of(c), lw=2, label=str(c + 1)) for c in numbers]
        if SIDE_BRANCH in marks:
            lines.append(Line2D([], [], color=INK, lw=1.2, ls=DASHES, label=SIDE_BRANCH))
        under("clusters", lines)
    for title, *entries in legend_lines(strips, in_line=99):
        under(title.get_label().rstrip(":"), entries)
    dots = [
        Line2D([], [], ls="", marker="o", ms=4, mfc=shade, mec=INK, mew=0.5, label=f"≥ {100 * least:.0f} %")
        for least, shade in GRADES
        if "dots" in marks
    ]
    if marks & {"dots", "numbers"}:
        under(f"support{', in %' if 'numbers' in marks else ''}", dots)
    if has_missing:
        handles.append(Patch(**MISSING, label="missing"))
    if handles:
        legend = found.figure.legend(
            handles=handles, loc="outside right upper", fontsize=NAME_FONT, frameon=False, handlelength=1.2
        )
        for handle, text in zip(handles, legend.get_texts(), strict=True):
            if _is_title(handle):
                text.set(weight="bold", position=(-1.2 * NAME_FONT, 0))


def _is_title(handle):
    return isinstance(handle, Patch) and tuple(handle.get_facecolor())[-1] == 0.0
