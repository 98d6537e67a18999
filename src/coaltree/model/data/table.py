"""`Table`: what the user gave, an array or a DataFrame, as checked numbers with names of rows and columns."""

import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.formatting import shortlist
from ..._runtime.validation import as_array
from ...errors import CoaltreeWarning, InputError


class Table(NamedTuple):
    """Checked input: values (n, d), names of rows and columns."""

    values: np.ndarray  # float64
    labels: tuple[str, ...]
    features: tuple[str, ...] | None


INDEX = "index"  # in `info`: that a DataFrame was fitted, and what its index was
NO_TABLE = Table(np.empty((0, 0)), (), None)  # of a model that chains alone see


def as_frame(X: Any) -> Any:
    """A table of polars, PyArrow, xarray, … as a DataFrame, masked entries as NaN; all else as it is."""
    if isinstance(X, type):
        raise InputError(f"X must be a table of numbers, not the class {X.__name__}.")
    if isinstance(X, np.ma.MaskedArray):
        return np.ma.filled(X.astype(np.float64) if X.dtype.kind in "biuf" else X.astype(object), np.nan)
    kind = f"{type(X).__module__.split('.')[0]} {type(X).__name__}"
    if callable(getattr(X, "to_pandas", None)):
        frame = X.to_pandas()
        return frame if is_frame(frame) else X
    for method in ("collect", "compute"):
        if hasattr(X, "columns") and hasattr(X, method):
            raise InputError(f"X is a {kind}, which is not in memory; give X.{method}().")
    return X


def is_frame(X: Any) -> bool:
    """Whether X is a DataFrame, or much like one."""
    return hasattr(X, "columns") and hasattr(X, "index") and not callable(X.index)


def read_table(X: Any, *, allow_missing: bool = False, minimum_rows: int = 2, are_groups_named: bool = False) -> Table:
    """Check an array, a DataFrame or a `Table`, and return a `Table`; NaN passes only where it can be imputed.

    Equal names of columns are numbered, and those of rows where groups name the leaves; otherwise they are refused.
    """
    if isinstance(X, Table):
        values, names, features = X
    else:
        X = as_frame(X)
        features = numbered(map(str, X.columns), "columns of X") if is_frame(X) else None
        values = _numbers_of_array(X) if features is None else _numbers_of_frame(X, features)
        names = range(len(np.atleast_1d(values))) if features is None else X.index
    if values.ndim != 2:
        raise InputError(f"X must have rows and columns, not {values.ndim} dimensions; reshape it to (n, d).")
    values = np.ascontiguousarray(values)  # sums round differently where memory is laid out by columns
    n, d = values.shape
    if n < minimum_rows:
        raise InputError(f"X must have at least {minimum_rows} row(s), not {n}.")
    if d < 1:
        raise InputError("X must have at least one column.")
    labels = tuple(map(str, names))
    if len(set(labels)) < n:
        if not are_groups_named:
            twice = next(name for name, times in Counter(labels).items() if times > 1)
            raise InputError(
                f"the index of X has the name {twice!r} twice; make it unique, reset the index, or give groups=X.index "
                "where rows of one name measure the same thing."
            )
        labels = numbered(labels, None)
    if "" in labels:
        raise InputError(f"row {labels.index('')} of X has an empty name; give it one, or reset the index.")
    check_names("row", labels)
    check_names("column", features or ())
    _check_entries(values, labels, features, allow_missing)
    return Table(values, labels, features)


def numbered(names: Iterable[str], what: str | None) -> tuple[str, ...]:
    """Names of which equal ones are numbered (a, a.2, a.3), with a warning where `what` they name."""
    names = tuple(names)
    all_names, times, unique = set(names), Counter[str](), dict[str, None]()
    if len(all_names) == len(names):
        return names
    for name in names:
        new = name
        while new in unique or (new != name and new in all_names):
            times[name] += 1
            new = f"{name}.{times[name] + 1}"
        unique[new] = None
    if what is not None:
        changed = [repr(new) for name, new in zip(names, unique, strict=True) if name != new]
        warnings.warn(
            f"{what} have equal names, which are numbered: {shortlist(changed)}.", CoaltreeWarning, stacklevel=4
        )
    return tuple(unique)


def aligned(name: str, values: Any, index: Any) -> Any:
    """One value for each row or column: a Series in the order of their index, all else as it stands."""
    if index is None or not hasattr(values, "iloc") or isinstance(values, type) or values.index.equals(index):
        return values
    own, wanted = values.index.map(str), list(map(str, index))
    if not own.is_unique or sorted(own) != sorted(wanted):
        raise InputError(
            f"the index of {name} must name the same as X does, each once; give {name}.to_numpy() to take it as it "
            "stands."
        )
    return values.iloc[own.get_indexer(wanted)]


def _numbers_of_frame(X: Any, names: tuple[str, ...]) -> np.ndarray:
    text = [(name, dtype) for name, dtype in zip(names, X.dtypes, strict=True) if not _is_number(dtype)]
    if text:
        columns = shortlist([repr(name) for name, _ in text])
        raise InputError(f"column(s) {columns} of X hold {text[0][1]}, not numbers; drop or encode them.")
    return np.array(X.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)


def _numbers_of_array(X: Any) -> np.ndarray:
    if hasattr(X, "toarray"):
        raise InputError("X is a sparse matrix; give a dense array, for example X.toarray().")
    array = as_array("X", X)
    if array.dtype.kind in "cmM":
        raise InputError(f"X holds {array.dtype}; give real numbers, in a unit of your choice.")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("X must be a rectangular table of numbers; some entries are not numbers.") from None


def check_names(what: str, names: Iterable[str]) -> None:
    """Refuse names that cannot be saved, before anything is sampled."""
    for name in names:
        if name.encode("utf-8", "ignore").decode() != name:
            raise InputError(f"the name of {what} {name!r} has half of a surrogate pair, which no file can hold.")


def _is_number(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf" or bool(getattr(dtype, "_is_numeric", False))


def _check_entries(
    values: np.ndarray, labels: tuple[str, ...], features: tuple[str, ...] | None, allow_missing: bool
) -> None:
    bad = ~np.isfinite(values) if not allow_missing else np.isinf(values)
    if not bad.any():
        return
    i, j = np.argwhere(bad)[0]
    column = repr(features[j]) if features else j
    if np.isnan(values[i, j]):
        raise InputError(
            f"X has {int(np.isnan(values).sum())} missing value(s) (NaN), the first in row {labels[i]!r}, column "
            f"{column}; fit() imputes missing values; here, fill them in or drop their rows."
        )
    raise InputError(f"X has an infinite value in row {labels[i]!r}, column {column}; every entry must be finite.")
