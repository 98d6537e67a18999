"""Which columns of a table are in the model, with what values, and under which covariance where none is named.

A column that is constant says nothing of the tree, and a family that knows each column by its own scale has no place
for it: with c such columns beside k others in n rows, and a learnt variance for each, times divided by s and the k
variances multiplied by s gain s^((n-1)c/2) and lose s^(n-1) and s^(k/2), so that the posterior is improper where
(n-1)(c-2) > k. It is left out, as is, under `Full`, a column that is a linear function of those before it.
"""

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.formatting import shortlist
from ...errors import CoaltreeWarning, InputError
from ..covariance import Covariance, CovarianceLike, Spherical, as_covariance
from ..covariance.base import column_variances
from .table import Table
from .ties import spread_ties

_MIN_RANGE = 2.0**-46  # of a column, beside its largest value: what differs less is constant
_MAX_RATIO_OF_RANGES = 8.0  # of columns in one unit: 90 % to 10 % quantile, and largest to median
_MIN_DISTINCT_VALUES = 5  # in half of the columns; categories and their indicators have no unit
MAX_SCALE_RATIO = 100.0  # of columns under one variance: beyond, small ones have hardly any effect
_MIN_RESIDUAL = 1e-7  # of a column's standard deviation: less than this is left where others determine it


class Modelled(NamedTuple):
    """What the model sees of a table."""

    covariance: Covariance  # adapted to the values
    values: np.ndarray  # (g, k) of the distinct rows
    used: np.ndarray | None  # (k,) numbers of the columns in the model; None for all
    is_spread: bool  # whether ties were spread
    info: dict[str, str]  # what a person wants to know of it


def modelled(
    values: np.ndarray,
    rows: np.ndarray,
    names: Sequence[str] | None,
    covariance: CovarianceLike,
    spread: bool = False,
) -> Modelled:
    """Choose covariance and columns for the distinct rows (g, d), of these numbers in the user's table; warn once.

    Ties are spread where the covariance cannot take them, or with `spread`.
    """
    d = values.shape[1]
    info = {"covariance_given": covariance} if isinstance(covariance, str) else {}
    constant = constant_columns(values)
    if is_auto(covariance):
        covariance, info["covariance_choice"] = choose_family(values, ~constant)
    covariance = as_covariance(covariance, d)
    cannot_take = covariance.cannot_take | ({"constant"} if "covariance_choice" in info else set())
    left_out = constant if "constant" in cannot_take else np.zeros(d, dtype=bool)
    if left_out.all():
        raise _nothing_varies(values)
    low, high = _bounds(values)
    reasons = {  # why columns are left out
        "constant": np.flatnonzero(left_out & ~(low < high)),
        "constant but for rounding": np.flatnonzero(left_out & (low < high)),
    }
    if "dependent" in cannot_take:
        varying = np.flatnonzero(~left_out)
        column_variances(values[:, varying])  # refused where they are no numbers, before anything is concluded of them
        reasons["a linear function of columns before it"] = varying[dependent_columns(values[:, varying])]
    used = np.setdiff1d(np.arange(d), np.concatenate(list(reasons.values())))
    if len(used) < d:
        said = [f"{_named(which, names)} ({why})" for why, which in reasons.items() if len(which)]
        info["left_out"] = f"left out of the model, though kept in tables and pictures: {' and '.join(said)}"
        warnings.warn(f"{info['left_out']}.", CoaltreeWarning, stacklevel=4)
    covariance = covariance.of_columns(used, d)
    if len(used) < d:
        values = np.ascontiguousarray(values[:, used])  # as all others: sums of columns round differently
    tied = np.zeros(len(used), dtype=bool)
    if spread or "tied" in cannot_take:
        values, tied = spread_ties(values, rows, used)
    if tied.any():
        info["ties"] = f"equal values spread over the step they are recorded in: {_named(used[tied], names)}"
    covariance = covariance.adapt(values)
    return Modelled(covariance, values, used if len(used) < d else None, bool(tied.any()), info)


def is_auto(covariance: Any) -> bool:
    """Whether the family is to be chosen by `choose_family`."""
    return isinstance(covariance, str) and covariance == "auto"


def choose_family(values: np.ndarray, varying: np.ndarray) -> tuple[str, str]:
    """The family for distinct rows (n, d) of which some columns vary, and the reason in words.

    "full" has d(d+1)/2 parameters and needs 3/2 as many rows. Else columns in one unit are "spherical", since those
    that hardly vary (pixels at the rim) are to count less, and others "scaled".
    """
    n, d = len(values), int(varying.sum())
    if d == 0:
        raise _nothing_varies(values)
    needed = rows_for_full(d)
    columns = f"{d:,} column{'s' * (d != 1)}"
    if n >= needed:
        return "full", f"full ({n:,} rows are enough for {columns})"
    why_not = _why_not_one_unit(values[:, j] for j in np.flatnonzero(varying))
    if why_not:
        return "scaled", f"scaled ({why_not}; full needs {needed:,} rows for {columns})"
    return "spherical", "spherical (columns have similar ranges, as in one unit: their differences in spread count)"


def rows_for_full(d: int) -> int:
    """How many distinct rows a full covariance of d columns needs."""
    return math.ceil(0.75 * d * (d + 1))


def constant_columns(values: np.ndarray) -> np.ndarray:
    """(d,) whether a column is the same number in every row that has it, to within rounding."""
    low, high = _bounds(values)
    with np.errstate(over="ignore"):  # an infinite range is no constant
        return np.asarray(~(high - low > _MIN_RANGE * np.maximum(np.abs(low), np.abs(high))))


def _bounds(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(d,) smallest and largest value of each column; the former is the larger one where a column has none."""
    seen = ~np.isnan(values)
    return np.where(seen, values, np.inf).min(axis=0), np.where(seen, values, -np.inf).max(axis=0)


def dependent_columns(values: np.ndarray) -> np.ndarray:
    """(d,) whether a column is a linear function of those before it, in the rows without missing entries.

    By Gram and Schmidt on standardised columns. A space of as many dimensions as there are rows holds every column:
    once that is reached, only columns that repeat a single other one are found.
    """
    complete = values[~np.isnan(values).any(axis=1)]
    n, d = complete.shape
    dependent = np.zeros(d, dtype=bool)
    if n < 3:
        return dependent
    scaled = np.ldexp(complete, -np.frexp(np.abs(complete).max(axis=0))[1])  # exact, and squares are numbers
    centred = scaled - scaled.mean(axis=0)
    norms = np.sqrt(np.square(centred).sum(axis=0))
    unit = centred / np.where(norms > 0.0, norms, 1.0)
    basis = np.empty((min(n - 2, d), n))
    rank = 0
    for j in range(d):
        rest = unit[:, j]
        if rank < len(basis):
            for _ in range(2):  # twice is enough
                rest = rest - (basis[:rank] @ rest) @ basis[:rank]
        else:
            before = np.flatnonzero(~dependent[:j])
            cosines = rest @ unit[:, before]
            twin = np.argmax(np.abs(cosines))
            rest = rest - cosines[twin] * unit[:, before[twin]]
        left = float(np.sqrt(rest @ rest))
        dependent[j] = norms[j] > 0.0 and left < _MIN_RESIDUAL
        if rank < len(basis) and left >= _MIN_RESIDUAL:
            basis[rank] = rest / left
            rank += 1
    return dependent


def _nothing_varies(values: np.ndarray) -> InputError:
    """The error of a table whose columns are all constant, or are so beside their size."""
    low, high = _bounds(values)
    if np.any(low < high):
        return InputError(
            "the values of each column of X agree in their first 13 digits, and the rest is rounding; subtract what "
            "they have in common before they are rounded, or check the table."
        )
    return InputError("every column of X is constant, so nothing tells its rows apart; check the table.")


def imputed_everywhere(imputed: np.ndarray, X: np.ndarray, used: np.ndarray | None) -> np.ndarray:
    """Draws (T, missing entries of X) from those of the columns in the model; the other columns follow from these."""
    if used is None:
        return imputed
    row_of, column_of = np.nonzero(np.isnan(X))
    is_used = np.isin(column_of, used)
    everywhere = np.empty((len(imputed), len(row_of)))
    everywhere[:, is_used] = imputed
    for m in np.flatnonzero(~is_used):
        i, j = row_of[m], column_of[m]
        row = np.tile(X[i, used], (len(imputed), 1))
        row[:, np.isnan(X[i, used])] = everywhere[:, is_used & (row_of == i)]
        everywhere[:, m] = _linear_prediction(X[:, used], X[:, j], row)
    return everywhere


def imputed_in_model(imputed: np.ndarray, X: np.ndarray, used: np.ndarray | None) -> np.ndarray:
    """Undo `imputed_everywhere`."""
    return imputed if used is None else imputed[:, np.isin(np.nonzero(np.isnan(X))[1], used)]


def _linear_prediction(others: np.ndarray, column: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The entries of a column as a linear function of the others, fitted to the complete rows."""
    complete = ~np.isnan(others).any(axis=1) & ~np.isnan(column)
    seen = column[~np.isnan(column)]
    if np.ptp(seen) == 0.0 or not complete.any():
        return np.full(len(rows), seen.mean())
    A, b = others[complete], column[complete]
    centre, spread = A.mean(axis=0), A.std(axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    slopes = np.linalg.lstsq((A - centre) / spread, b - b.mean(), rcond=None)[0]
    return np.asarray(b.mean() + ((rows - centre) / spread) @ slopes)


def _why_not_one_unit(columns: Iterable[np.ndarray]) -> str:
    """Why these columns, which vary, do not seem to share one unit, or "" if they do.

    A range leaves out the smallest and the largest cell, which may be outliers, and a column that is constant without
    them has none. Inner quantiles would not do: most pixels of an image are blank in most rows.
    """
    n_values, ranges = [], []
    for column in columns:
        cells = np.sort(column[~np.isnan(column)])
        n_values.append(1 + np.count_nonzero(np.diff(cells)))
        if len(cells) > 3 and cells[-2] > cells[1]:
            ranges.append(cells[-2] - cells[1])
    if np.median(n_values) < _MIN_DISTINCT_VALUES:
        return "columns have few distinct values"
    low, middle, high = np.quantile(ranges, [0.1, 0.5, 0.9])
    is_similar = high <= _MAX_RATIO_OF_RANGES * low and max(ranges) <= _MAX_RATIO_OF_RANGES * middle
    return "" if is_similar else "columns have different ranges, as in different units"


def _named(which: np.ndarray, names: Sequence[str] | None) -> str:
    what = "column" if len(which) == 1 else "columns"
    return f"{what} {shortlist([repr(names[j]) if names else str(j) for j in which])}"


def warn_of_scales(covariance: Covariance, table: Table) -> None:
    """Under one variance for all columns, those of small scale have hardly any effect."""
    if not isinstance(covariance, Spherical):
        return
    sd = np.sqrt(column_variances(table.values))
    varies = np.nanmax(table.values, axis=0) > np.nanmin(table.values, axis=0)
    if not varies.any() or sd[varies].max() <= MAX_SCALE_RATIO * sd[varies].min():
        return
    names: Any = table.features or range(len(sd))
    order = np.flatnonzero(varies)[np.argsort(sd[varies])]
    large = [repr(names[j]) for j in order[::-1] if sd[j] > MAX_SCALE_RATIO * sd[order[0]]]
    small = [repr(names[j]) for j in order if sd[j] * MAX_SCALE_RATIO < sd[order[-1]]]
    warnings.warn(
        f"columns differ in scale by more than a factor of {MAX_SCALE_RATIO:.0f}: {shortlist(large)} vary most, "
        f"{shortlist(small)} least, with hardly any effect under a spherical covariance; "
        'use covariance="scaled", or scale the columns.',
        CoaltreeWarning,
        stacklevel=4,
    )
