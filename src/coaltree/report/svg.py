"""Numbers behind the page's small pictures, as shares of their width and height; templates/pictures.html draws them."""

from typing import Any

import numpy as np

from ..numerics.weighted import weighted_quantile
from ..posterior.clusters.n_clusters import ClusterSuggestion
from ..posterior.clusters.stability import VALID
from ..posterior.diagnostics.ess import by_chain
from ..posterior.posterior import Posterior

INTERVAL = np.array([0.05, 0.5, 0.95])


def histogram(draws: np.ndarray, weights: np.ndarray, n_bins: int = 28) -> dict[str, Any]:
    """Bars of weighted draws, and the ends and the median of their 90 % interval."""
    quantiles = weighted_quantile(draws, weights, np.array([0.005, *INTERVAL, 0.995]))
    left, *ends, right = quantiles.tolist()
    if not right > left:
        left, right = left - 0.5 * (abs(left) or 1.0), right + 0.5 * (abs(right) or 1.0)
    heights, _ = np.histogram(np.clip(draws, left, right), bins=n_bins, range=(left, right), weights=weights)
    places = np.interp(ends, (left, right), (0, 1))
    return {"heights": (heights / heights.max()).tolist(), "ends": ends, "places": places.tolist()}


def intervals(lows: np.ndarray, medians: np.ndarray, highs: np.ndarray) -> dict[str, Any]:
    """Lows, medians and highs of many quantities, on a logarithmic scale where positive ones differ a lot."""
    is_log = bool(lows.min() > 0 and medians.max() > 20.0 * medians.min())
    scale = np.log if is_log else np.asarray
    bottom, top = float(lows.min() if is_log else min(0.0, lows.min())), float(highs.max())
    if not top > bottom:
        top = bottom + 1.0
    ticks = [bottom, float(np.sqrt(bottom * top)), top] if is_log else [bottom, top]

    def places(values: Any) -> list[float]:
        return np.interp(scale(values), scale((bottom, top)), (0, 1)).tolist()

    columns = list(zip(places(lows), places(medians), places(highs), strict=True))
    return {"is_log": is_log, "ticks": list(zip(ticks, places(ticks), strict=True)), "columns": columns}


def stability(suggestion: ClusterSuggestion) -> dict[str, Any] | None:
    """The least stability of the clusters, by number of clusters; None without numbers."""
    number, stable = suggestion.candidates["n_clusters"], suggestion.candidates["stability"]
    if len(number) < 2:
        return None
    across = np.interp(number, (number[0], number[-1]), (0, 1))
    points = list(zip(number.tolist(), across.tolist(), stable.tolist(), strict=True))
    return {"points": points, "suggested": suggestion.n_clusters, "limit": VALID}


def trace(posterior: Posterior) -> dict[str, Any] | None:
    """The log probability, one line for each chain, draw after draw; None where there are no chains of them."""
    values = posterior.log_joint
    is_chain = posterior.draws.is_chain and posterior.draws.has_equal_weights and len(posterior) > 1
    if not is_chain or values is None or not np.isfinite(values).any():
        return None
    finite = values[np.isfinite(values)]
    bottom, top = finite.min(), finite.max()
    if not top > bottom:
        bottom, top = bottom - 1.0, top + 1.0
    chains = [values[draws] for draws in by_chain(posterior.draws.chain)]
    n_draws = max(map(len, chains))
    lines = []
    for draws in chains:
        at = np.arange(0, len(draws), max(1, -(-len(draws) // 400)))
        at = at[np.isfinite(draws[at])]
        lines.append(np.stack([at / max(n_draws - 1, 1), np.interp(draws[at], (bottom, top), (0, 1))], axis=1).tolist())
    return {"y_ends": (bottom, top), "n_draws": n_draws, "lines": lines}
