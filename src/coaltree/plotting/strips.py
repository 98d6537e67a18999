"""Strips of colour along the leaves: known classes, numbers, or colours of the user's own."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import is_color_like, to_hex, to_rgb
from matplotlib.patches import Patch

from ..posterior.leaf_annotations import LeafAnnotation, matched_places, read_annotations
from .geometry import Arrangement
from .style import PALETTE, Direction, as_text

NAME_FONT = 7.0
_MOST_IN_LEGEND = 12
_LONGEST = 30  # characters of a name
_ABSENT = "none"  # what is missing has no colour


class Strip(NamedTuple):
    """One colour for each leaf, and what the colours mean."""

    name: str
    colors: list[str]  # (n,)
    meanings: list[tuple[str, str]]  # (text, colour) for the legend; none where the user gave colours


def as_strips(
    given: Any, labels: Sequence[str], what: str = "row_colors", clusters: np.ndarray | None = None
) -> list[Strip]:
    """Strips from a Series, DataFrame, mapping or sequence of colours, classes or numbers, one for each leaf.

    Where `clusters` are drawn beside them, a class has the colour of the cluster that it shares most leaves with.
    """
    if given is None:
        return []
    if (
        isinstance(given, list) and given and isinstance(given[0], LeafAnnotation)
    ):  # classes, even those called red and blue
        return [_strip(column, clusters, may_be_colors=False) for column in given]
    return [_strip(column, clusters, may_be_colors=True) for column in read_annotations(given, labels, what)]


def _strip(column, clusters, may_be_colors):
    if column.numbers is not None:
        return _of_numbers(column)
    if may_be_colors and all(_is_color(level) for level in column.levels):
        colors = [_ABSENT if code < 0 else to_hex(column.levels[code]) for code in column.codes.tolist()]
        return Strip(column.name, colors, [])
    of_class = class_colors(column, clusters)
    colors = [_ABSENT if code < 0 else of_class[code] for code in column.codes.tolist()]
    return Strip(column.name, colors, list(zip(column.levels, of_class, strict=True)))


def _is_color(text):
    """Whether text is meant as a colour: its whole name or its digits; "b" is more likely a class."""
    return len(text) > 1 and not text.replace(".", "").isdigit() and is_color_like(text)


def class_colors(column: LeafAnnotation, clusters: np.ndarray | None = None) -> list[str]:
    """A colour for each class; paler ones from the eleventh on."""
    n_classes = len(column.levels)
    place = list(range(n_classes))
    if clusters is not None:
        place = matched_places(column.codes, np.asarray(clusters), n_classes)
    return [_shade(PALETTE[k % len(PALETTE)], k // len(PALETTE)) for k in place]


def _shade(color, times):
    """A paler colour each time the palette is used up, at most twice."""
    white = 0.5 * min(times, 1) + 0.2 * (min(times, 2) == 2)
    red, green, blue = ((1 - white) * part + white for part in to_rgb(color))
    return to_hex((red, green, blue))


def _of_numbers(column):
    values = column.numbers
    low, high = np.nanmin(values), np.nanmax(values)
    ramp = colormaps["viridis"]
    share = (values - low) / (high - low) if high > low else np.zeros(len(values))
    colors = [_ABSENT if np.isnan(s) else to_hex(ramp(s)) for s in share]
    ends = [(f"{value:.4g}", to_hex(ramp(s))) for value, s in ((low, 0.0), ((low + high) / 2, 0.5), (high, 1.0))]
    return Strip(column.name, colors, ends)


def draw_strips(
    ax: Axes, direction: Direction, place: Arrangement, under: Sequence[Sequence[int]], strips: Sequence[Strip]
) -> float:
    """Draw strips beside the leaves of a tree and return how many points of paper they take.

    `under` lists the leaves below each tip; a folded clade shows the colours of its leaves in proportion.
    """
    share = 0.018
    for k, strip in enumerate(strips):
        beside = 1.004 + 1.25 * share * k
        if direction.is_upright:
            box = (0.0, -beside + 1 - share if direction.root == "top" else beside, 1.0, share)
        else:
            box = (beside if direction.root == "left" else 1 - beside - share, 0.0, share, 1.0)
        inset = ax.inset_axes(box)
        inset.set_axis_off()
        _fill(inset, direction, place, under, strip)
        _name(inset, direction, strip)
    figure = ax.figure
    size = figure.get_figheight() if direction.is_upright else figure.get_figwidth()  # type: ignore[union-attr]
    return 72.0 * size * 1.25 * share * len(strips)


def _fill(inset, direction, place, under, strip):
    corners, colors = [], []
    ends = np.cumsum(place.width) - 0.5
    for begin, end, leaves in zip(ends - place.width, ends, under, strict=True):
        found = sorted(strip.colors[leaf] for leaf in leaves)
        edges = np.linspace(begin, end, len(found) + 1)
        first = 0
        for i, color in enumerate(found):
            if i + 1 == len(found) or found[i + 1] != color:
                across = np.array([edges[first], edges[first], edges[i + 1], edges[i + 1]])
                corners.append(direction.points(across, np.array([0.0, 1.0, 1.0, 0.0])))
                colors.append(color)
                first = i + 1
    inset.add_collection(PolyCollection(corners, facecolors=colors, edgecolors="none", label=strip.name), autolim=False)
    limits = place.limits
    (inset.set_xlim if direction.is_upright else inset.set_ylim)(*(limits if direction.is_upright else limits[::-1]))


def _name(inset, direction, strip):
    name = as_text(strip.name if len(strip.name) <= _LONGEST else f"{strip.name[: _LONGEST - 1]}…")
    if direction.is_upright:
        inset.text(1.005, 0.5, name, transform=inset.transAxes, ha="left", va="center", fontsize=NAME_FONT)
    else:
        inset.text(0.5, -0.004, name, transform=inset.transAxes, ha="center", va="top", fontsize=NAME_FONT, rotation=90)


def legend_lines(strips: Sequence[Strip], in_line: int = 6) -> list[list[Any]]:
    """What the colours mean, in lines: a strip's name, then its classes or some of its numbers."""
    lines: list[list[Any]] = []
    for strip in strips:
        shown = strip.meanings[:_MOST_IN_LEGEND]
        handles = [Patch(facecolor=color, edgecolor="none", label=as_text(text[:_LONGEST])) for text, color in shown]
        if len(strip.meanings) > len(shown):
            handles.append(_words(f"and {len(strip.meanings) - len(shown)} more"))
        for first in range(0, len(handles), in_line):
            title = _words(as_text(f"{strip.name[:_LONGEST]}:") if first == 0 else "")
            lines.append([title, *handles[first : first + in_line]])
    return lines


def _words(text):
    """An entry of a legend without a colour."""
    return Patch(facecolor="none", edgecolor="none", label=text)


def add_strip_legend(ax: Axes, strips: Sequence[Strip], parts: Sequence[Axes] = ()) -> None:
    """Put the meanings of all strips below the picture, and below all where the figure has nothing but it."""
    lines = legend_lines(strips)
    if not lines:
        return
    longest = max(map(len, lines))
    lines = [line + [_words("") for _ in range(longest - len(line))] for line in lines]
    handles = [line[k] for k in range(longest) for line in lines]  # Matplotlib fills a legend column by column
    style: dict[str, Any] = {
        "handles": handles, "ncols": longest, "fontsize": NAME_FONT, "frameon": False,
        "handlelength": 1.0, "handletextpad": 0.4, "columnspacing": 1.2,
    }  # fmt: skip
    figure: Any = ax.figure
    engine = figure.get_layout_engine()
    if set(figure.axes) <= {ax, *parts} and engine is not None and not engine.adjust_compatible:
        figure.legend(loc="outside lower center", **style)
    else:
        drawn = ax.get_legend()
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.08), **style)
        if drawn is not None:
            ax.add_artist(drawn)
