"""Colours that colour-blind readers can tell apart, fonts, tick labels and legends that all plots share."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from .._runtime.formatting import shortened

# Six of Okabe and Ito's colours (the yellow is too light for a line), then four of Paul Tol's.
PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#999933", "#332288", "#44AA99",
)  # fmt: skip
INK = "#3A3A3A"  # branches, and whatever belongs to no cluster
PALE = "#B8B8B8"

MAX_FONT = 9.0  # points
MIN_FONT = 5.0  # a label that would be smaller is not printed
MIN_THINNED_FONT = 6.0  # names that would be smaller are thinned, where a plot does that
LEGEND_FONT = 7.0
LINE_HEIGHT = 1.2  # of a line of text, as a multiple of its font
LEGEND: dict[str, Any] = {
    "fontsize": LEGEND_FONT, "frameon": False, "handlelength": 1.0, "handletextpad": 0.4, "columnspacing": 1.2,
}  # fmt: skip


def new_axes(width: float, height: float) -> Axes:
    """Make a figure of this size in inches and return its only axes."""
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def color_of(cluster: int) -> str:
    """Return the colour of a cluster, the same in every plot, repeated after ten. Outliers (-1) are pale."""
    return PALE if cluster < 0 else PALETTE[cluster % len(PALETTE)]


def as_text(name: str, max_length: int = 60) -> str:
    """Return a name for Matplotlib: long ones are cut, and dollar signs do not start a formula."""
    return shortened(name, max_length).replace("$", r"\$")


def font_that_fits(points_per_line: float) -> float | None:
    """Return the font size for lines this far apart, or None where it would be too small to read."""
    size = min(MAX_FONT, points_per_line / LINE_HEIGHT)
    return size if size >= MIN_FONT - 1e-6 else None


def name_cells(ax: Axes, columns: Sequence[str], rows: Sequence[str], *, thinned: bool = False) -> None:
    """Name the columns and rows of a matrix if the names can be read, and draw no frame.

    With `thinned`, only every second, third, … is named where there is no room for all.
    """
    ax.spines[:].set_visible(False)
    for axis, names, length in ((ax.xaxis, columns, ax.bbox.width), (ax.yaxis, rows, ax.bbox.height)):
        points = length * 72.0 / ax.figure.dpi / max(len(names), 1)
        size, step = font_that_fits(points), 1
        if thinned and (size or 0.0) < MIN_THINNED_FONT:
            size, step = MIN_THINNED_FONT, int(np.ceil(LINE_HEIGHT * MIN_THINNED_FONT / points))
        shown = range(0, len(names), step) if size else range(0)
        axis.set_ticks(shown, labels=[as_text(names[i]) for i in shown])
        axis.set_tick_params(length=0 if step == 1 else 2, labelsize=size)
    ax.tick_params(axis="x", rotation=90)


def cluster_lines(names: Iterable[str]) -> list[Line2D]:
    """Return legend entries of clusters 0, 1, …"""
    return [Line2D([], [], color=color_of(k), lw=2, label=as_text(name)) for k, name in enumerate(names)]


def keep_legend(ax: Axes, **settings: Any) -> None:
    """Add a legend to the axes without removing one that is there."""
    earlier = ax.get_legend()
    ax.legend(**LEGEND, **settings)
    if earlier is not None:
        ax.add_artist(earlier)


def add_legend(ax: Axes, handles: Sequence[Artist], title: str | None = None, *, below: bool = False) -> None:
    """Put a legend of one line above (or below) the axes; a second one goes to the right of the first."""
    if title is not None:
        handles = [Line2D([], [], ls="", label=title), *handles]
    is_first = ax.get_legend() is None
    keep_legend(
        ax,
        handles=handles,
        loc=f"{'upper' if below else 'lower'} {'left' if is_first else 'right'}",
        bbox_to_anchor=(0.0 if is_first else 1.0, 0.0 if below else 1.0),
        ncols=len(handles),
        borderaxespad=0.2,
    )


def add_legend_outside(ax: Axes, handles: Sequence[Artist], n_columns: int = 4) -> None:
    """Put a legend of several lines, read column by column, below the whole figure, or above it if there is one."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    settings = LEGEND | {"ncols": min(n_columns, len(handles)), "columnspacing": 1.6}
    figure.legend(handles=handles, loc="outside upper center" if figure.legends else "outside lower center", **settings)
