"""From what the user has to what a sampler takes: checked rows, distinct rows, whitened rows.

Exact duplicates have no density under the model without leaf noise. They are merged at time 0 beforehand, the sampler
runs over the distinct rows, and `Distinct.expand` puts the duplicates back on the trees.
"""

import math
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np

from .blas import single_threaded_blas
from .diffusion import squared_distances
from .errors import CoaltreeWarning, InputError
from .samplers.base import Problem

_CLOSE = 1e-18  # squared distances of which rotation might lose digits, beside the largest row's square


class Table(NamedTuple):
    """Checked input: values (n, d), names of rows and columns."""

    values: np.ndarray
    labels: tuple[str, ...]
    features: tuple[str, ...] | None


def read_table(X, *, allow_missing=False, minimum_rows=2):
    """Check array-like data or a DataFrame and return a `Table`; NaN passes only where it can be imputed."""
    index, columns = getattr(X, "index", None), getattr(X, "columns", None)
    values = _as_numbers(X, columns if index is not None else None)
    if values.ndim != 2:
        raise InputError(f"X must have rows and columns, not {values.ndim} dimensions; reshape it to (n, d).")
    values = np.ascontiguousarray(values)  # sums round differently where memory is laid out by columns
    n, d = values.shape
    if n < minimum_rows:
        raise InputError(f"X has {n} row(s); at least {minimum_rows} are needed.")
    if d < 1:
        raise InputError("X has no columns; at least one is needed.")
    labels = tuple(str(name) for name in (range(n) if index is None or columns is None else index))
    if len(set(labels)) < n:
        twice = next(name for name, times in Counter(labels).items() if times > 1)
        raise InputError(f"the index of X has the name {twice!r} twice; make it unique, or reset the index.")
    features = None if index is None or columns is None else tuple(str(name) for name in columns)
    _check_entries(values, labels, features, allow_missing)
    return Table(values, labels, features)


def _as_numbers(X, columns):
    if columns is not None:
        kinds = {str(name): dtype for name, dtype in zip(columns, X.dtypes, strict=True)}
        bad = [name for name, dtype in kinds.items() if not _is_number(dtype)]
        if bad:
            raise InputError(f"column {bad[0]!r} of X holds {kinds[bad[0]]}, not numbers; drop or encode it.")
        return np.array(X.to_numpy(dtype=float, na_value=np.nan), dtype=float)
    if hasattr(X, "toarray"):
        raise InputError("X is a sparse matrix; give a dense array, for example X.toarray().")
    try:
        array = np.ma.asarray(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        if np.iscomplexobj(array):
            raise InputError("X holds complex data, which is not supported; give real numbers.")
        if array.dtype.kind in "mM":
            raise InputError(f"X holds {array.dtype}, not numbers; give them as numbers in a unit of your choice.")
        return np.ma.filled(array.astype(float), np.nan)  # what is masked is missing
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("X must be a rectangular table of numbers; some entries are not numbers.") from None


def _is_number(dtype):
    return getattr(dtype, "kind", "O") in "biuf" or getattr(dtype, "_is_numeric", False)


def _check_entries(values, labels, features, allow_missing):
    bad = ~np.isfinite(values) if not allow_missing else np.isinf(values)
    if not bad.any():
        return
    i, j = np.argwhere(bad)[0]
    column = repr(features[j]) if features else j
    if np.isnan(values[i, j]):
        raise InputError(
            f"X has {int(np.isnan(values).sum())} missing value(s) (NaN), the first in row {labels[i]!r}, column "
            f"{column}; fit() imputes them, here they must be filled in or their rows dropped."
        )
    raise InputError(f"X has an infinity in row {labels[i]!r}, column {column}; every entry must be finite.")


class Distinct(NamedTuple):
    """Which rows are copies of which: row i equals distinct row ``group[i]``, first seen at ``first[group[i]]``."""

    first: np.ndarray  # (g,) row numbers
    group: np.ndarray  # (n,)

    @property
    def n_copies(self):
        """How many rows repeat an earlier one."""
        return len(self.group) - len(self.first)

    def expand(self, children, times):
        """Turn trees over the g distinct rows, (T, g-1, 2) and (T, g-1), into trees over all n rows."""
        n, g = len(self.group), len(self.first)
        if n == g:
            return children, times
        node_of_group = self.first.copy()
        merges_of_copies = []
        seen = np.zeros(g, dtype=bool)
        for i, c in enumerate(self.group):
            if seen[c]:
                merges_of_copies.append((node_of_group[c], i))
                node_of_group[c] = n + len(merges_of_copies) - 1
            seen[c] = True
        copies = len(merges_of_copies)
        new_node = np.concatenate([node_of_group, n + copies + np.arange(g - 1)])
        repeat = (len(times), 1)
        zero_merges = np.broadcast_to(np.array(merges_of_copies), (len(times), copies, 2))
        return (
            np.concatenate([zero_merges, new_node[children]], axis=1).astype(np.int32),
            np.concatenate([np.tile(np.zeros(copies), repeat), times], axis=1),
        )


def find_distinct(values, labels=None, leaf_noise=0.0, *, quiet=False):
    """Group identical rows; without leaf noise they have no density, and the user is told that they merge at time 0.

    Rows are compared after centring, as samplers see them: a difference that centring rounds away counts as none.
    With leaf noise, or where entries are missing (NaN), rows stay apart.
    """
    n = len(values)
    everyone = np.arange(n)
    if leaf_noise > 0.0:
        return Distinct(everyone, everyone)
    rows = np.ascontiguousarray(values - _centre(values) + 0.0)  # -0.0 and 0.0 are the same
    _, first, group = np.unique(
        rows.view([("", rows.dtype)] * rows.shape[1]).ravel(), return_index=True, return_inverse=True
    )
    if len(first) < n:
        missing = np.isnan(rows).any(axis=1)
        keys = np.where(missing, n + everyone, first[group])  # a row with missing entries equals no other
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    distinct = Distinct(first[order], np.argsort(order)[group])
    if distinct.n_copies and not quiet:
        i = next(i for i in range(n) if distinct.first[distinct.group[i]] != i)
        twin = distinct.first[distinct.group[i]]
        names = (labels[twin], labels[i]) if labels else (twin, i)
        warnings.warn(
            f"{distinct.n_copies} row(s) repeat another, exactly or to within rounding (for example {names[0]!r} and "
            f"{names[1]!r}) and are merged at time 0; leaf_noise > 0 would give identical rows a proper density.",
            CoaltreeWarning,
            stacklevel=3,
        )
    return distinct


def _centre(values):
    """Return the mean of each column's known entries, or 0 where differences from it might not be finite."""
    known = np.isfinite(values)
    moderate = np.where(known & (np.abs(values) < 1e300), values, 0.0)
    return moderate.sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def largest_distance(n):
    """Return the squared distance up to which 4 λ ε is finite for every λ <= n²/2 of n rows."""
    return float(np.finfo(float).max) / (2.0 * n * n)


def _rotated(W):
    """Rows in an orthonormal basis of their span: with Wᵀ = Q R for the centred W, the rows of Rᵀ.

    Rounding moves them by some 1e-16 of the largest row; W is left as it is where rows stand so close that it matters.
    """
    n = len(W)
    if not np.isfinite(W).all():
        return W
    rotated = np.ascontiguousarray(np.asarray(np.linalg.qr(W.T, mode="r")).T[:, : n - 1])
    with np.errstate(over="ignore", invalid="ignore"):
        eps = squared_distances(rotated)
        largest = np.square(rotated).sum(axis=1).max()
    return rotated if eps[np.tril_indices(n, -1)].min() > _CLOSE * largest else W


def make_problem(values, covariance, leaf_noise=0.0, *, rotate=False):
    """Whiten distinct rows (n, d) into a `Problem`; `rotate` drops the columns beyond the n - 1 that rows span.

    Rotation leaves all distances as they are, to within rounding.
    """
    n, d = values.shape
    with single_threaded_blas():
        whitener = covariance.whitener(d)
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused below
            W = np.ascontiguousarray(whitener.whiten(values - values.mean(axis=0)))
        if rotate and 1 < n <= d:
            W = _rotated(W)
    largest = np.abs(W).max()
    if not largest < math.sqrt(largest_distance(n) / (4.0 * d)):
        raise InputError(
            f"the whitened values of X reach {largest:.3g}, too large for squared distances; rescale X or the "
            "covariance."
        )
    return Problem(W, None, d, float(whitener.log_det), float(leaf_noise))
