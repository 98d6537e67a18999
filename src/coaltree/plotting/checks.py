"""The checks of a model in one figure."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..errors import InputError
from ..posterior.diagnostics.model_checks import ModelCheck, format_p
from ..posterior.posterior import Posterior
from .style import INK, PALE, PALETTE, new_axes

_COLOR = {"fine": PALETTE[2], "doubtful": PALETTE[4], "wrong": PALETTE[1]}


def checks(posterior: Posterior | ModelCheck, ax: Axes | Sequence[Axes] | None = None) -> np.ndarray:
    """Draw what `Posterior.check` has found.

    Left: the size of contrasts over the age of merges. Middle: their quantiles beside those that the model expects.
    Both have a band of 90 % of what the model draws. Right: where the data lie in each check, in standard deviations
    of what the model draws (which is grey), with the p-value.

    Parameters
    ----------
    posterior : Posterior, or what its `check` returned
    ax : Axes or three of them, optional
        One is replaced by three in its place; by default there is a new figure.

    Returns
    -------
    Array of the three axes.
    """
    model = posterior if isinstance(posterior, ModelCheck) else posterior.check()
    shown = model.figures
    if shown is None:
        raise InputError(model.headline)
    if ax is None:
        ax = new_axes(10.5, 3.3)
    found = _three_in_place_of(ax) if isinstance(ax, Axes) else np.asarray(ax, dtype=object).ravel()
    if len(found) != 3:
        raise InputError(f"ax must be one axes, or three, not {len(found)}.")
    _with_band(found[0], shown.age, shown.size, shown.size_band)
    found[0].set(xscale="log", xlabel="age of the merge", ylabel="size of contrasts")
    _with_band(found[1], shown.normal, shown.seen, shown.seen_band)
    found[1].set(xlabel="size that the model expects", ylabel="size of contrasts")
    _discrepancies(found[2], model)
    for ax in found:
        ax.spines[["top", "right"]].set_visible(False)
    return found


def _three_in_place_of(ax):
    figure: Any = ax.figure
    place = ax.get_subplotspec()
    ax.remove()
    inner = place.subgridspec(1, 3, width_ratios=[1, 1, 1.25])
    return np.array([figure.add_subplot(part) for part in inner], dtype=object)


def _with_band(ax: Axes, x, y, band):
    ax.fill_between(x, *band, color=PALETTE[0], alpha=0.2, lw=0)
    ax.plot(x, y, color=PALETTE[0], marker="o", ms=3, lw=1.2)
    ax.set_ylim(bottom=0)


def _discrepancies(ax: Axes, model):
    names = [one.name for one in model]
    for row, one in enumerate(model):
        ax.plot(
            np.quantile(one.replicates, [0.05, 0.95]), [row, row], color=PALE, lw=7, solid_capstyle="butt", zorder=1
        )
        ax.plot(np.quantile(one.draws, [0.05, 0.95]), [row, row], color=_COLOR[one.verdict], lw=1.5, zorder=2)
        ax.plot(one.draws.mean(), row, "o", color=_COLOR[one.verdict], ms=5, zorder=3)
    ax.axvline(0, color=INK, lw=0.5, zorder=0)
    ax.set_yticks(range(len(names)), [f"{one.name}\np = {format_p(one.p_value)}" for one in model], fontsize=8)
    ax.set_xlabel("in standard deviations of the model's draws")
    ax.invert_yaxis()
