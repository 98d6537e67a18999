"""How many clusters? Look for the number at which the next merge takes unusually long to come.

While m clusters are left, the gap before the next merge has the standardised length g_m = λ_m Δ_m, λ_m = m (m-1)/2, and
under the coalescent all g_m are independent Exp(1). Real groups leave a long gap at their number, m. Since real data
seldom follow the coalescent's rates over the whole tree, g_m is measured against the q gaps just before it, the
finer clusterings m+1 … m+q, which under the coalescent gives

    r_m = g_m / mean(g_{m+1} … g_{m+q}) ,    P(r_m > r) = (1 + r/q)^-q        (e^-r as q grows)

The probability is averaged over the posterior. The smallest one is suggested if the smallest of so many would be as
small by chance with probability below `level`; otherwise no number stands out and 1 is suggested.
"""

from typing import NamedTuple

import numpy as np

from .._runtime.checks import check_count
from ..model.coalescent import standardized_gaps
from ..numerics.weighted import weighted_quantile

_WINDOW = 8


class ClusterSuggestion(NamedTuple):
    """A number of clusters, the reason for it, and the gaps between merges that it was read from."""

    n_clusters: int
    reason: str
    gaps: np.ndarray  # one row per number m: n_clusters, gap (mean of g_m), low, high (90 %), ratio, probability
    probability: float  # that the coalescent alone gives as small a probability to any number looked at

    def __str__(self) -> str:
        return self.reason


def suggest_n_clusters(
    times: np.ndarray, weights: np.ndarray, max_clusters: int | None = None, level: float = 0.05
) -> ClusterSuggestion:
    """Suggest a number of clusters from merge times (T, n-1) with weights that sum to 1."""
    n = times.shape[1] + 1
    if max_clusters is None:
        largest = min(n // 2, int(np.ceil(2 * np.sqrt(n))))
    else:
        largest = check_count("max_clusters", max_clusters, 2, n - 1)
    gaps = standardized_gaps(times)[:, ::-1]  # column m - 2
    numbers = np.arange(2, largest + 1)
    table = np.zeros(
        len(numbers),
        dtype=[("n_clusters", np.int64)] + [(name, float) for name in ("gap", "low", "high", "ratio", "probability")],
    )
    for row, m in zip(table, numbers, strict=True):
        gap, q = gaps[:, m - 2], min(_WINDOW, n - m)
        before = gaps[:, m - 1 : m - 1 + q].mean(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(gap > 0, gap / before, 0.0)
        row["n_clusters"] = m
        row["gap"] = weights @ gap
        row["low"], row["high"] = weighted_quantile(gap, weights, np.array([0.05, 0.95]))
        row["ratio"] = weighted_quantile(ratio, weights, np.array([0.5]))[0]
        row["probability"] = weights @ (1 + ratio / q) ** -q
    if len(table) == 0:
        return ClusterSuggestion(1, f"{n} leaves are too few to suggest a number of clusters.", table, 1.0)
    best = table[np.argmin(table["probability"])]
    m, ratio = best["n_clusters"], best["ratio"]
    chance = float(-np.expm1(len(table) * np.log1p(-min(best["probability"], 1 - 1e-16))))
    times = f"{ratio:.1f} times the gaps" if ratio < 1000 else "more than 1,000 times the gaps"  # which may be 0
    gap = f"is {times} just before it, relative to their expected lengths"
    gap += f" (probability by chance: {chance:.2g})"
    if chance > level:
        reason = f"No number of clusters stands out: the most unusual gap between merges, at {m} clusters, {gap}."
        return ClusterSuggestion(1, reason, table, chance)
    return ClusterSuggestion(int(m), f"{m} clusters: the gap before the next merge {gap}.", table, chance)
