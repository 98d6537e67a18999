"""Tables as colours: columns or rows brought to a common scale where theirs differ, and where the colours end."""

from typing import Literal, NamedTuple

import numpy as np

from ..errors import InputError

ZScore = Literal["auto", 0, 1] | None

_SCALES_APART = 10.0  # columns whose standard deviations differ more are each scaled,
_LEAST_WITHIN = 0.5  # and so are those that differ from each other by more than the rows do within them


class Moments(NamedTuple):
    """Mean and standard deviation of each column over what is observed; 0 where nothing is."""

    mean: np.ndarray
    sd: np.ndarray


def moments(values: np.ndarray) -> Moments:
    """Of the columns of a table with NaN where values are missing."""
    seen = ~np.isnan(values)
    number = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, values, 0.0).sum(axis=0) / number
    return Moments(mean, np.sqrt(np.where(seen, np.square(values - mean), 0.0).sum(axis=0) / number))


def scales_differ(values: np.ndarray) -> bool:
    """Whether one scale of colours would show the columns' units rather than the rows' differences."""
    mean, sd = moments(values)
    varying = sd > 0
    if varying.sum() < 2:
        return False
    if sd[varying].max() > _SCALES_APART * sd[varying].min():
        return True
    within = np.square(sd[varying]).mean()
    return bool(within < _LEAST_WITHIN * (within + mean[varying].var()))


def rescaled(
    values: np.ndarray, z_score: ZScore = "auto", standard_scale: Literal[0, 1] | None = None
) -> tuple[np.ndarray, str | None]:
    """Values on a common scale, and in words what they are then; None where they are as they were.

    `z_score` and `standard_scale` are seaborn's: 0 for rows, 1 for columns; "auto" is 1 where the scales differ.
    """
    given = isinstance(z_score, int) and not isinstance(z_score, bool)
    if not (z_score is None or z_score == "auto" or (given and z_score in (0, 1))):
        raise InputError(f"z_score must be 0 (rows), 1 (columns), None or 'auto', not {z_score!r}.")
    if standard_scale not in (None, 0, 1) or isinstance(standard_scale, bool):
        raise InputError(f"standard_scale must be 0 (rows), 1 (columns) or None, not {standard_scale!r}.")
    if standard_scale is not None:
        if given:
            raise InputError("give z_score or standard_scale, not both.")
        return _by_axis(values, standard_scale, _to_unit), f"share of the {_of(standard_scale)} range"
    if z_score == "auto":
        z_score = 1 if scales_differ(values) else None
    if z_score is None:
        return values, None
    return _by_axis(values, z_score, _to_sd), f"standard deviations from the {_of(z_score)} mean"


def _of(axis):
    return ("row's", "column's")[axis]


def _by_axis(values, axis, change):
    return change(values) if axis == 1 else change(values.T).T


def _to_sd(values):
    mean, sd = moments(values)
    return (values - mean) / np.where(sd > 0, sd, 1.0)


def _to_unit(values):
    seen = ~np.isnan(values)
    low, high = np.where(seen, values, np.inf).min(axis=0), np.where(seen, values, -np.inf).max(axis=0)
    low = np.where(np.isfinite(low), low, 0.0)
    reach = np.where(np.isfinite(high), high, 0.0) - low
    return (values - low) / np.where(reach > 0, reach, 1.0)


class Limits(NamedTuple):
    """Where the colours end, and whether they are two-sided about a centre."""

    low: float
    high: float
    is_two_sided: bool


def colour_limits(values: np.ndarray, center: float | None = None) -> Limits:
    """The 1st and 99th percentile, so that outliers do not hide the rest; symmetric about 0 if both signs occur."""
    finite = values[np.isfinite(values)]
    low, high = map(float, np.percentile(finite, [1, 99])) if finite.size else (0.0, 1.0)
    if center is None and not low < 0 < high:
        return Limits(low, high if high > low else low + 1.0, False)
    middle = 0.0 if center is None else float(center)
    reach = max(high - middle, middle - low) or 1.0
    return Limits(middle - reach, middle + reach, True)
