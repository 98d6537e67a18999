"""A heat map between two trees: rows and columns clustered, with supports, annotations in colours, and one legend."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Patch

from .._runtime.formatting import field_docs, some
from .._runtime.typing import RandomState
from ..errors import InputError
from ..model.data.table import Table, read_table
from ..posterior.posterior import Posterior
from ..tree.distances import with_leaves_as
from ..tree.rooted import default_labels
from ..tree.tree import Tree
from .clusters import as_clusters
from .color_scale import MISSING, ZScore, draw_table, rescaled
from .dendrogram import NO_SUPPORT, TreeSettings, draw_dendrogram, side_branch_line, support_dots, support_number
from .geometry import Direction, arrange
from .matrices import number_runs
from .strips import Strip, as_strips, legend_entries
from .style import LEGEND_FONT, MAX_FONT, as_text, cluster_lines, color_of, name_cells, text_entry

_MAX_NAME_LENGTH = 40
_MIN_CLADE_POINTS = 8.0  # length on paper of a clade from which on its support is shown
_STRIP_INCHES = 0.16
_MAX_GAPS = 60  # between runs of rows of one cluster
_MAX_SHARP_ROWS = 1000  # rows from which on neighbours are averaged in the image


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


@dataclass(eq=False, repr=False)
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
        png = BytesIO()
        self.figure.savefig(png, format="png", dpi=100)
        return png.getvalue()


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
    time_scale: str = "auto",
    figsize: tuple[float, float] | None = None,
    random_state: RandomState = 0,
    **fit_settings: Any,
) -> ClusterMap:
    """Draw a table as a heat map between a tree of its rows and a tree of its columns.

    Parameters
    ----------
    data : DataFrame or array (n, d); NaN is missing, imputed for the trees and hatched in the picture. Or a Posterior
        of the rows: the tree is its own, and the table what was fitted
    row_tree, col_tree : Posterior, Tree, linkage, False or None
        The trees; by default rows are fitted (`fit`), and columns as the rows of the transposed table, in the units in
        which it is shown. False keeps the order of the table.
    row_colors, col_colors : str, list of str, Series, DataFrame, mapping or sequence, optional
        Annotations of rows and columns, as strips: classes, numbers or colours. Text names columns (rows) of `data`
        that are taken out of it and used.
    n_clusters : int, optional, clusters of the rows to colour, with a strip of their numbers and gaps between them
    z_score : 0, 1, None or "auto"
        Whether rows (0) or columns (1) are taken as standard deviations from their mean, before both trees are made of
        them, as seaborn does. "auto" shows columns so whose scales or levels differ so much that one scale of colours
        would show nothing else; the tree of the rows is then that of the table, under its covariance.
    standard_scale : 0, 1 or None, whether rows (0) or columns (1) are taken as shares of their range, likewise
    cmap, center, vmin, vmax : colours, the middle of a diverging scale, and its ends
        By default the 1st and 99th percentile, symmetric about 0 if both signs occur.
    value_label : str, optional, what the colours measure
    time_scale : as in `dendrogram`
    figsize : width and height in inches; by default what the table needs, within reason
    random_state, **fit_settings : for `fit`, such as ``n_samples=100`` or ``covariance="diagonal"``
    """
    if isinstance(data, Posterior):
        data, row_tree = _table_of(data), data if row_tree is None else row_tree
    frame, row_annotations = _take_out(data, row_colors, "row_colors", axis=1)
    frame, col_annotations = _take_out(frame, col_colors, "col_colors", axis=0)
    table = read_table(frame, allow_missing=True)
    columns = table.features or default_labels(table.values.shape[1])
    shown, scale_label = rescaled(table.values, z_score, standard_scale)
    settings = {"random_state": random_state, "progress": False, **fit_settings}
    is_asked = standard_scale is not None or (z_score is not None and z_score != "auto")  # as seaborn: scale first
    ready = table._replace(values=np.ascontiguousarray(shown)) if is_asked else table
    rows = _side(row_tree, ready, "row_tree", settings)
    cols = _side(col_tree, Table(np.ascontiguousarray(shown.T), columns, table.labels), "col_tree", settings)
    number = side_branch = None
    if n_clusters is not None:
        if rows.tree is None:
            raise InputError("n_clusters needs a tree of the rows, but row_tree is False.")
        number, _, side_branch = as_clusters(rows.tree, None, n_clusters, rows.posterior)
    row_strips = as_strips(row_annotations, table.labels, "row_colors")
    n_classes = sum(len(strip.meanings) for strip in row_strips)
    col_strips = as_strips(col_annotations, columns, "col_colors", n_classes)
    beside = list(row_strips)
    if number is not None:
        beside.append(Strip("cluster", np.array([color_of(cluster) for cluster in number.tolist()]), []))

    values = shown[np.ix_(rows.reordered_ind, cols.reordered_ind)]
    row_names = [table.labels[i] for i in rows.reordered_ind]
    column_names = [columns[j] for j in cols.reordered_ind]
    if hasattr(frame, "iloc"):
        values = type(frame)(values, frame.index[rows.reordered_ind], frame.columns[cols.reordered_ind])
    found = _make_map(rows, cols, values, (len(beside), len(col_strips)), (row_names, column_names), figsize)
    colors = {"cmap": cmap, "vmin": vmin, "vmax": vmax}
    if len(values) > _MAX_SHARP_ROWS:
        colors["interpolation"] = "antialiased"
    image = draw_table(found.ax_heatmap, np.asarray(values), center, **colors)
    _draw_bar(found, image, value_label or scale_label or "value")
    row_clusters = {"clusters": number, "side_branches": side_branch}
    marks = _draw_tree(found.ax_row_dendrogram, rows, orientation="left", time_scale=time_scale, **row_clusters)
    marks |= _draw_tree(found.ax_col_dendrogram, cols, orientation="top", time_scale=time_scale)
    _draw_colors(found.ax_row_colors, beside, rows.reordered_ind, upright=False)
    _draw_colors(found.ax_col_colors, col_strips, cols.reordered_ind, upright=True)
    found.ax_heatmap.yaxis.tick_right()
    name_cells(found.ax_heatmap, column_names, row_names, thinned=True)
    found.ax_heatmap.tick_params(pad=2)
    if number is not None:
        _separate_clusters(found, number[rows.reordered_ind], len(beside))
    _add_legend(found.figure, number, [*row_strips, *col_strips], marks, bool(np.isnan(shown).any()))
    return found


def _table_of(posterior: Posterior) -> Any:
    """The leaves of a posterior as a DataFrame; in the given units, unless rows were centred or scaled."""
    import pandas

    undo = posterior.transform is not None and posterior.transform.is_by_columns
    values = posterior.leaf_values(undo=undo)
    return pandas.DataFrame(values, posterior.leaf_index, posterior.columns or default_labels(values.shape[1]))


def _take_out(data: Any, given: Any, what: str, axis: int) -> tuple[Any, Any]:
    """Return the table without the columns (axis 1) or rows (axis 0) that `given` names, and these as annotations."""
    names = [given] if isinstance(given, str) else given
    is_frame = hasattr(data, "columns") and hasattr(data, "index")
    if not (is_frame and isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names)):
        return data, given
    existing = list(data.columns if axis == 1 else data.index)
    if not set(names) <= set(existing):
        if isinstance(given, str):
            raise InputError(
                f"{what} names {given!r}, but the table has only {some([str(name) for name in existing])}."
            )
        return data, given  # a list of classes or colours
    rest = data.drop(list(names), axis=axis)
    return (rest, data[list(names)]) if axis == 1 else (rest.astype(float), data.loc[list(names)].T)


def _side(given: Any, table: Table, what: str, settings: dict[str, Any]) -> Side:
    """Return the tree of one side as the user gave it, fitted where nothing was given."""
    n = len(table.labels)
    if given is False or (n < 2 and given is None):
        return Side(None, None, np.arange(n))
    if given is None or given is True:
        from ..inference.fit import fit

        given = fit(table, **settings)  # type: ignore[arg-type]
    posterior, tree = (given, given.mean_tree()) if isinstance(given, Posterior) else (None, given)
    if not isinstance(tree, Tree):
        tree = Tree.from_linkage(tree)
    if tree.n != n:
        raise InputError(f"{what} has {tree.n} leaves, but the table has {n} of them.")
    if set(tree.labels) == set(table.labels):
        tree = with_leaves_as(tree, table.labels)
    elif set(tree.labels) == set(default_labels(n)):  # nobody named them: they are in the order of the table
        tree = with_leaves_as(tree, default_labels(n))
    else:
        other = next(label for label in tree.labels if label not in set(table.labels))
        raise InputError(f"{what} has a leaf {other!r}, which is not in the table; name its leaves as the table does.")
    return Side(tree, posterior, arrange(tree).tips)


def _make_map(
    rows: Side,
    cols: Side,
    values: Any,
    n_strips: tuple[int, int],
    names: tuple[Sequence[str], Sequence[str]],
    figsize: tuple[float, float] | None,
) -> ClusterMap:
    """Make the figure and its axes: tree, strips and map from left to right and from top to bottom."""
    from matplotlib import pyplot

    n, d = values.shape
    for_rows, for_columns = (  # inches
        0.55 * MAX_FONT / 72.0 * min(max(map(len, of_side)), _MAX_NAME_LENGTH) for of_side in names
    )
    widths = [0.05 if rows.tree is None else 1.5, max(_STRIP_INCHES * n_strips[0], 0.01), np.clip(0.24 * d, 2.4, 10.0)]
    heights = [0.05 if cols.tree is None else 1.1, max(_STRIP_INCHES * n_strips[1], 0.01), np.clip(0.17 * n, 2.4, 10.5)]
    figure = pyplot.figure(figsize=figsize or (sum(widths) + for_rows + 1.2, sum(heights) + for_columns + 0.2))
    figure.set_layout_engine("constrained", w_pad=0.03, h_pad=0.04, wspace=0.0, hspace=0.0)
    grid = figure.add_gridspec(3, 3, width_ratios=widths, height_ratios=heights)
    return ClusterMap(
        figure,
        ax_heatmap=figure.add_subplot(grid[2, 2]),
        ax_row_dendrogram=figure.add_subplot(grid[2, 0]),
        ax_col_dendrogram=figure.add_subplot(grid[0, 2]),
        ax_row_colors=figure.add_subplot(grid[2, 1]) if n_strips[0] else None,
        ax_col_colors=figure.add_subplot(grid[1, 2]) if n_strips[1] else None,
        ax_cbar=figure.add_subplot(grid[0, 0]),
        dendrogram_row=rows,
        dendrogram_col=cols,
        data2d=values,
    )


def _draw_bar(found: ClusterMap, image: AxesImage, label: str) -> None:
    found.ax_cbar.set_axis_off()
    found.ax_cbar = bar = found.ax_cbar.inset_axes((0.05, 0.62, 0.8, 0.13))
    found.figure.colorbar(image, cax=bar, orientation="horizontal")
    bar.tick_params(labelsize=LEGEND_FONT, length=2, pad=1)
    bar.set_title(textwrap.fill(label, 24), fontsize=LEGEND_FONT, pad=3)


def _draw_tree(ax: Axes, side: Side, orientation: str, **settings: Any) -> set[str]:
    """Draw one of the trees; return what the legend has to explain: "numbers" of support, "support", "side branch"."""
    tree = side.tree
    if tree is None:
        ax.set_axis_off()
        return set()
    support: Any = False
    if side.posterior is not None:
        support = side.posterior.clade_support(side.posterior.mean_tree(), kind="transfer", output="numpy")
        length = Direction.of(orientation).length_across(ax)
        support = np.where(tree.sizes[tree.n :] * length / tree.n >= _MIN_CLADE_POINTS, support, np.nan)
    settings |= {"orientation": orientation, "linewidth": float(np.clip(150.0 / tree.n, 0.2, 1.3))}
    settings |= {"support": support, "labels": False, "max_leaves": None, "time_label": None}
    _, lines = draw_dendrogram(tree, ax, TreeSettings(**settings, number_clusters=False))
    marks = {str(entry.get_label()).rstrip(":") for line in lines for entry in line}
    if NO_SUPPORT in marks:  # among the clades that are large enough
        marks -= {NO_SUPPORT, "support"}
    return {"numbers"} | marks if ax.texts else marks


def _separate_clusters(found: ClusterMap, number: np.ndarray, n_strips: int) -> None:
    """Draw white gaps between the clusters of the ordered rows, and write their numbers on the strip."""
    strips = found.ax_row_colors
    assert strips is not None
    edges = np.flatnonzero(np.diff(number)) + 0.5
    for ax in (found.ax_heatmap, strips) if len(edges) <= _MAX_GAPS else ():
        for edge in edges.tolist():
            ax.axhline(edge, color="white", lw=2.0)
    number_runs(strips, number, (n_strips - 0.5) / n_strips)


def _draw_colors(ax: Axes | None, strips: Sequence[Strip], order: np.ndarray, upright: bool) -> None:
    if ax is None:
        return
    colors = np.array([to_rgba_array(strip.colors[order]) for strip in strips])
    ax.imshow(colors if upright else colors.transpose(1, 0, 2), aspect="auto", interpolation="nearest")
    ax.spines[:].set_visible(False)
    named, other = (ax.yaxis, ax.xaxis) if upright else (ax.xaxis, ax.yaxis)
    named.set_ticks(range(len(strips)), labels=[as_text(strip.name, _MAX_NAME_LENGTH) for strip in strips])
    other.set_ticks([])
    ax.yaxis.tick_right()
    ax.tick_params(length=0, labelsize=LEGEND_FONT)
    ax.tick_params(axis="x", rotation=90)
    for k in range(1, len(strips)):
        (ax.axhline if upright else ax.axvline)(k - 0.5, color="white", lw=1.5)


def _add_legend(
    figure: Figure, number: np.ndarray | None, strips: Sequence[Strip], marks: set[str], has_missing: bool
) -> None:
    """Put one legend for everything at the right of the figure."""
    sections: list[tuple[str, Sequence[Artist]]] = []
    if number is not None:
        lines = cluster_lines(str(c + 1) for c in range(int(number.max()) + 1))
        sections.append(("clusters", [*lines, side_branch_line()] if "side branch" in marks else lines))
    sections += [(strip.title, legend_entries(strip)) for strip in strips if strip.meanings]
    if marks & {"support", "numbers"}:
        numbers = [support_number()] if "numbers" in marks else []
        sections.append(("support", [*numbers, *(support_dots(4) if "support" in marks else [])]))
    titles = [text_entry(title) for title, _ in sections]
    handles = [entry for title, (_, entries) in zip(titles, sections, strict=True) for entry in (title, *entries)]
    if has_missing:
        handles.append(Patch(**MISSING, label="missing"))
    if handles:
        legend = figure.legend(
            handles=handles, loc="outside right upper", fontsize=LEGEND_FONT, frameon=False, handlelength=1.2
        )
        for handle, text in zip(handles, legend.get_texts(), strict=True):
            if handle in titles:
                text.set(weight="bold", position=(-1.2 * LEGEND_FONT, 0))
