"""What people do to a table before clustering it: logarithms, centring, scaling, or a scikit-learn transformer.

Steps are taken in this order: logarithms of columns, centring, division by standard deviations (over what is observed;
a constant row or column is divided by 1). What columns are shifted and divided by is kept for new rows; rows are
centred and scaled by themselves. What rows were shifted and divided by is kept, too, so that tables can be shown in the
units in which they were given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..._runtime.formatting import listed, some
from ..._runtime.schema import Array, Value, are_names, check_fields, is_finite
from ..._runtime.validation import is_whole
from ...errors import InputError
from .table import Table, as_double

WORDS = ("log", "center", "scale")
AXES = ("rows", "columns")
ALL, SKEWED = "all", "skewed"  # in place of names of columns; one that is really called so comes first
CLEARLY = 3.5  # standard errors from which on a column is skewed, here and in model checks
FEW_VALUES = 2  # in a column that no function changes
TransformLike = str | Mapping[str, Any] | Any  # "log", a mapping from words to rows or columns, a transformer
_IN_PANDAS = {"transpose": "X.T", "drop_empty": 'X.dropna(how="all")', "exclude_row": "X.drop(index=…)"}


@dataclass(frozen=True, eq=False)
class Transform:
    """Steps that were taken before a table was fitted, with what they were fitted to."""

    log: np.ndarray  #: Numbers of the columns whose logarithm was taken.
    center: str | None  #: What was centred, "rows", "columns" or None.
    scale: str | None  #: What was divided by its standard deviation.
    column_center: np.ndarray | None  #: (d,) means of the columns.
    column_scale: np.ndarray | None  #: (d,) standard deviations of the columns.
    row_center: np.ndarray | None  #: (rows,) means of the fitted rows.
    row_scale: np.ndarray | None  #: (rows,) standard deviations of the fitted rows.
    columns: tuple[str, ...] | None  #: Names of the columns that were given.
    n_columns: int  #: Number of these.
    transformer: Any = None  #: A fitted scikit-learn transformer in place of the steps; a description where it is lost.

    def __repr__(self) -> str:
        return f"<Transform: {self.describe()}>"

    @property
    def is_by_columns(self) -> bool:
        """Whether every column is changed by itself, in the same way for all rows."""
        return self.transformer is None and "rows" not in (self.center, self.scale)

    def describe(self) -> str:
        """The steps in words."""
        if self.transformer is not None:
            return " ".join(str(self.transformer).split())
        names = [self.columns[j] if self.columns else str(j) for j in self.log]
        of = "all columns" if len(self.log) == self.n_columns else some(names)
        said = [f"logarithm of {of}"] if len(self.log) else []
        said += [f"{self.center} centred"] if self.center else []
        said += [f"{self.scale} divided by their standard deviations"] if self.scale else []
        return listed(said) if said else "nothing"

    def words(self) -> dict[str, Any] | None:
        """What `fit` was given, to be given again; None for a transformer."""
        if self.transformer is not None:
            return None
        every = len(self.log) == self.n_columns
        log = True if every else [self.columns[j] if self.columns else int(j) for j in self.log]
        given = {"log": log, "center": self.center, "scale": self.scale}
        return {word: value for word, value in given.items() if value is not None and value != []}

    def apply(self, table: Table) -> tuple[Table, "Transform"]:
        """New rows with the given columns as the model sees them, and the steps as they were taken with these."""
        if self.transformer is not None:
            return _through(self.transformer, table, "transform"), self
        values = _logarithms(table, self.log)
        row_center = row_scale = None
        if self.center == "columns":
            values = values - self.column_center
        elif self.center == "rows":
            row_center = _means(values)
            values = values - row_center[:, None]
        if self.scale == "columns":
            values = values / self.column_scale
        elif self.scale == "rows":
            row_scale = _deviations(values)
            values = values / row_scale[:, None]
        return table._replace(values=values), replace(self, row_center=row_center, row_scale=row_scale)

    def joined(self, other: "Transform") -> "Transform":
        """The same steps for the rows of both."""

        def both(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
            return None if a is None or b is None else np.concatenate([a, b])

        center, scale = both(self.row_center, other.row_center), both(self.row_scale, other.row_scale)
        return replace(self, row_center=center, row_scale=scale)

    def undo(self, values: np.ndarray) -> np.ndarray | None:
        """The fitted rows (rows, d) in the units in which they were given; None where the steps cannot be undone."""
        if self.transformer is not None:
            back = getattr(self.transformer, "inverse_transform", None)
            if back is None or values.shape[1] != self.n_columns or np.isnan(values).any():
                return None
            return np.asarray(back(values), dtype=np.float64)
        values = np.array(values, dtype=np.float64)
        row_scale, row_center = (None if part is None else part[:, None] for part in (self.row_scale, self.row_center))
        for scale in (self.column_scale, row_scale):
            values = values if scale is None else values * scale
        for center in (self.column_center, row_center):
            values = values if center is None else values + center
        values[:, self.log] = np.exp(values[:, self.log])
        return values

    def to_dict(self) -> dict[str, Any]:
        """What is saved: of a transformer a description only."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        content["columns"] = None if self.columns is None else list(self.columns)
        return content | {"transformer": None if self.transformer is None else str(self.transformer)}


def from_dict(content: Any, n_rows: int, n_columns: int | None = None) -> Transform:
    """A saved transform of so many rows, into so many columns, each of its fields checked; raises ValueError."""
    given = content.get("n_columns") if isinstance(content, dict) else None
    d = given if is_whole(given) else -1
    axis = Value(str, lambda word: word in AXES, optional=True)

    def positive(values: np.ndarray) -> bool:
        return is_finite(values) and bool((values > 0).all())

    table = {
        "log": Array("i", (None,), lambda log: ((log >= 0) & (log < d)).all()),
        "center": axis,
        "scale": axis,
        "column_center": Array("f", (d,), is_finite, optional=True),
        "column_scale": Array("f", (d,), positive, optional=True),
        "row_center": Array("f", (n_rows,), is_finite, optional=True),
        "row_scale": Array("f", (n_rows,), positive, optional=True),
        "columns": Value(list, lambda names: are_names(names) and len(names) == d, optional=True),
        "n_columns": Value(int, lambda number: number > 0),
        "transformer": Value(str, optional=True),
    }
    check_fields(content, table, "transform.")
    for word in ("center", "scale"):
        for axis_name, stored in (("columns", f"column_{word}"), ("rows", f"row_{word}")):
            if (content[word] == axis_name) != (content[stored] is not None):
                raise ValueError(f"transform.{stored} has wrong type, shape or values")
    if content["transformer"] is None and n_columns not in (None, d):
        raise ValueError("transform.n_columns has wrong type, shape or values")
    columns = content["columns"]
    return Transform(**(content | {"columns": None if columns is None else tuple(columns)}))


def transformed(table: Table, given: Any) -> tuple[Table, Transform | None]:
    """Take the steps that `given` names, or a transformer's, with a table of rows that have values."""
    if given is None:
        return table, None
    n_columns = table.values.shape[1]
    if not isinstance(given, str | Mapping):
        transformer = _clone(given)
        new = _through(transformer, table, "fit_transform")
        nothing = np.empty(0, np.int64)
        return new, Transform(nothing, None, None, None, None, None, None, table.features, n_columns, transformer)
    words = _check_words(given)
    log, center, scale = _columns(words.get("log"), table), words.get("center"), words.get("scale")
    found = Transform(log, center, None, None, None, None, None, table.features, n_columns)
    if center == "columns":
        found = replace(found, column_center=_means(_logarithms(table, log).T))
    if scale == "columns":
        found = replace(found, column_scale=_deviations(found.apply(table)[0].values.T))
    return replace(found, scale=scale).apply(table)


def _check_words(given: Any) -> dict[str, Any]:
    words = dict(given) if isinstance(given, Mapping) else {given: True}
    for word, value in words.items():
        if word in _IN_PANDAS:
            raise InputError(f"transform has no {word!r} in Python; give fit {_IN_PANDAS[word]}.")
        if word not in WORDS:
            raise InputError(
                f"transform must be a mapping of {', '.join(map(repr, WORDS))}, or a scikit-learn transformer; it has "
                f"{word!r}."
            )
        if word != "log" and not (value is None or (isinstance(value, str) and value in AXES)):
            raise InputError(f'transform[{word!r}] must be "rows" or "columns", not {value!r}.')
    return words


def _columns(given: Any, table: Table) -> np.ndarray:
    """Numbers of the columns that were named, one by one or by a word: all for True, none for None or False."""
    d = table.values.shape[1]
    if given is None or given is False:
        return np.empty(0, np.int64)
    if given is True:
        return np.arange(d)
    names = [given] if isinstance(given, str | int | np.integer) else list(given)
    place: dict[Any, int] = {name: j for j, name in enumerate(table.features or ())}
    found: list[int] = []
    for name in names:
        j = place.get(str(name), name if not table.features else None)
        if name in (ALL, SKEWED) and name not in place:
            found += range(d) if name == ALL else np.flatnonzero(are_skewed(as_double(table.values))).tolist()
            continue
        if not isinstance(j, int | np.integer) or isinstance(j, bool) or not 0 <= j < d:
            known = some(table.features) if table.features else f"the numbers 0 to {d - 1}"
            raise InputError(f"log names a column {name!r}, which X does not have; its columns are {known}.")
        found.append(int(j))
    return np.unique(np.array(found, np.int64))


def are_skewed(values: np.ndarray) -> np.ndarray:
    """(d,) whether each column of (n, d) values is positive and has a long tail to the right that logarithms shorten.

    That is a skewness of `CLEARLY` standard errors √(6 / n) and more, over what is observed, that is larger than the
    size of the logarithms' skewness; a column of two values has no tail.
    """
    has_tail = np.zeros(values.shape[1], dtype=bool)
    for j, column in enumerate(values.T):
        seen = column[~np.isnan(column)]
        if len(np.unique(seen)) > FEW_VALUES and seen.min() > 0.0:
            skewness, of_logs = _skewness(seen), _skewness(np.log(seen))
            has_tail[j] = skewness > max(CLEARLY * np.sqrt(6.0 / len(seen)), abs(of_logs))
    return has_tail


def _skewness(values: np.ndarray) -> float:
    scaled = values - values.mean()
    scaled /= np.abs(scaled).max()  # so that no cube is too large or too small to compute with
    return float(np.mean(scaled**3) / np.mean(scaled**2) ** 1.5)


def _logarithms(table: Table, log: np.ndarray) -> np.ndarray:
    values = np.array(as_double(table.values))
    bad = np.argwhere(values[:, log] <= 0.0)
    if len(bad):
        i, j = bad[0][0], int(log[bad[0][1]])
        column = repr(table.features[j]) if table.features else str(j)
        raise InputError(
            f"column {column} has {values[i, j]:g} in row {table.labels[i]!r}, which has no logarithm; leave it out of "
            "log, or add a constant first."
        )
    values[:, log] = np.log(values[:, log])
    return values


def _means(values: np.ndarray) -> np.ndarray:
    """(n,) mean of each row over what is observed, 0 where nothing is."""
    seen = ~np.isnan(values)
    return np.asarray(np.where(seen, values, 0.0).sum(axis=1) / np.maximum(seen.sum(axis=1), 1))


def _deviations(values: np.ndarray) -> np.ndarray:
    """(n,) standard deviation of each row over what is observed, 1 where it is 0."""
    found = np.sqrt(_means(np.square(values - _means(values)[:, None])))
    size = np.abs(np.where(np.isnan(values), 0.0, values)).max(axis=1)
    return np.where(found > 1e-12 * size, found, 1.0)


def _clone(transformer: Any) -> Any:
    if isinstance(transformer, type) or not (
        hasattr(transformer, "fit_transform") and hasattr(transformer, "transform")
    ):
        raise InputError(
            'transform must be a mapping such as {"log": ["a"], "scale": "columns"}, or a scikit-learn transformer, '
            f"not {transformer!r}."
        )
    from sklearn.base import clone

    return clone(transformer)


def _through(transformer: Any, table: Table, method: str) -> Table:
    """A table as a transformer returns it."""
    name = type(transformer).__name__
    if isinstance(transformer, str):
        raise InputError(
            f"the transformer of this posterior ({transformer.partition('(')[0]}) was not saved with it, so new rows "
            "cannot be placed after loading; place them before saving, or fit a table that is transformed already, and "
            "give new rows transformed likewise."
        )
    try:
        found = np.asarray(getattr(transformer, method)(as_double(table.values)))
        values = found.astype(np.float64, casting="unsafe" if found.dtype == object else "same_kind", copy=False)
    except Exception as error:  # whatever a stranger's transformer raises
        why = " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__
        raise InputError(f"transform: {name} cannot take these rows: {why}.") from error
    if values.ndim != 2 or len(values) != len(table.values) or values.shape[1] < 1 or np.isinf(values).any():
        raise InputError(f"transform: {name} must return one row of finite numbers for each row.")
    return Table(np.ascontiguousarray(values), table.labels, _names_after(transformer, table, values.shape[1]))


def _names_after(transformer: Any, table: Table, d: int) -> tuple[str, ...] | None:
    try:
        names: Sequence[Any] = transformer.get_feature_names_out(None if table.features is None else table.features)
        found = tuple(map(str, names))
    except Exception:  # it has none, or wants others
        found = table.features or ()
    return found if len(found) == d else None
