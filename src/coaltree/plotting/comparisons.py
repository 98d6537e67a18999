"""Models side by side: how much worse than the best each predicts the rows."""

import numpy as np
from matplotlib.axes import Axes

from ..inference.compare import Comparison
from .style import PALETTE, new_axes


def comparison(found: Comparison, ax: Axes | None = None) -> Axes:
    """Draw a comparison of posteriors: difference from the best in nats, a bar of one standard error to either side.

    Parameters
    ----------
    found : what `coaltree.compare` returns.
    """
    if ax is None:
        ax = new_axes(5.0, 0.9 + 0.4 * len(found.names))
    places = np.arange(len(found.names))
    error = np.nan_to_num(found.standard_error)
    ax.axvline(0.0, color="0.7", lw=0.8, zorder=0)
    ax.errorbar(found.difference, places, xerr=error, fmt="o", color=PALETTE[0], ms=5, lw=1.5, capsize=3)
    for place, difference, weight in zip(places, found.difference, found.weights, strict=True):
        text = f"{difference:.1f}, weight {weight:.2f}" if place else f"best, weight {weight:.2f}"
        ax.annotate(text, (difference, place), (0, 6), textcoords="offset points", fontsize=7, ha="center", va="bottom")
    ax.set_yticks(places, found.names)
    ax.set_ylim(len(places) - 0.5, -0.7)
    ax.margins(x=0.2)
    ax.set_xlabel(f"log density by {found.basis}, less that of the best (nats)", fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
