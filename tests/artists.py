"""What is drawn on Matplotlib axes, for tests of plots."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection


def collection(ax: Axes, label: str, kind: type[Collection] = LineCollection) -> Collection:
    """The one collection of this label, which must be of this kind."""
    found = [c for c in ax.collections if c.get_label() == label]
    assert len(found) == 1
    assert isinstance(found[0], kind)
    return found[0]


def segments(ax: Axes, label: str = "branches") -> set:
    return {tuple(map(tuple, np.round(s, 9).tolist())) for s in collection(ax, label).get_segments()}


def names(ax: Axes, axis: str = "y") -> list[str]:
    """The tick labels of an axis."""
    return [text.get_text() for text in getattr(ax, f"{axis}axis").get_ticklabels()]
