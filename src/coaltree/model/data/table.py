"""`Table`: what the user gave, an array or a DataFrame, as checked numbers with names of rows and columns."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError


class Table(NamedTuple):
    """Checked input: values (n, d), names of rows and columns."""

    values: np.ndarray  # float64
    labels: tuple[str, ...]
    features: tuple[str, ...] | None


NO_TABLE = Table(np.empty((0, 0)), (), None)  # of a model that chains alone see


def column_names(X: Any) -> tuple[str, ...] | None:
    """The names of the columns of a `Table` or DataFrame, None for anything else."""
    if isinstance(X, Table):
        return X.features
    index, columns = getattr(X, "index", None), getattr(X, "columns", None)
    return None if index is None or columns is None else tuple(str(name) for name in columns)


def as_frame(X: Any) -> Any:
    """A table of polars, PyArrow, xarray or another package as the DataFrame of its own `to_pandas`; X otherwise."""
    convert = getattr(X, "to_pandas", None)
    if not callable(convert) or isinstance(X, type):
        return X
    try:
        found = convert()
    except Exception as error:  # whatever that package raises
        why = " ".join(str(error).split())[:200]
        raise InputError(f"X is a {type(X).__name__} that cannot be made a DataFrame: {why}") from error
    return found if hasattr(found, "columns") and hasattr(found, "index") else X


def read_table(X: Any, *, allow_missing: bool = False, minimum_rows: int = 2) -> Table:
    """Check an array, a DataFrame or a `Table`, and return a `Table`; NaN passes only where it can be imputed."""
    X = as_frame(X)
    _refuse_other_tables(X)
    features = column_names(X)
    values = X.values if isinstance(X, Table) else _as_numbers(X, features)
    if values.ndim != 2:
        raise InputError(f"X must have rows and columns, not {values.ndim} dimensions; reshape it to (n, d).")
    values = np.ascontiguousarray(values)  # sums round differently where memory is laid out by columns
    n, d = values.shape
    if n < minimum_rows:
        raise InputError(f"X must have at least {minimum_rows} row(s), not {n}.")
    if d < 1:
        raise InputError("X must have at least one column.")
    names = X.labels if isinstance(X, Table) else range(n) if features is None else X.index
    labels = tuple(str(name) for name in names)
    if len(set(labels)) < n:
        twice = next(name for name, times in Counter(labels).items() if times > 1)
        raise InputError(f"the index of X has the name {twice!r} twice; make it unique, or reset the index.")
    if "" in labels:
        raise InputError(f"row {labels.index('')} of X has an empty name; give it one, or reset the index.")
    check_names("row", labels)
    check_names("column", features or ())
    _check_entries(values, labels, features, allow_missing)
    return Table(values, labels, features)


def _refuse_other_tables(X: Any) -> None:
    """Refuse tables that are not in memory, and whose own conversion would lose their names."""
    package = type(X).__module__.split(".")[0]
    if callable(getattr(X, "collect", None)) and not hasattr(X, "to_pandas") and not isinstance(X, type):
        raise InputError(f"X is a {package} {type(X).__name__}, which is not in memory; give X.collect().")
    if package == "dask" and hasattr(X, "columns"):
        name = f"dask {type(X).__name__}"
        raise InputError(f"X is a {name}; give a pandas DataFrame or an array, for example X.compute().")


def _as_numbers(X: Any, columns: tuple[str, ...] | None) -> np.ndarray:
    if columns is not None:
        # two columns may have the same name
        text = [(name, dtype) for name, dtype in zip(columns, X.dtypes, strict=True) if not _is_number(dtype)]
        if len(text) == 1:
            raise InputError(f"column {text[0][0]!r} of X holds {text[0][1]}, not numbers; drop or encode it.")
        if text:
            names = [name for name, _ in text]
            raise InputError(
                f"columns {', '.join(map(repr, names))} of X hold {text[0][1]}, not numbers; drop or encode them, such "
                f"as X.drop(columns={names})."
            )
        return np.array(X.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    if hasattr(X, "toarray"):
        raise InputError("X is a sparse matrix; give a dense array, for example X.toarray().")
    try:
        array = np.ma.asarray(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        if np.iscomplexobj(array):
            raise InputError("X holds complex data, which is not supported; give real numbers.")
        if array.dtype.kind in "mM":
            raise InputError(f"X holds {array.dtype}, not numbers; give them as numbers in a unit of your choice.")
        return np.ma.filled(array.astype(np.float64), np.nan)  # what is masked is missing
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise InputError("X must be a rectangular table of numbers; some entries are not numbers.") from None


def check_names(what: str, names: Iterable[str]) -> None:
    """Refuse names that cannot be saved, before anything is sampled."""
    for name in names:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(
                f"the name of {what} {name!r} has half of a surrogate pair, which no file can hold."
            ) from None


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
