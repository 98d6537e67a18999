"""Tables of distances between rows, as people have them: square, one triangle of it, or a condensed vector.

A square table has n rows and columns, 0 on the diagonal. Of a triangle the other half is missing; R prints `dist` with
rows 2 … n and columns 1 … n - 1, the lower half of it. A condensed vector (SciPy's `pdist`) has the n (n - 1) / 2
distances of the upper triangle, row by row.
"""

import math
from typing import Any

import numpy as np

from ...errors import InputError
from ...tree.rooted import default_labels
from .table import Table, read_table

METRICS = ("euclidean", "correlation", "distances", "squared_distances")
DISTANCES = ("distances", "squared_distances")
_MIN_ROWS_FOR_HINT = 3
_MIN_SQUARE = 1e-290  # the largest one: below, others lose their digits


def check_metric(metric: Any, metrics: tuple[str, ...] = METRICS) -> str:
    """One of the metrics; "precomputed" does not say which distances it means."""
    if isinstance(metric, str) and metric == "precomputed":
        raise InputError(
            'metric="precomputed" does not say which distances X holds; give metric="distances", which squares them, '
            'or metric="squared_distances" where they are squares already.'
        )
    if not (isinstance(metric, str) and metric in metrics):
        raise InputError(f"metric must be one of {', '.join(map(repr, metrics))}, not {metric!r}.")
    return metric


def read_distances(X: Any, metric: str) -> Table:
    """Squared distances (n, n) from what was given, symmetric bit for bit, with the names of the rows."""
    given = X if isinstance(X, Table) or hasattr(X, "columns") else np.asarray(X)
    if getattr(given, "ndim", 2) == 1:
        given = np.asarray(given)[:, None]
    table = square_table(read_table(given, allow_missing=True, minimum_rows=1))
    check_distances(table.values, metric)
    if table.features is not None and table.features != table.labels and set(table.features) == set(table.labels):
        raise InputError("the columns of the distances have the names of the rows in another order; put both in one.")
    if metric == "squared_distances":
        return table
    with np.errstate(over="ignore"):
        squared = np.square(table.values)
    if not np.isfinite(squared).all():
        raise InputError(f"distances reach {table.values.max():.3g}, too large to be squared; rescale them.")
    if squared.max() < _MIN_SQUARE and table.values.any():
        raise InputError(f"distances are at most {table.values.max():.3g}, too small to be squared; rescale them.")
    return table._replace(values=squared)


def square_table(table: Table) -> Table:
    """The whole square of a triangle or a condensed vector; any other table as it is."""
    values = table.values
    if values.shape[1] == 1 and len(values) > 1:
        n = math.isqrt(2 * len(values)) + 1
        if n * (n - 1) // 2 != len(values):
            raise InputError(
                f"a condensed vector holds n (n - 1) / 2 distances, such as 1, 3, 6 or 10 of them, not {len(values)}."
            )
        square = np.zeros((n, n))
        square[np.triu_indices(n, 1)] = values[:, 0]
        return Table(square + square.T, default_labels(n), None)
    if values.shape[0] != values.shape[1] or not np.isnan(values).any():
        return table
    above, diagonal = np.triu_indices(len(values), 1), np.diagonal(values)
    for half, is_lower in ((values, True), (values.T, False)):
        if not np.isnan(half[above]).all() or np.isnan(half.T[above]).any():
            continue
        if np.isnan(diagonal).all() or not diagonal.any():
            lower = np.tril(half, -1)
            return table._replace(values=lower + lower.T)
        if not np.isnan(diagonal).any():  # R's dist: the diagonal is that below the one of the square
            return _from_shifted(np.tril(half), table, is_lower)
    return table


def _from_shifted(half: np.ndarray, table: Table, is_lower: bool) -> Table:
    n = len(half) + 1
    square = np.zeros((n, n))
    square[1:, :-1] = half
    square += square.T
    names = (table.features or (), table.labels) if is_lower else (table.labels, table.features or ())
    labels = (*names[0][:1], *names[1])  # one more than the half has; fewer where columns have no names
    return Table(square, labels if len(set(labels)) == n else default_labels(n), None)


def check_distances(values: np.ndarray, metric: str) -> None:
    """Refuse what cannot be a table of distances (n, n)."""
    what = "squared distances" if metric == "squared_distances" else "distances"
    if values.shape[0] != values.shape[1]:
        raise InputError(f'metric="{metric}" needs an (n, n) matrix of {what}, not {values.shape}.')
    if len(values) < 2:
        raise InputError(f"a table of {what} needs at least 2 rows.")
    if np.isnan(values).any():
        raise InputError(f"X has {int(np.isnan(values).sum())} missing value(s) (NaN); {what} must all be known.")
    if np.any(np.diagonal(values) != 0.0) or values.min() < 0.0:
        raise InputError(f"{what} must be 0 on the diagonal and nowhere negative.")
    if np.abs(values - values.T).max() > 1e-8 * values.max():
        raise InputError(f"{what} must be symmetric; X and its transpose differ.")


def hint_of_distances(table: Table) -> str | None:
    """A sentence where a table that is to be fitted as rows looks like one of distances."""
    values = table.values
    n = len(values)
    if values.shape != (n, n) or n < _MIN_ROWS_FOR_HINT or not values.max() > 0.0:
        return None
    if np.diagonal(values).any() or values.min() < 0.0 or not np.array_equal(values, values.T):
        return None
    return (
        "the table is symmetric with zeros on the diagonal, as tables of distances are, and its rows are fitted like "
        'any measurements; give metric="distances" (--metric distances) if it holds distances, or "squared_distances".'
    )
