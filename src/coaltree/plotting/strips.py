"""Strips of colour along the leaves that show annotations: classes, numbers, or colours of the user's own."""

from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize, is_color_like, to_hex, to_rgb
from matplotlib.patches import Patch

from ..posterior.leaf_annotations import LeafAnnotation, matched_places, read_annotations
from .geometry import Direction, TreeLayout
from .style import LEGEND, LEGEND_FONT, PALETTE, as_text, keep_legend

_MAX_LEGEND_ENTRIES = 12
_ENTRIES_PER_LINE = 6
_MAX_NAME_LENGTH = 30
_STRIP_WIDTH = 0.018  # as a share of the tree's axes
_WHITE = (0.0, 0.5, 0.7)  # share of white each time that the palette is used again
_MISSING = "none"  # no colour


class Strip(NamedTuple):
    """One colour for each leaf, and what the colours mean."""

    name: str
    colors: np.ndarray  # (n,) str
    meanings: list[tuple[str, str]]  # (text, colour) for the legend; none where the user gave colours

    @property
    def title(self) -> str:
        return as_text(self.name[:_MAX_NAME_LENGTH])


def as_strips(
    given: Any, labels: Sequence[str], what: str = "row_colors", clusters: np.ndarray | None = None
) -> list[Strip]:
    """Read strips from a Series, DataFrame, mapping or sequence of colours, classes or numbers, one for each leaf.

    Where `clusters` are drawn beside them, a class has the colour of the cluster that it shares most leaves with.
    """
    if given is None:
        return []
    if (
        isinstance(given, list) and given and isinstance(given[0], LeafAnnotation)
    ):  # classes, even those called red and blue
        return [_strip(column, clusters, may_be_colors=False) for column in given]
    return [_strip(column, clusters, may_be_colors=True) for column in read_annotations(given, labels, what)]


def _strip(column: LeafAnnotation, clusters: np.ndarray | None, may_be_colors: bool) -> Strip:
    if column.numbers is not None:
        return _number_strip(column.name, column.numbers)
    are_colors = may_be_colors and all(map(_is_color, column.levels))
    of_class = [to_hex(level) for level in column.levels] if are_colors else _class_colors(column, clusters)
    colors = np.array([*of_class, _MISSING])[column.codes]  # the code of what is missing is -1
    return Strip(column.name, colors, [] if are_colors else list(zip(column.levels, of_class, strict=True)))


def _is_color(text: str) -> bool:
    """Whether text is meant as a colour: its whole name or its digits; "b" is more likely a class."""
    return len(text) > 1 and not text.replace(".", "").isdigit() and is_color_like(text)


def _class_colors(column: LeafAnnotation, clusters: np.ndarray | None) -> list[str]:
    """Return a colour for each class; paler ones from the eleventh on."""
    n_classes = len(column.levels)
    place = range(n_classes) if clusters is None else matched_places(column.codes, np.asarray(clusters), n_classes)
    shades = []
    for k in place:
        white = _WHITE[min(k // len(PALETTE), 2)]
        red, green, blue = ((1 - white) * part + white for part in to_rgb(PALETTE[k % len(PALETTE)]))
        shades.append(to_hex((red, green, blue)))
    return shades


def _number_strip(name: str, numbers: np.ndarray) -> Strip:
    low, high = np.nanmin(numbers), np.nanmax(numbers)
    scale, ramp = Normalize(low, high), colormaps["viridis"]
    colors = np.array([_MISSING if np.isnan(number) else to_hex(ramp(scale(number))) for number in numbers])
    ends = [
        (f"{number:.4g}", to_hex(ramp(share))) for number, share in ((low, 0.0), ((low + high) / 2, 0.5), (high, 1.0))
    ]
    return Strip(name, colors, ends)


def draw_strips(ax: Axes, direction: Direction, layout: TreeLayout, strips: Sequence[Strip]) -> float:
    """Draw strips beside the leaves of a tree and return how many points of paper they take.

    A folded clade shows the colours of its leaves in proportion.
    """
    text: dict[str, Any] = {"fontsize": LEGEND_FONT, "va": "center" if direction.is_upright else "top"}
    for k, strip in enumerate(strips):
        beside = 1.004 + 1.25 * _STRIP_WIDTH * k
        start = beside if direction.root in ("left", "bottom") else 1 - beside - _STRIP_WIDTH
        box = (0.0, start, 1.0, _STRIP_WIDTH) if direction.is_upright else (start, 0.0, _STRIP_WIDTH, 1.0)
        inset = ax.inset_axes(box)
        inset.set_axis_off()
        _fill(inset, direction, layout, strip)
        name = as_text(strip.name, _MAX_NAME_LENGTH)
        if direction.is_upright:
            inset.set_xlim(*layout.limits)
            inset.text(1.005, 0.5, name, transform=inset.transAxes, ha="left", **text)
        else:
            inset.set_ylim(*layout.limits[::-1])
            inset.text(0.5, -0.004, name, transform=inset.transAxes, ha="center", rotation=90, **text)
    figure: Any = ax.figure
    size = figure.get_figheight() if direction.is_upright else figure.get_figwidth()
    return 72.0 * size * 1.25 * _STRIP_WIDTH * len(strips)


def _fill(inset: Axes, direction: Direction, layout: TreeLayout, strip: Strip) -> None:
    corners, colors = [], []
    starts = np.cumsum(layout.width) - layout.width - 0.5
    for start, width, leaves in zip(starts, layout.width, layout.leaves_of_tips(), strict=True):
        found, counts = np.unique(strip.colors[leaves], return_counts=True)
        edges = start + width * np.append(0, np.cumsum(counts)) / len(leaves)
        for first, last in pairwise(edges):
            corners.append(direction.points([first, first, last, last], [0.0, 1.0, 1.0, 0.0]))
        colors += found.tolist()
    inset.add_collection(PolyCollection(corners, facecolors=colors, edgecolors="none", label=strip.name), autolim=False)


def text_entry(text: str) -> Patch:
    """Return a legend entry without a colour."""
    return Patch(facecolor="none", edgecolor="none", label=text)


def legend_entries(strip: Strip) -> list[Patch]:
    """Return legend entries of a strip: its classes, or some of its numbers."""
    shown = strip.meanings[:_MAX_LEGEND_ENTRIES]
    entries = [
        Patch(facecolor=color, edgecolor="none", label=as_text(text[:_MAX_NAME_LENGTH])) for text, color in shown
    ]
    n_more = len(strip.meanings) - len(shown)
    return [*entries, text_entry(f"and {n_more} more")] if n_more else entries


def add_strip_legend(ax: Axes, strips: Sequence[Strip], parts: Sequence[Axes] = ()) -> None:
    """Put the meanings of all strips below the axes, or below the figure if that has nothing but them."""
    lines = []
    for strip in strips:
        entries = legend_entries(strip)
        for first in range(0, len(entries), _ENTRIES_PER_LINE):
            title = text_entry("" if first else f"{strip.title}:")
            lines.append([title, *entries[first : first + _ENTRIES_PER_LINE]])
    if not lines:
        return
    columns = list(zip_longest(*lines))  # Matplotlib fills a legend column by column
    handles = [entry or text_entry("") for column in columns for entry in column]
    figure: Any = ax.figure
    engine = figure.get_layout_engine()
    if set(figure.axes) <= {ax, *parts} and engine is not None and not engine.adjust_compatible:
        figure.legend(handles=handles, ncols=len(columns), loc="outside lower center", **LEGEND)
    else:
        keep_legend(ax, handles=handles, ncols=len(columns), loc="upper left", bbox_to_anchor=(0.0, -0.08))
