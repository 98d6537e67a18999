"""Tables as colours: columns or rows brought to a common scale where theirs differ, and limits of the colours."""

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from .._runtime.validation import is_whole
from ..errors import InputError

ZScore = Literal["auto", 0, 1] | None

MISSING: dict[str, Any] = {"facecolor": "#efefef", "hatch": "//////", "edgecolor": "#c9c9c9", "linewidth": 0.0}
_MAX_SD_RATIO = 10.0  # columns whose standard deviations differ more are each scaled,
_MIN_SHARE_WITHIN = 0.5  # and so are those with a smaller share of the variance within than between them


def moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of each column over its observed entries; 0 where there are none."""
    seen = np.ma.masked_invalid(values)
    return seen.mean(axis=0).filled(0.0), seen.std(axis=0).filled(0.0)


def scales_differ(values: np.ndarray) -> bool:
    """Whether one scale of colours would show the columns' units rather than the rows' differences."""
    mean, sd = moments(values)
    varying = sd > 0
    if varying.sum() < 2:
        return False
    mean, sd = mean[varying], sd[varying]
    within = np.square(sd).mean()
    return bool(sd.max() > _MAX_SD_RATIO * sd.min() or within < _MIN_SHARE_WITHIN * (within + mean.var()))


def rescaled(
    values: np.ndarray, z_score: ZScore = "auto", standard_scale: Literal[0, 1] | None = None
) -> tuple[np.ndarray, str | None]:
    """Return values on a common scale and a label that says so, None where they are unchanged.

    `z_score` and `standard_scale` are seaborn's: 0 for rows, 1 for columns; "auto" is 1 where the scales differ.
    """
    if not (z_score is None or z_score == "auto" or _is_axis(z_score)):
        raise InputError(f"z_score must be 0 (rows), 1 (columns), None or 'auto', not {z_score!r}.")
    if not (standard_scale is None or _is_axis(standard_scale)):
        raise InputError(f"standard_scale must be 0 (rows), 1 (columns) or None, not {standard_scale!r}.")
    if standard_scale is not None and _is_axis(z_score):
        raise InputError("give z_score or standard_scale, not both.")
    if standard_scale is None and z_score == "auto":
        z_score = 1 if scales_differ(values) else None
    axis: Any = z_score if standard_scale is None else standard_scale
    if axis is None:
        return values, None
    table = values if axis == 1 else values.T
    what = ("row's", "column's")[axis]
    if standard_scale is None:
        center, spread = moments(table)
        label = f"standard deviations from the {what} mean"
    else:
        center = np.fmin.reduce(table)
        spread = np.fmax.reduce(table) - center
        label = f"share of the {what} range"
    shown = (table - center) / np.where(spread > 0, spread, 1.0)
    return shown if axis == 1 else shown.T, label


def _is_axis(value: object) -> bool:
    return is_whole(value) and value in (0, 1)


def colour_limits(values: np.ndarray, center: float | None = None) -> tuple[float, float, bool]:
    """Return the ends of a colour scale, and whether it is two-sided about a centre.

    The ends are the 1st and 99th percentile, so that outliers do not hide the rest; symmetric about 0 if signs differ.
    """
    finite = values[np.isfinite(values)]
    low, high = map(float, np.percentile(finite, [1, 99])) if finite.size else (0.0, 1.0)
    if center is None and not low < 0 < high:
        return low, high if high > low else low + 1.0, False
    middle = 0.0 if center is None else float(center)
    reach = max(high - middle, middle - low) or 1.0
    return middle - reach, middle + reach, True


def draw_table(ax: Axes, values: np.ndarray, center: float | None = None, **settings: Any) -> AxesImage:
    """Draw a table as an image, hatched where entries are missing; settings of `imshow` that are None are ours."""
    low, high, is_two_sided = colour_limits(values, center)
    if np.isnan(values).any():
        ax.patch.set(**MISSING)
    ours: dict[str, Any] = {"cmap": "RdBu_r" if is_two_sided else "cividis", "vmin": low, "vmax": high}
    given = {name: value for name, value in settings.items() if value is not None}
    return ax.imshow(np.ma.masked_invalid(values), aspect="auto", **{"interpolation": "nearest", **ours, **given})
