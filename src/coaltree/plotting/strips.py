"""Strips of colour along the leaves that show annotations: classes, numbers, or colours of the user's own."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize, is_color_like, to_hex, to_rgb
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation, blended_transform_factory

from ..posterior.leaf_annotations import LeafAnnotation, read_annotations
from .geometry import Direction, TreeLayout
from .style import LEGEND_FONT, STRIP_PALETTE, as_text, as_texts, legend_line, text_entry

_WIDTH, _PITCH, _GAP = 9.0, 12.0, 2.0  # points of paper: a strip, from one to the next, from the leaves to the first
_BLACK = (0.0, 0.35, 0.6)  # share of black each time that the palette is used again
_MISSING = "none"  # no colour


class Strip(NamedTuple):
    """One colour for each leaf, and what the colours mean."""

    name: str
    colors: np.ndarray  # (n,) str
    meanings: list[tuple[str, str]]  # (text, colour) for the legend; none where the user gave colours


def as_strips(row_colors: Any, labels: Sequence[str]) -> list[Strip]:
    """Read strips from a Series, DataFrame, mapping or sequence of colours, classes or numbers, one for each leaf.

    Every class of every strip has a colour of its own, as long as there are any.
    """
    if row_colors is None:
        return []
    is_read = isinstance(row_colors, list) and bool(row_colors) and isinstance(row_colors[0], LeafAnnotation)
    strips, first = [], 0
    for column in row_colors if is_read else read_annotations(row_colors, labels, "row_colors"):
        strips.append(_strip(column, first, may_be_colors=not is_read))  # else classes, even those called red and blue
        first += len(column.levels)
    return strips


def _strip(column: LeafAnnotation, first: int, may_be_colors: bool) -> Strip:
    if column.numbers is not None:
        return _number_strip(column.name, column.numbers)
    are_colors = may_be_colors and all(map(_is_color, column.levels))
    of_class = [to_hex(x) if are_colors else class_color(first + k) for k, x in enumerate(column.levels)]
    colors = np.array([*of_class, _MISSING])[column.codes]  # the code of what is missing is -1
    return Strip(column.name, colors, [] if are_colors else list(zip(column.levels, of_class, strict=True)))


def _is_color(text: str) -> bool:
    """Whether text is meant as a colour: its whole name or its digits; "b" is more likely a class."""
    return len(text) > 1 and not text.replace(".", "").isdigit() and is_color_like(text)


def class_color(place: int) -> str:
    """Return the colour of a class; darker ones after the last of the palette."""
    black = _BLACK[place // len(STRIP_PALETTE) % len(_BLACK)]
    red, green, blue = ((1 - black) * part for part in to_rgb(STRIP_PALETTE[place % len(STRIP_PALETTE)]))
    return to_hex((red, green, blue))


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
    text: dict[str, Any] = {"fontsize": LEGEND_FONT, "color": "0.25"}
    names = as_texts([strip.name for strip in strips], 16)
    for k, (strip, name) in enumerate(zip(strips, names, strict=True)):
        distance = _GAP + _PITCH * k
        inset = _inset(ax, direction.is_upright, distance)
        inset.set_axis_off()
        _fill(inset, layout, strip, direction)
        if direction.is_upright:
            inset.set_xlim(*layout.limits)
            inset.text(1.005, 0.5, name, transform=inset.transAxes, ha="left", va="center", **text)
        else:
            inset.set_ylim(*layout.limits[::-1])
            inset.annotate(
                name, (0.5, 1.0), (0, 2), xycoords="axes fraction", textcoords="offset points", va="bottom",
                rotation_mode="anchor", rotation=50, **text,
            )  # fmt: skip
    return _GAP + _PITCH * len(strips) if strips else 0.0


def _inset(ax: Axes, is_upright: bool, distance: float) -> Axes:
    """Make the axes of a strip along the whole tree, so many points of paper from the leaves, whatever their size."""
    figure: Any = ax.figure
    within: Any = ax.transAxes
    if is_upright:
        inches = figure.dpi_scale_trans + ScaledTranslation(0.0, 0.0, within)
        box = (0.0, -(distance + _WIDTH) / 72.0, 1.0, _WIDTH / 72.0)
        return ax.inset_axes(box, transform=blended_transform_factory(within, inches))
    inches = figure.dpi_scale_trans + ScaledTranslation(1.0, 0.0, within)
    box = (distance / 72.0, 0.0, _WIDTH / 72.0, 1.0)
    return ax.inset_axes(box, transform=blended_transform_factory(inches, within))


def _fill(ax: Axes, layout: TreeLayout, strip: Strip, direction: Direction) -> None:
    corners: list[np.ndarray] = []
    colors: list[str] = []
    starts = np.cumsum(layout.width) - layout.width - 0.5
    for start, width, leaves in zip(starts, layout.width, layout.leaves_of_tips(), strict=True):
        of_leaves, counts = np.unique(strip.colors[leaves], return_counts=True)
        edges = start + width * np.append(0, np.cumsum(counts)) / len(leaves)
        corners += [direction.points([a, a, b, b], [0, 1, 1, 0]) for a, b in pairwise(edges.tolist())]
        colors += of_leaves.tolist()
    ax.add_collection(PolyCollection(corners, facecolors=colors, edgecolors="none", label=strip.name), autolim=False)


def strip_lines(strips: Sequence[Strip]) -> list[list[Artist]]:
    """Return the lines of a legend that say what the colours of strips mean."""
    return [legend_line(as_text(strip.name, 24), _legend_entries(strip)) for strip in strips if strip.meanings]


def _legend_entries(strip: Strip) -> list[Artist]:
    shown = strip.meanings[:12]
    texts = as_texts([text for text, _ in shown], 30)
    entries: list[Artist] = [
        Patch(facecolor=color, edgecolor="none", label=text) for text, (_, color) in zip(texts, shown, strict=True)
    ]
    n_more = len(strip.meanings) - len(shown)
    return [*entries, text_entry(f"and {n_more} more")] if n_more else entries
