"""Small pictures as SVG text. Colours come from the page's style sheet, so that they follow light and dark."""

from collections.abc import Sequence

import numpy as np

from ..numerics.weighted import weighted_quantile
from ..posterior.diagnostics.ess import by_chain
from .text import escape, number

INTERVAL = np.array([0.05, 0.5, 0.95])
_FAR_APART = 20.0


def quantiles(draws: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """Lower end, middle and upper end of the 90 % interval of weighted draws."""
    low, middle, high = weighted_quantile(np.asarray(draws, dtype=float), weights, INTERVAL)
    return float(low), float(middle), float(high)


def picture(width: int, height: int, body: str, label: str, kind: str = "") -> str:
    """Wrap SVG elements; `label` is what a screen reader says instead."""
    said = f'role="img" aria-label="{escape(label)}"'
    return f'<svg class="picture {kind}" viewBox="0 0 {width} {height}" {said}>{body}</svg>'


def histogram(
    draws: np.ndarray, weights: np.ndarray, label: str, *, width: int = 220, height: int = 52, n_bins: int = 28
) -> str:
    """Bars of weighted draws, with the 90 % interval and the median on a line below."""
    low, middle, high = quantiles(draws, weights)
    left, right = weighted_quantile(np.asarray(draws, dtype=float), weights, np.array([0.005, 0.995]))
    if not right > left:
        left, right = left - 0.5 * (abs(left) or 1.0), right + 0.5 * (abs(right) or 1.0)
    inside = np.clip(draws, left, right)
    heights, _ = np.histogram(inside, bins=n_bins, range=(left, right), weights=weights)
    base = height - 10
    heights = heights / heights.max() * (base - 2)
    step = width / n_bins
    bars = "".join(
        f"M{i * step + 0.5:.1f} {base}v{-h:.1f}h{step - 1:.1f}v{h:.1f}z" for i, h in enumerate(heights) if h > 0.05
    )

    def place(value):
        return float(np.clip((value - left) / (right - left), 0, 1) * width)

    body = (
        f'<path class="bars" d="{bars}"/>'
        f'<path class="interval" d="M{place(low):.1f} {height - 4}H{place(high):.1f}"/>'
        f'<circle class="middle" cx="{place(middle):.1f}" cy="{height - 4}" r="3"/>'
    )
    words = f"{label}: median {number(middle)}, 90 % interval {number(low)} to {number(high)}"
    return picture(width, height, body, words, "histogram")


def differs_a_lot(lows: np.ndarray, middles: np.ndarray) -> bool:
    """Whether positive quantities are so far apart that on a common scale the small ones would all look like 0."""
    return bool(np.min(lows) > 0 and np.max(middles) > _FAR_APART * np.min(middles))


def intervals(
    lows: Sequence[float],
    middles: Sequence[float],
    highs: Sequence[float],
    names: Sequence[str],
    label: str,
    *,
    width: int = 640,
    height: int = 150,
) -> str:
    """One upright line for each of many quantities, from low to high, with a mark in the middle, and a name.

    Where positive quantities differ a lot, their scale is logarithmic (`differs_a_lot`).
    """
    lows, middles, highs = (np.asarray(values, dtype=float) for values in (lows, middles, highs))
    is_log = differs_a_lot(lows, middles)
    bottom, top = (lows.min() if is_log else min(0.0, lows.min())), highs.max()
    if not top > bottom:
        top = bottom + 1.0
    margin = max(44, 10 + 7 * max(len(number(v)) for v in (bottom, top)))
    room = width - margin - 6
    step = room / len(middles)

    def place(value):
        share = (top - value) / (top - bottom)
        if is_log:
            share = np.log(top / value) / np.log(top / bottom)
        return 8 + share * (height - 16)

    across = margin + (np.arange(len(middles)) + 0.5) * step
    lines = "".join(f"M{x:.1f} {place(a):.1f}V{place(b):.1f}" for x, a, b in zip(across, lows, highs, strict=True))
    reach = min(max(step * 0.3, 0.8), 5)
    marks = "".join(f"M{x - reach:.1f} {place(m):.1f}h{2 * reach:.1f}" for x, m in zip(across, middles, strict=True))
    scale = "".join(
        f'<path class="rule" d="M{margin} {place(v):.1f}H{width}"/>'
        f'<text x="{margin - 6}" y="{place(v) + 4:.1f}" text-anchor="end">{number(v)}</text>'
        for v in ((bottom, float(np.sqrt(bottom * top)), top) if is_log else (bottom, top))
    )
    named = ""
    if step >= 11:
        shown = [name if len(name) <= 16 else name[:15] + "…" for name in names]
        named = "".join(
            f'<text transform="translate({x + 4:.1f} {height + 4}) rotate(-90)" text-anchor="end">{escape(name)}</text>'
            for x, name in zip(across, shown, strict=True)
        )
    room_below = 8.5 * max(map(len, shown)) + 12 if named else 0  # more than most letters take
    body = f'{scale}<path class="interval" d="{lines}"/><path class="mark" d="{marks}"/>{named}'
    return picture(width, round(height + room_below), body, label, "intervals")


def with_band(
    x: np.ndarray,
    y: np.ndarray,
    band: np.ndarray,
    names: tuple[str, str],
    label: str,
    *,
    log_x: bool = False,
    width: int = 360,
    height: int = 230,
) -> str:
    """A line through points (x, y), in front of the band (2, …) where it was expected; `names` of the two axes."""
    along = np.log(x) if log_x else np.asarray(x, dtype=float)
    left, right = along.min(), along.max()
    bottom, top = min(0.0, band[0].min(), y.min()), 1.05 * max(band[1].max(), y.max())
    margin, base = 40, height - 40

    def point(u, v):
        across = margin + (u - left) / max(right - left, 1e-9) * (width - margin - 8)
        return f"{across:.1f},{base - (v - bottom) / max(top - bottom, 1e-9) * (base - 8):.1f}"

    upper = [point(u, v) for u, v in zip(along, band[1], strict=True)]
    lower = [point(u, v) for u, v in zip(along[::-1], band[0][::-1], strict=True)]
    line = " ".join(point(u, v) for u, v in zip(along, y, strict=True))
    dots = "".join(
        '<circle class="middle" cx="{}" cy="{}" r="2.5"/>'.format(*point(u, v).split(","))
        for u, v in zip(along, y, strict=True)
    )
    ends = (x[0], x[-1])
    scale = (
        f'<path class="rule" d="M{margin} 8V{base}H{width - 8}"/>'
        f'<text x="{margin - 6}" y="{base + 4}" text-anchor="end">{number(bottom, 2)}</text>'
        f'<text x="{margin - 6}" y="16" text-anchor="end">{number(top, 2)}</text>'
        f'<text x="{margin}" y="{base + 15}">{number(ends[0], 2)}</text>'
        f'<text x="{width - 8}" y="{base + 15}" text-anchor="end">{number(ends[1], 2)}</text>'
        f'<text x="{(margin + width) / 2:.0f}" y="{height - 6}" text-anchor="middle">{escape(names[0])}</text>'
        f'<text transform="translate(12 {base / 2 + 4:.0f}) rotate(-90)" text-anchor="middle">{escape(names[1])}</text>'
    )
    expected = f'<polygon class="band" points="{" ".join(upper + lower)}"/>'
    body = f'{expected}{scale}<polyline class="line c0" points="{line}"/>{dots}'
    return picture(width, height, body, label, "banded")


def beside(draws: np.ndarray, expected: np.ndarray, label: str, *, width: int = 360, height: int = 40) -> str:
    """Where the draws of a standardised quantity lie (line: 90 %, dot: mean), above where they were expected (bars)."""
    reach = max(4.0, 1.1 * float(np.abs(draws).max()))
    heights, edges = np.histogram(np.clip(expected, -reach, reach), bins=41, range=(-reach, reach))
    base, step = height - 2, width / 41
    bars = "".join(
        f"M{(edge + reach) / (2 * reach) * width:.1f} {base}v{-h:.1f}h{step - 1:.1f}V{base}z"
        for edge, h in zip(edges, heights / heights.max() * (base - 12), strict=False)
        if h
    )
    low, high = np.quantile(draws, [0.05, 0.95])

    def place(value):
        return (float(value) + reach) / (2 * reach) * width

    body = (
        f'<path class="bars" d="{bars}"/><path class="rule" d="M0 {base}H{width}"/>'
        f'<path class="mark" d="M{place(low):.1f} 6H{place(high):.1f}"/>'
        f'<circle class="dot" cx="{place(draws.mean()):.1f}" cy="6" r="3.5"/>'
    )
    return picture(width, height, body, label, "beside")


def trace(
    values: np.ndarray, chain: np.ndarray, label: str, *, width: int = 640, height: int = 150, most: int = 400
) -> str:
    """One line for each chain: what a quantity was, draw after draw."""
    values = np.asarray(values, dtype=float)
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return ""
    bottom, top = finite.min(), finite.max()
    if not top > bottom:
        bottom, top = bottom - 1.0, top + 1.0
    margin = 64
    chains = [values[draws] for draws in by_chain(chain)]
    length = max(map(len, chains))
    lines = []
    for i, draws in enumerate(chains):
        at = np.arange(0, len(draws), max(1, -(-len(draws) // most)))
        points = " ".join(
            f"{margin + t / max(length - 1, 1) * (width - margin - 4):.1f},"
            f"{8 + (top - draws[t]) / (top - bottom) * (height - 34):.1f}"
            for t in at
            if np.isfinite(draws[t])
        )
        lines.append(f'<polyline class="line c{i % 10}" points="{points}"/>')
    base = height - 26
    scale = (
        f'<path class="rule" d="M{margin} {base + 0.5}H{width}M{margin} 8.5H{width}"/>'
        f'<text x="{margin - 6}" y="12" text-anchor="end">{number(top, 5)}</text>'
        f'<text x="{margin - 6}" y="{base + 4}" text-anchor="end">{number(bottom, 5)}</text>'
        f'<text x="{margin}" y="{height - 6}">draw 1</text>'
        f'<text x="{width}" y="{height - 6}" text-anchor="end">{length:,}</text>'
    )
    return picture(width, height, scale + "".join(lines), label, "trace")
