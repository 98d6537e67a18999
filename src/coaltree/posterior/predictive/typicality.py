"""Typicality of new rows: how often a row of the fitted kind is as unlikely as this one, or less likely still.

Each fitted row has a log density ℓ_i given all others (leave-one-out), in the columns that the new row has; the new row
has ℓ given all of them. Where rows come from one population, ℓ is exchangeable with them. Of n values let u be the
(k+1)-th lowest, and s the mean of u - ℓ_i over the k below it, whose tail is nearly exponential (log densities of
normal rows and of Student's alike): then

    P(ℓ' ≤ ℓ) = (k + 1) / (n + 1) · (1 + (u - ℓ) / (k s))^-k      for ℓ < u ,

the second factor being the predictive distribution of an exponential tail of which k values were seen; and the share
of the ℓ_i that are as low for ℓ ≥ u. So a probability of 1 % can be told from fewer than a hundred rows.
"""

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import InputError
from .loo import draws_for, from_densities
from .row_densities import has_densities, row_densities

if TYPE_CHECKING:
    from ..posterior import Posterior

MIN_TYPICALITY = 0.01  # below which a row is unlike what was fitted
_MAX_ROWS, _MAX_DRAWS = 400, 100  # that densities are computed of
_MIN_TAIL, _TAIL_SHARE = 8, 0.1  # values in the tail: at least so many, or this share of all
_MIN_ROWS = 10
_known: "WeakKeyDictionary[Posterior, dict[tuple[int, ...], np.ndarray]]" = WeakKeyDictionary()  # by columns


def typicality(posterior: "Posterior", log_density: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """(m,) typicality of new rows with these log densities (m,) of the entries `observed` (m, d) of bool.

    It is NaN where there is nothing to compare with: of rows without any value, where fewer than ten were
    fitted, and where columns were resampled.
    """
    found = np.full(len(log_density), np.nan)
    if posterior.is_resampled:
        return found  # each chain has a likelihood of its own
    patterns, group = np.unique(observed, axis=0, return_inverse=True)
    for g, pattern in enumerate(patterns):
        these = np.flatnonzero(group.ravel() == g)
        columns = np.flatnonzero(pattern)
        fitted = fitted_densities(posterior, columns) if len(columns) else np.empty(0)
        if len(fitted) >= _MIN_ROWS:
            found[these] = lower_tail(fitted, log_density[these])
    return found


def fitted_densities(posterior: "Posterior", columns: np.ndarray) -> np.ndarray:
    """Leave-one-out log densities of fitted rows in these columns, of a sample of many rows; none where none exist.

    Missing entries are as they were drawn. Leaves with several rows, which a new row does not join, are left out whole.
    """
    known, key = _known.setdefault(posterior, {}), tuple(columns.tolist())
    if key in known:
        return known[key]
    if not has_densities(posterior):
        return np.empty(0)
    draws, weights = draws_for(posterior, _MAX_DRAWS)
    n = len(posterior.row_labels)
    among = np.arange(n) if n <= _MAX_ROWS else np.random.default_rng(0).choice(n, _MAX_ROWS, replace=False)
    try:
        densities = row_densities(posterior, draws, among=among, columns=columns)
    except InputError:
        return np.empty(0)
    known[key] = from_densities(posterior, densities, np.log(weights)).pointwise
    return known[key]


def lower_tail(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """(m,) how probably another value of this kind is as low as `at` (m,)."""
    values = np.sort(values[np.isfinite(values)])
    n = len(values)
    k = min(max(_MIN_TAIL, int(_TAIL_SHARE * n)), n // 2)
    threshold = values[k]
    mean = float(np.mean(threshold - values[:k])) or np.finfo(float).tiny
    below = np.maximum(threshold - at, 0.0)
    tail: np.ndarray = (k + 1.0) / (n + 1.0) * np.exp(-k * np.log1p(below / (k * mean)))
    body = (1.0 + np.searchsorted(values, at, side="right")) / (n + 1.0)
    return np.where(at < threshold, tail, np.minimum(body, 1.0))
