"""Colours that colour-blind readers can tell apart, fonts, tick labels and legends that all plots share."""

import warnings
from collections.abc import Iterable, Sequence
from itertools import pairwise, zip_longest
from typing import IO, Any

import numpy as np
from matplotlib import font_manager, rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation

from .._runtime.formatting import escaped, shortened

# Six of Okabe and Ito's colours (the yellow is too light for a line), four of Paul Tol's, then ten far from these.
PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#999933", "#332288", "#44AA99",
    "#6B3A10", "#B48CE8", "#1E5B1E", "#E0218A", "#5FB233", "#4A5FE0", "#B2182B", "#A98467", "#0E4A5B", "#9A1FB0",
)  # fmt: skip
# The colours of annotations are lighter, so that none is taken for a cluster: Paul Tol's light scheme, but its olive.
STRIP_PALETTE = (
    "#77AADD", "#EE8866", "#EEDD88", "#FFAABB", "#99DDFF", "#44BB99", "#BBCC33", "#D9B8F0",
)  # fmt: skip
INK = "#3A3A3A"  # branches, and whatever belongs to no cluster
PALE = "#B8B8B8"

# Of these, the installed ones write names that Matplotlib's own font has no letters for.
WIDE_FONTS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK KR", "Source Han Sans", "WenQuanYi Zen Hei", "Hiragino Sans",
    "PingFang SC", "Yu Gothic", "Microsoft YaHei", "Malgun Gothic", "Arial Unicode MS", "Noto Sans", "FreeSans",
)  # fmt: skip

MAX_FONT = 9.0  # points
MIN_FONT = 5.0  # a label that would be smaller is not printed
LEGEND_FONT = 7.0
MAX_NAME, MAX_UPRIGHT_NAME = 40, 28  # characters of a name, written along lines or upright
LEGEND: dict[str, Any] = {
    "fontsize": LEGEND_FONT, "frameon": False, "handlelength": 1.0, "handletextpad": 0.4, "columnspacing": 1.2,
}  # fmt: skip


def new_axes(width: float, height: float, n_rows: int | None = None) -> Any:
    """Make a figure of this size in inches and return its axes: one, or an array of as many rows as asked for."""
    from matplotlib import pyplot

    axes = pyplot.subplots(n_rows or 1, sharex=True, squeeze=False, figsize=(width, height), layout="constrained")[1]
    return axes[0, 0] if n_rows is None else axes[:, 0]


def save(figure: Any, file: IO[Any], suffix: str, **settings: Any) -> None:
    """Write a figure; the same figure gives the same bytes, and text of an SVG stays text.

    Names in other scripts are in a font that has them if one is installed, else they are boxes, without a warning.
    """
    others = set(font_manager.get_font_names()).intersection(WIDE_FONTS)
    for text in figure.findobj(Text) if others else ():  # also ticks, which have no text before they are drawn
        text.set_fontfamily([*text.get_fontfamily(), *sorted(others)])
    with warnings.catch_warnings(), rc_context({"svg.hashsalt": "coaltree", "svg.fonttype": "none"}):
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(file, format=suffix, metadata={"Date": None} if suffix == "svg" else None, **settings)


def add_bar(ax: Axes, image: Any, label: str) -> None:
    """Put a scale of colours at the right."""
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03)
    bar.set_label(label, fontsize=9)
    bar.ax.tick_params(labelsize=8)


def color_of(cluster: int) -> str:
    """Return the colour of a cluster, the same in every plot, repeated after twenty. Outliers (-1) are pale."""
    return PALE if cluster < 0 else PALETTE[cluster % len(PALETTE)]


def as_text(name: str, max_length: int = MAX_NAME) -> str:
    """Return a name for Matplotlib: long ones are cut, and dollar signs do not start a formula."""
    return shortened(name, max_length).replace("$", r"\$")


def as_texts(names: Sequence[str], max_length: int = MAX_NAME) -> list[str]:
    """Return names for Matplotlib, cut by `cut_names`."""
    return [as_text(name, max_length) for name in cut_names(names, max_length)]


def cut_names(names: Sequence[str], max_length: int) -> list[str]:
    """Return names without the ends of long ones, or without their middles where that keeps more of them apart."""
    plain = [escaped(name) for name in names]
    tail = (max_length - 1) // 2
    ends, middles = (
        [name if len(name) <= max_length else f"{name[: max_length - 1 - n]}…{name[len(name) - n :]}" for name in plain]
        for n in (0, tail)
    )
    return middles if len(set(middles)) > len(set(ends)) else ends


def font_that_fits(points_per_line: float) -> float | None:
    """Return the font size for lines this far apart, or None where it would be too small to read."""
    size = min(MAX_FONT, points_per_line / 1.2)
    return size if size >= MIN_FONT - 1e-6 else None


def name_cells(ax: Axes, names: Sequence[str]) -> None:
    """Name the columns and rows of a square matrix if the names can be read, and draw no frame."""
    ax.spines[:].set_visible(False)
    for axis, length in ((ax.xaxis, ax.bbox.width), (ax.yaxis, ax.bbox.height)):
        size = font_that_fits(length * 72.0 / ax.figure.dpi / max(len(names), 1))
        texts = as_texts(names, 20) if size else []
        axis.set_ticks(range(len(texts)), labels=texts)
        axis.set_tick_params(length=0, labelsize=size)
    ax.tick_params(axis="x", rotation=90)


def cluster_lines(names: Iterable[str]) -> list[Line2D]:
    """Return legend entries of clusters 0, 1, …"""
    return [Line2D([], [], color=color_of(k), lw=2, label=name) for k, name in enumerate(as_texts(list(names)))]


def number_branches(ax: Axes, clusters: Sequence[int], branches: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Write numbers of clusters, counted from 1, on branches, given by their two ends; return where, in pixels.

    A number stands where it does not touch those before it, if the branch has such a place.
    """
    distance = 11 * ax.figure.dpi / 72.0
    taken: list[np.ndarray] = []
    for cluster, ends in zip(clusters, branches, strict=True):
        above, below = ax.transData.transform(ends)
        spots = [below + (above - below) * share for share in (0.5, 0.9, 0.1)]
        spot = next((s for s in spots if all(np.abs(s - t).max() > distance for t in taken)), spots[0])
        taken.append(spot)
        box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": color_of(cluster), "lw": 0.8}
        font: dict[str, Any] = {"fontsize": MAX_FONT - 1.5, "fontweight": "bold", "color": color_of(cluster)}
        at: Any = ax.transData.inverted().transform(spot)
        ax.annotate(str(cluster + 1), at, ha="center", va="center", bbox=box, zorder=5, annotation_clip=False, **font)
    return taken


def number_runs(ax: Axes, number: np.ndarray, across: float, first: float = 0.0) -> None:
    """Write the number of each cluster, counted from 1, in its longest run of rows if that is high enough.

    Rows have the given clusters and stand at `first`, `first` + 1, …
    """
    edges = np.flatnonzero(np.diff(number, prepend=-2, append=-2))
    longest: dict[int, tuple[int, int]] = {}
    for start, end in pairwise(edges.tolist()):
        cluster = int(number[start])
        if cluster >= 0 and end - start > np.diff(longest.get(cluster, (0, 0)))[0]:
            longest[cluster] = (start, end)
    height = ax.bbox.height * 72.0 / ax.figure.dpi / len(number)
    text_style: dict[str, Any] = {"color": "white", "weight": "bold", "fontsize": LEGEND_FONT, "clip_on": False}
    for cluster, (start, end) in longest.items():
        if (end - start) * height >= LEGEND_FONT:
            middle = first + 0.5 * (start + end - 1)
            ax.text(across, middle, str(cluster + 1), ha="center", va="center", **text_style)


def text_entry(text: str) -> Patch:
    """Return a legend entry without a colour."""
    return Patch(facecolor="none", edgecolor="none", label=text)


def legend_line(title: str, entries: Sequence[Artist]) -> list[Artist]:
    """Return a line of a legend that begins with its title."""
    return [text_entry(f"{title}:"), *entries]


def add_legend(ax: Axes, lines: Sequence[Sequence[Artist]], *, above: bool = False) -> None:
    """Put one legend of several lines below the figure, or below the axes where the figure has others too.

    Lines are broken where they would be wider than the figure or the axes. With `above`, it is above the axes.
    """
    lines = [line for line in lines if line]
    if not lines:
        return
    figure: Any = ax.figure
    engine = figure.get_layout_engine()
    alone = set(figure.axes) <= {ax} and engine is not None and not engine.adjust_compatible
    width = 72.0 * (figure.get_figwidth() if alone else ax.bbox.width / figure.dpi)
    columns = list(zip_longest(*_broken(lines, width)))  # Matplotlib fills a legend column by column
    handles = [entry or text_entry("") for column in columns for entry in column]
    settings: dict[str, Any] = {"handles": handles, "ncols": len(columns), **LEGEND}
    if alone:
        figure.legend(loc="outside lower center", **settings)
    elif above:
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, **settings)
    else:
        below = ax.transAxes + ScaledTranslation(0.0, -0.5, figure.dpi_scale_trans)  # inches, for ticks and their label
        legend = ax.legend(loc="upper left", bbox_to_anchor=(0.0, 0.0), bbox_transform=below, **settings)
        if engine is None:
            box = ax.get_position()
            missing = (figure.bbox.y0 - legend.get_window_extent().y0) / figure.bbox.height
            raised = min(max(missing, 0.0), 0.8 * box.height)
            ax.set_position((box.x0, box.y0 + raised, box.width, box.height - raised))


def _broken(lines: Sequence[Sequence[Artist]], width: float) -> list[list[Artist]]:
    """Break lines, after whose titles the next ones are indented, so that their columns fit into so many points."""
    for per_line in range(max(map(len, lines)), 1, -1):
        broken = []
        for title, *entries in lines:
            parts = [entries[k : k + per_line - 1] for k in range(0, len(entries), per_line - 1)] or [[]]
            broken += [[title if k == 0 else text_entry(""), *part] for k, part in enumerate(parts)]
        room = [max(len(str(entry.get_label())) if entry else 0 for entry in column) for column in zip_longest(*broken)]
        if sum(0.58 * LEGEND_FONT * size + 20.0 for size in room) <= width:
            break
    return broken


def set_title(ax: Axes, title: str, pad: float | None = None, y: float | None = None) -> None:
    """Write a title at the left, in small letters; at height `y` if that is known, which else takes long to find."""
    ax.set_title(title, loc="left", fontsize=MAX_FONT, pad=pad, y=y)
