"""Numbers behind the page's small pictures: paths and places in pixels, which templates/pictures.html draws."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._runtime.formatting import number
from ..numerics.weighted import weighted_quantile
from ..posterior.diagnostics.ess import by_chain

INTERVAL = np.array([0.05, 0.5, 0.95])
LOG_SCALE_ABOVE = 20.0  # ratio of the largest to the smallest quantity
MIN_STEP_NAMED = 11  # pixels from one column to the next, below which columns are not named
MAX_POINTS = 400  # of a line


def quantiles(draws: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """Return the lower end, the median and the upper end of the 90 % interval of weighted draws."""
    low, median, high = weighted_quantile(np.asarray(draws, dtype=float), weights, INTERVAL)
    return float(low), float(median), float(high)


def histogram(
    draws: np.ndarray, weights: np.ndarray, *, width: int = 220, height: int = 52, n_bins: int = 28
) -> dict[str, Any]:
    """Bars of weighted draws, with the 90 % interval and the median on a line below."""
    ends = quantiles(draws, weights)
    left, right = weighted_quantile(np.asarray(draws, dtype=float), weights, np.array([0.005, 0.995]))
    if not right > left:
        left, right = left - 0.5 * (abs(left) or 1.0), right + 0.5 * (abs(right) or 1.0)
    heights, _ = np.histogram(np.clip(draws, left, right), bins=n_bins, range=(left, right), weights=weights)
    base = height - 10
    bars = _bars(heights / heights.max() * (base - 2), base, width / n_bins)
    low, median, high = np.interp(ends, (left, right), (0, width))
    return {"width": width, "height": height, "bars": bars, "ends": ends, "low": low, "median": median, "high": high}


def spans_decades(lows: np.ndarray, medians: np.ndarray) -> bool:
    """Whether positive quantities differ so much that on a linear scale the small ones would all look like 0."""
    return bool(np.min(lows) > 0 and np.max(medians) > LOG_SCALE_ABOVE * np.min(medians))


def intervals(
    lows: np.ndarray, medians: np.ndarray, highs: np.ndarray, names: list[str], *, width: int = 640, height: int = 150
) -> dict[str, Any]:
    """One upright line for each of many quantities, from low to high, with a mark at the median, and a name.

    Where positive quantities differ a lot, their scale is logarithmic (`spans_decades`).
    """
    is_log = spans_decades(lows, medians)
    scale = np.log if is_log else np.asarray
    bottom, top = float(lows.min() if is_log else min(0.0, lows.min())), float(highs.max())
    if not top > bottom:
        top = bottom + 1.0
    margin = max(44, 10 + 7 * max(len(number(value)) for value in (bottom, top)))
    step = (width - margin - 6) / len(medians)
    reach = min(max(step * 0.3, 0.8), 5)
    x = margin + (np.arange(len(medians)) + 0.5) * step

    def y(values: Any) -> np.ndarray:
        return np.interp(scale(values), scale((bottom, top)), (height - 8, 8))

    ticks = np.array([bottom, np.sqrt(bottom * top), top] if is_log else [bottom, top])
    shown = [name if len(name) <= 16 else name[:15] + "…" for name in names] if step >= MIN_STEP_NAMED else []
    return {
        "width": width,
        "height": height,
        "total_height": round(
            height + (8.5 * max(map(len, shown)) + 12 if shown else 0)
        ),  # more than most letters take
        "margin": margin,
        "is_log": is_log,
        "lines": "".join(f"M{a:.1f} {b:.1f}V{c:.1f}" for a, b, c in zip(x, y(lows), y(highs), strict=True)),
        "marks": "".join(f"M{a - reach:.1f} {b:.1f}h{2 * reach:.1f}" for a, b in zip(x, y(medians), strict=True)),
        "ticks": list(zip(ticks, y(ticks), strict=True)),
        "names": list(zip(x + 4, shown, strict=True)) if shown else [],
    }


def banded(
    x: np.ndarray, y: np.ndarray, band: np.ndarray, *, log_x: bool = False, width: int = 360, height: int = 230
) -> dict[str, Any]:
    """A line through points (x, y), in front of the band (2, …) that the model expects."""
    along = np.log(x) if log_x else np.asarray(x, dtype=float)
    bottom, top = min(0.0, band[0].min(), y.min()), 1.05 * max(band[1].max(), y.max())
    margin, base = 40, height - 40
    across = np.interp(along, (along.min(), along.max()), (margin, width - 8))
    line, lower, upper = np.interp((y, band[0], band[1]), (bottom, top), (base, 8))
    around = np.concatenate([across, across[::-1]]), np.concatenate([upper, lower[::-1]])
    return {
        "width": width,
        "height": height,
        "margin": margin,
        "base": base,
        "x_ends": (x[0], x[-1]),
        "y_ends": (bottom, top),
        "band": _points(*around),
        "line": _points(across, line),
        "dots": list(zip(across, line, strict=True)),
    }


def beside(draws: np.ndarray, expected: np.ndarray, *, width: int = 360, height: int = 40) -> dict[str, Any]:
    """Draws of a standardised quantity (line: 90 %, dot: mean) above those that were expected (bars)."""
    reach = max(4.0, 1.1 * float(np.abs(draws).max()))
    heights, _ = np.histogram(np.clip(expected, -reach, reach), bins=41, range=(-reach, reach))
    base = height - 2
    bars = _bars(heights / heights.max() * (base - 12), base, width / 41, 0.0)
    ends = [*np.quantile(draws, [0.05, 0.95]), draws.mean()]
    low, high, mean = np.interp(ends, (-reach, reach), (0, width))
    return {"width": width, "height": height, "base": base, "bars": bars, "low": low, "high": high, "mean": mean}


def trace(values: np.ndarray, chain: np.ndarray, *, width: int = 640, height: int = 150) -> dict[str, Any] | None:
    """One line for each chain, draw after draw; None where no value is finite."""
    values = np.asarray(values, dtype=float)
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return None
    bottom, top = finite.min(), finite.max()
    if not top > bottom:
        bottom, top = bottom - 1.0, top + 1.0
    margin, base = 64, height - 26
    chains = [values[draws] for draws in by_chain(chain)]
    length = max(map(len, chains))
    lines = []
    for draws in chains:
        at = np.arange(0, len(draws), max(1, -(-len(draws) // MAX_POINTS)))
        at = at[np.isfinite(draws[at])]
        x = margin + at / max(length - 1, 1) * (width - margin - 4)
        lines.append(_points(x, np.interp(draws[at], (bottom, top), (base, 8))))
    return {
        "width": width,
        "height": height,
        "margin": margin,
        "base": base,
        "y_ends": (bottom, top),
        "n_draws": length,
        "lines": lines,
    }


def _bars(heights: np.ndarray, base: float, step: float, left: float = 0.5) -> str:
    return "".join(
        f"M{i * step + left:.1f} {base}v{-h:.1f}h{step - 1:.1f}v{h:.1f}z" for i, h in enumerate(heights) if h > 0.05
    )


def _points(x: Iterable[float], y: Iterable[float]) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
