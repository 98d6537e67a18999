"""Circular trees: the root in the middle, leaves around it; `geometry.Direction` with angles and radii."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from .._runtime.typing import ArrayLike
from .geometry import signed_sqrt, sqrt_ticks
from .style import INCHES_PER_CHARACTER, LEGEND_FONT, PALE, NameStyle, as_texts, legend_line, new_axes

_SHARE_OF_CIRCLE = 0.97  # the rest is a gap between the last leaf and the first, for the times
_HOLE = 0.04  # radius of the root, where 1 is that of the leaves
_POINTS_PER_ARC = 24
_POINTS_PER_LEAF = 7.0
_MAX_NAME = 20  # characters
_STRIP = 0.045  # width of a ring of annotations


@dataclass
class Circle:
    """The layout of a circular tree; `frame` tells it how many leaves there are, and the time of the root."""

    root: str = "center"
    is_upright: bool = False
    total_width: float = 1.0
    top: float = 1.0
    is_sqrt: bool = False
    n_strips: int = 0

    def new_axes(self, n_tips: int, name_length: int = 0) -> Axes:
        """Make a square figure that fits a tree with so many tips, and names of so many characters."""
        names = 2 * INCHES_PER_CHARACTER * min(name_length, _MAX_NAME)
        size = names + float(np.clip(0.6 + 1.3 * n_tips * _POINTS_PER_LEAF / 72.0 / np.pi, 4.2, 9.0))
        return new_axes(size, size + 0.7)

    def angle(self, across: ArrayLike) -> np.ndarray:
        """Return angles in radians, clockwise from the top."""
        share = (np.asarray(across, dtype=float) + 0.5) / self.total_width
        return 0.5 * np.pi - 2.0 * np.pi * (0.5 * (1.0 - _SHARE_OF_CIRCLE) + _SHARE_OF_CIRCLE * share)

    def radius(self, time: ArrayLike) -> np.ndarray:
        """Return 1 for leaves, and almost 0 for the root."""
        share = np.asarray(time, dtype=float) / self.top
        return 1.0 - (1.0 - _HOLE) * (signed_sqrt(share) if self.is_sqrt else share)

    def points(self, across: ArrayLike, time: ArrayLike) -> np.ndarray:
        """Return (…, 2) positions on the axes."""
        return _polar(self.radius(time), self.angle(across))

    def branches(self, across: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return (m, points, 2) lines, an arc and a radius each, from places and times (m, 2) of parent and child."""
        steps = np.append(np.linspace(0.0, 1.0, _POINTS_PER_ARC), 1.0)
        places = across[:, :1] + (across[:, 1:] - across[:, :1]) * steps
        when = np.repeat(times[:, :1], len(steps), axis=1)
        when[:, -1] = times[:, 1]
        return self.points(places, when)

    def triangle(self, apex: tuple[float, float], base: tuple[float, float]) -> np.ndarray:
        """Return a polygon with an apex (place, time) and an arc between two places as its base."""
        places = np.append(apex[0], np.linspace(*base, _POINTS_PER_ARC))
        return self.points(places, np.append(apex[1], np.zeros(_POINTS_PER_ARC)))

    def box(self, across: tuple[float, float], times: tuple[float, float]) -> np.ndarray:
        """Return the outline of a part of a ring."""
        low, high = map(float, self.radius(times))
        return self.ring(across, (low, high))

    def ring(self, across: tuple[float, float], radii: tuple[float, float]) -> np.ndarray:
        """Return the outline of a part of a ring between two radii."""
        places = np.linspace(*across, _POINTS_PER_ARC)
        sides = [_polar(np.full(len(places), radius), self.angle(places)) for radius in radii]
        return np.concatenate([sides[0], sides[1][::-1]])

    def strip_radii(self, k: int) -> tuple[float, float]:
        """Return the radii of ring k around the leaves."""
        start = 1.02 + 1.2 * _STRIP * k
        return start, start + _STRIP

    def length_across(self, ax: Axes) -> float:
        """Return how many points of paper the leaves have between them."""
        figure: Any = ax.figure
        side = min(ax.bbox.width, ax.bbox.height) * 72.0 / figure.dpi
        return 2.0 * np.pi * _SHARE_OF_CIRCLE * side / 2.0 / 1.3

    def frame(self, ax: Axes, across: tuple[float, float], top: float, time_scale: str, time_label: str | None) -> None:
        """Set the limits, and draw circles at round times with their numbers, and the label, unless that is None."""
        self.total_width, self.top, self.is_sqrt = across[1] - across[0], float(top) or 1.0, time_scale == "sqrt"
        reach = 1.03 + 1.2 * _STRIP * self.n_strips
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        ax.set_axis_off()
        if time_label is None:
            return
        ticks = sqrt_ticks(self.top) if self.is_sqrt else np.linspace(0.0, self.top, 5)[:-1]
        around = np.linspace(0.0, 2.0 * np.pi, 200)
        for time in ticks.tolist():
            ax.plot(*_polar(self.radius(time), around).T, color=PALE, lw=0.4, zorder=0.5)
            text: dict[str, Any] = {"fontsize": LEGEND_FONT - 1, "color": "0.45", "ha": "center", "va": "center"}
            text["bbox"] = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}  # no line through the number
            ax.text(0.0, float(self.radius(time)), f"{time:.3g}", zorder=0.6, **text)

    def legend_line(self, time_label: str) -> list[Artist]:
        """Return the line of a legend that says what the circles are."""
        said = f"{time_label} (square-root scale)" if self.is_sqrt else time_label
        return legend_line("circles", [Line2D([], [], color=PALE, lw=0.8, label=said)])

    def name_leaves(self, ax: Axes, positions: ArrayLike, names: Sequence[str], style: NameStyle) -> None:
        """Write the names around the circle, all readable from left to right; with no size, none."""
        if not style.size:
            return
        angles = self.angle(positions)
        texts = as_texts(names, _MAX_NAME)
        colors: Sequence[str | None] = style.colors or [None] * len(texts)
        places = _polar(np.full(len(texts), 1.02 + style.distance), angles).tolist()
        for (x, y), angle, name, color in zip(places, angles.tolist(), texts, colors, strict=True):
            is_left = np.cos(angle) < 0
            turned: dict[str, Any] = {"rotation": np.degrees(angle) + (180.0 if is_left else 0.0), "va": "center"}
            turned |= {"rotation_mode": "anchor", "ha": "right" if is_left else "left"}
            ax.text(x, y, name, fontsize=min(style.size, LEGEND_FONT), color=color, **turned)


def _polar(radius: ArrayLike, angle: np.ndarray) -> np.ndarray:
    return np.asarray(radius)[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
