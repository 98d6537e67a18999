"""Tables as colours: columns in standard deviations where their scales differ, and limits of the colours."""

import numpy as np

_MAX_SD_RATIO = 10.0  # columns whose standard deviations differ more are each scaled,
_MIN_SHARE_WITHIN = 0.5  # and so are those with a smaller share of the variance within than between them


def moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column over its observed entries; 0 where there are none."""
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


def standardised(values: np.ndarray) -> np.ndarray:
    """Each column in standard deviations from its mean."""
    mean, sd = moments(values)
    return (values - mean) / np.where(sd > 0, sd, 1.0)


def colour_limits(values: np.ndarray) -> tuple[float, float, bool]:
    """Ends of a colour scale, and whether it is two-sided about 0, as where both signs occur.

    The ends are the 1st and 99th percentile, so that outliers do not hide the rest.
    """
    finite = values[np.isfinite(values)]
    low, high = map(float, np.percentile(finite, [1, 99])) if finite.size else (0.0, 1.0)
    if not low < 0 < high:
        return low, high if high > low else low + 1.0, False
    reach = max(high, -low)
    return -reach, reach, True
