"""Which columns of a table are in the model, with what values, and under which covariance where none is named."""

import math
import warnings
from collections.abc import Sequence

import numpy as np

from ..._runtime.formatting import shortlist
from ...errors import CoaltreeWarning, InputError
from ..covariance import Covariance, CovarianceLike, Spherical, as_covariance
from ..covariance.base import column_variances
from ..covariance.components import MIN_COMPONENTS
from ..covariance.directions import principal_directions, why_not_one_unit
from .table import Table

_MIN_RANGE = 2.0**-46  # of a column, beside its largest value: what differs less is constant
MAX_SCALE_RATIO = 100.0  # of columns under one variance: beyond, small ones have hardly any effect
_MIN_RESIDUAL = 1e-7  # of a column's standard deviation: less than this is left where others determine it


def choose_columns(
    values: np.ndarray, names: Sequence[str] | None, covariance: CovarianceLike, is_known: bool = False
) -> tuple[Covariance, np.ndarray | None, dict[str, str]]:
    """Covariance and columns (None: all) for distinct rows (g, d), and why; a warning names columns that are left out.

    The covariance is one of these columns, and not yet adapted to their values.
    """
    d = values.shape[1]
    info = {"covariance_given": covariance} if isinstance(covariance, str) and not is_known else {}
    constant = constant_columns(values)
    if info == {"covariance_given": "auto"}:
        covariance, info["covariance_choice"] = choose_family(values, ~constant)
    covariance = as_covariance(covariance, d, names)
    covariance = covariance.known() if is_known else covariance
    varying, reasons = np.arange(d), {}
    if "constant" in covariance.cannot_take or "covariance_choice" in info:
        varying, reasons["constant"] = np.flatnonzero(~constant), np.flatnonzero(constant)
    if len(varying) == 0:
        raise InputError(
            "every column of X is constant, but for rounding, so nothing tells its rows apart; check the table."
        )
    if "dependent" in covariance.cannot_take:
        reasons["a linear function of columns before it"] = varying[dependent_columns(values[:, varying])]
    used = np.setdiff1d(np.arange(d), np.concatenate([[], *reasons.values()]))
    if len(used) == d:
        return covariance, None, info
    parts = [f"{named_columns(which, names)} ({why})" for why, which in reasons.items() if len(which)]
    info["left_out"] = f"left out of the model, though kept in tables and pictures: {' and '.join(parts)}"
    warnings.warn(f"{info['left_out']}.", CoaltreeWarning, stacklevel=4)
    covariance.check(len(used))
    return covariance, used, info


def choose_family(values: np.ndarray, varying: np.ndarray) -> tuple[str, str]:
    """The family for distinct rows (n, d) of which some columns vary, and the reason in words.

    "full" has d(d+1)/2 parameters and needs 3/2 as many rows, and "components" are for no more rows than columns. Else
    columns in one unit are "spherical", since those that hardly vary (pixels at the rim) are to count less, and others
    "scaled".
    """
    n, d = len(values), int(varying.sum())
    needed = rows_for_full(d)
    columns = f"{d:,} column{'s' * (d != 1)}"
    if n >= needed:
        return "full", f"full ({n:,} rows are enough for {columns})"
    X, k = values[:, varying], MIN_COMPONENTS
    if d >= n > k + 1 and principal_directions(X / np.sqrt(column_variances(X)), k)[2] > k:
        return "components", f"components ({n:,} rows are too few for {columns} one by one)"
    why_not = why_not_one_unit(values[:, j] for j in np.flatnonzero(varying))
    if why_not:
        return "scaled", f"scaled ({why_not}; full needs {needed:,} rows for {columns})"
    return "spherical", "spherical (columns have similar ranges, as in one unit: their differences in spread count)"


def rows_for_full(d: int) -> int:
    """How many distinct rows a full covariance of d columns needs."""
    return math.ceil(0.75 * d * (d + 1))


def constant_columns(values: np.ndarray) -> np.ndarray:
    """(d,) whether a column is the same number in every row that has it, to within rounding.

    It says nothing of the tree, and a family that knows each column by its own scale has no place for it: with c such
    columns beside k others in n rows, and a learnt variance for each, times divided by s and the k variances multiplied
    by s gain s^((n-1)c/2) and lose s^(n-1) and s^(k/2), so that the posterior is improper where (n-1)(c-2) > k.
    """
    low, high = np.fmin.reduce(values), np.fmax.reduce(values)
    with np.errstate(over="ignore"):  # an infinite range is no constant
        return np.asarray(~(high - low > _MIN_RANGE * np.maximum(np.abs(low), np.abs(high))))


def dependent_columns(values: np.ndarray) -> np.ndarray:
    """(d,) whether a column is a linear function of those before it, in the rows without missing entries.

    By Gram and Schmidt on standardised columns, until so many are independent that their space holds every column.
    """
    complete = values[~np.isnan(values).any(axis=1)]
    n, d = complete.shape
    dependent = np.zeros(d, dtype=bool)
    if n < 3:
        return dependent
    scaled = np.ldexp(complete, -np.frexp(np.abs(complete).max(axis=0))[1])  # exact, and squares are numbers
    rest = scaled - scaled.mean(axis=0)
    rest /= np.maximum(np.linalg.norm(rest, axis=0), np.finfo(float).tiny)
    for j in range(d):
        length = np.sqrt(rest[:, j] @ rest[:, j])
        dependent[j] = length < _MIN_RESIDUAL
        if j + 1 - dependent.sum() == n - 2:
            break
        if not dependent[j]:
            direction = rest[:, j] / length
            rest[:, j + 1 :] -= np.outer(direction, direction @ rest[:, j + 1 :])
    return dependent


def spread_ties(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values (n, k) with ties spread over the interval they are rounded from, and (k,) which columns had any.

    A column that repeats itself was recorded in steps: 3 stands for all numbers that are written 3. Taken as points,
    equal values make the posterior improper: where a variance is learnt for each column, times divided by s and the
    variances of the other columns multiplied by s gain s^½ at each merge of equal values. So each of the c > 1 rows of
    n that share a value x gets a number of its own, drawn evenly from

        x - ½ gap below  …  x + ½ gap above ,

    the gaps being those to the neighbouring values (at the ends the one that there is). Where most values of a column
    occur once there is no step, as in measurements of which many are 0: then it is at least h = √3 (c/n) sd to either
    side, about as far as c rows would lie apart in a normal column. Values that occur once stay as they are, as do NaN.

    The draws depend on the numbers of row and column in the user's table alone, `rows` (n,) and `columns` (k,), so that
    the same table is spread in the same way by every chain, in every process and in every unit, and rows that are added
    later change nothing before them.
    """
    values, tied = np.array(values), np.zeros(len(columns), dtype=bool)
    for j, number in enumerate(columns):
        seen = np.flatnonzero(~np.isnan(values[:, j]))
        x = values[seen, j]
        levels, level_of, counts = np.unique(x, return_inverse=True, return_counts=True)
        if len(levels) in (1, len(x)):
            continue
        tied[j] = True
        u = np.random.default_rng([20121, int(number)]).random(int(rows.max()) + 1)[rows[seen]]
        half_gaps = 0.5 * np.diff(levels)
        has_step = 2 * np.count_nonzero(counts == 1) <= len(levels)
        least = np.zeros(len(levels)) if has_step else math.sqrt(3.0) * counts / len(x) * x.std()
        below = np.maximum(np.append(half_gaps[0], half_gaps), least)[level_of]
        above = np.maximum(np.append(half_gaps, half_gaps[-1]), least)[level_of]
        values[seen, j] = np.where(counts[level_of] > 1, x + (u * (below + above) - below), x)
    return values, tied


def named_columns(which: np.ndarray, names: Sequence[str] | None) -> str:
    """Columns by name, or by number where they have none, for a message."""
    return f"column{'s' * (len(which) != 1)} {shortlist([repr(names[j]) if names else str(j) for j in which])}"


def warn_of_scales(covariance: Covariance, table: Table) -> None:
    """Under one variance for all columns, those of small scale have hardly any effect."""
    varying = np.flatnonzero(~constant_columns(table.values))
    sd = np.sqrt(column_variances(table.values[:, varying]))
    small = varying[sd * MAX_SCALE_RATIO < sd.max(initial=0.0)]
    if isinstance(covariance, Spherical) and len(small) > 0:
        warnings.warn(
            f"columns differ in scale by more than a factor of {MAX_SCALE_RATIO:.0f}: "
            f"{named_columns(small, table.features)} vary least, with hardly any effect under a spherical covariance; "
            'use covariance="scaled", or scale the columns.',
            CoaltreeWarning,
            stacklevel=4,
        )
