"""What is done to a table before it is fitted, and in the same way to new rows: any scikit-learn transformer."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from ..._runtime.formatting import shortlist
from ..._runtime.typing import ArrayLike
from ..._runtime.validation import check_choice, is_whole
from ...errors import InputError
from .table import Table, as_frame, read_table

TransformLike = Any  # an object with `fit_transform` and `transform`
Columns = bool | Sequence[str | int]
Axis = Literal["rows", "columns"] | None

_LOGARITHMS = {"log": (np.log, np.exp, 0.0), "log1p": (np.log1p, np.expm1, -1.0)}  # inverse, and what has none


@dataclass(eq=False, repr=False)
class Preprocessor:
    """Logarithms, then centring, then scaling of a table: a scikit-learn transformer that a saved posterior keeps.

    Parameters
    ----------
    log, log1p : columns whose log x or log (1 + x) is taken: True for all, or their names or numbers.
    center : "columns" or "rows", to subtract the mean of each.
    scale : "columns" or "rows", to divide each by its standard deviation, or by 1 where that is 0.

    Examples
    --------
    >>> import coaltree as ct
    >>> ct.Preprocessor(log=[0], center="columns").fit_transform([[1.0, 2.0], [1.0, 4.0]])
    array([[ 0., -1.],
           [ 0.,  1.]])
    """

    log: Columns = False
    log1p: Columns = False
    center: Axis = None
    scale: Axis = None
    # What `fit` finds, which a file holds too.
    feature_names_in_: Sequence[str] | None = field(default=None, kw_only=True)
    mean_: Any = field(default=None, kw_only=True)  #: (d,) subtracted from the columns, perhaps 0.
    scale_: Any = field(default=None, kw_only=True)  #: (d,) they are divided by, perhaps 1.

    def __post_init__(self) -> None:
        for name in ("center", "scale"):
            if getattr(self, name) is not None:
                check_choice(name, getattr(self, name), ("rows", "columns"))
        if self.mean_ is not None:  # of a file
            names, d = self.feature_names_in_, np.size(self.mean_)
            are_numbers = np.shape(self.mean_) == np.shape(self.scale_) == (d,) and np.isfinite(self.mean_).all()
            if not are_numbers or np.any(~(np.asarray(self.scale_) > 0.0)) or (names is not None and len(names) != d):
                raise InputError("a fitted Preprocessor has values that do not fit each other.")
            self.feature_names_in_ = None if names is None else tuple(map(str, names))
            self._columns("log"), self._columns("log1p")

    def __repr__(self) -> str:
        settings = [(name, getattr(self, name)) for name in ("log", "log1p", "center", "scale")]
        inside = [f"{name}={value!r}" for name, value in settings if value is not None and value is not False]
        return f"Preprocessor({', '.join(inside)})"

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the fitted table."""
        return np.size(self.mean_)

    @property
    def is_by_columns(self) -> bool:
        """Whether every column is changed by itself, in the same way for all rows, so that this can be undone."""
        return "rows" not in (self.center, self.scale)

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Keep the means and standard deviations of the columns of X (n, d); y is ignored."""
        table = read_table(X, allow_missing=True, minimum_rows=1)
        d = table.values.shape[1]
        self.feature_names_in_, self.mean_, self.scale_ = table.features, np.zeros(d), np.ones(d)
        if {*self._columns("log")} & {*self._columns("log1p")}:
            raise InputError("log and log1p name the same column; take one of them.")
        if self.center == "columns":
            self.mean_ = _scaler(self._logarithms(table)).mean_
        if self.scale == "columns":
            self.scale_ = _scaler(self._centred(table)).scale_
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return rows (n, d) as they are fitted."""
        values = self._centred(read_table(X, allow_missing=True, minimum_rows=1))
        return np.asarray(values / (_scaler(values.T).scale_[:, None] if self.scale == "rows" else self.scale_))

    def fit_transform(self, X: ArrayLike, y: Any = None) -> np.ndarray:
        """Return ``fit(X).transform(X)``."""
        return self.fit(X).transform(X)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Return rows (n, d) as they were given; rows that were centred or scaled cannot be undone."""
        if not self.is_by_columns:
            raise InputError("rows that were centred or scaled cannot be transformed back.")
        values: np.ndarray = np.asarray(X, dtype=np.float64) * self.scale_ + self.mean_
        for word in ("log1p", "log"):
            columns = self._columns(word)
            values[:, columns] = _LOGARITHMS[word][1](values[:, columns])
        return values

    def _logarithms(self, table: Table) -> np.ndarray:
        values, names = np.array(table.values), table.features
        for word, (function, _, limit) in _LOGARITHMS.items():
            columns = self._columns(word)
            bad = np.argwhere(values[:, columns] <= limit)
            if len(bad):
                i, j = bad[0][0], columns[bad[0][1]]
                raise InputError(
                    f"column {repr(names[j]) if names else j} has {values[i, j]:g} in row {table.labels[i]!r}, which "
                    f"has no logarithm; leave the column out of {word}, or add a constant first."
                )
            values[:, columns] = function(values[:, columns])
        return values

    def _centred(self, table: Table) -> np.ndarray:
        values = self._logarithms(table)
        return np.asarray(values - (_scaler(values.T).mean_[:, None] if self.center == "rows" else self.mean_))

    def _columns(self, word: str) -> list[int]:
        """Numbers of the columns that `log` or `log1p` names."""
        selection, names, d = getattr(self, word), self.feature_names_in_, self.n_features_in_
        if isinstance(selection, bool | np.bool_):
            return list(range(d)) if selection else []
        numbers = []
        for one in [selection] if isinstance(selection, str | int) else selection:
            number: Any = names.index(str(one)) if names and str(one) in names else one
            if not (is_whole(number) and 0 <= number < d):
                known = shortlist(names) if names else f"the numbers 0 to {d - 1}"
                raise InputError(f"{word} names a column {one!r}, which X does not have; its columns are {known}.")
            numbers.append(int(number))
        return numbers


def described(transformer: Any) -> str:
    """A transformer as Python writes it, in one line; some that derive from scikit-learn's cannot be written."""
    try:
        return " ".join(repr(transformer).split())
    except Exception:
        return f"{type(transformer).__name__}()"


def fit_transform(table: Table, transformer: TransformLike | None) -> tuple[Table, Any]:
    """A table as a copy of the transformer returns it, fitted to it, and that copy."""
    if transformer is None:
        return table, None
    is_one = hasattr(transformer, "fit_transform") and hasattr(transformer, "transform")
    if isinstance(transformer, type) or not is_one:
        raise InputError(
            "transform must be a scikit-learn transformer, such as coaltree.Preprocessor(log=True), not "
            f"{described(transformer)[:100]}."
        )
    transformer = copy.deepcopy(transformer)
    return transformed(table, transformer, "fit_transform"), transformer


def transformed(table: Table, transformer: Any, method: str = "transform") -> Table:
    """A table as a transformer returns it, which is given a DataFrame where columns have names."""
    name, X = type(transformer).__name__, table.values
    if table.features is not None:
        from pandas import DataFrame

        X = DataFrame(X, table.labels, table.features)
    try:
        result = as_frame(getattr(transformer, method)(X))
        result = np.asarray(result.toarray() if hasattr(result, "toarray") else result)
        values = result.astype(np.float64, casting="unsafe" if result.dtype == object else "same_kind", copy=False)
        names: Any = transformer.get_feature_names_out() if hasattr(transformer, "get_feature_names_out") else ()
    except InputError:
        raise
    except Exception as error:  # whatever a transformer raises
        why = " ".join(str(error).split())[:300].rstrip(".") or type(error).__name__
        raise InputError(f"transform: {name} cannot take these rows: {why}.") from error
    if values.ndim != 2 or len(values) != len(table.values) or values.shape[1] < 1 or np.isinf(values).any():
        raise InputError(f"transform: {name} must return one row of finite numbers for each row.")
    names = tuple(map(str, names)) or table.features or ()
    return Table(np.ascontiguousarray(values), table.labels, names if len(names) == values.shape[1] else None)


def log_derivative(transformer: TransformLike, values: np.ndarray) -> np.ndarray:
    """(m, d) log |dy/dx| of transformed entries y of values x, by columns; NaN where it is not known."""
    if transformer is None:
        return np.zeros(values.shape)
    if isinstance(transformer, Preprocessor) and transformer.is_by_columns:
        original = transformer.inverse_transform(values)
        log_slopes = np.broadcast_to(-np.log(transformer.scale_), values.shape).copy()
        for word, (logarithm, _, _) in _LOGARITHMS.items():
            columns = transformer._columns(word)
            log_slopes[:, columns] -= logarithm(original[:, columns])
        return log_slopes
    kind = type(transformer)
    is_theirs = kind.__module__.startswith("sklearn.preprocessing")  # and not a class of the same name
    if is_theirs and kind.__name__ in ("StandardScaler", "RobustScaler", "MaxAbsScaler"):
        scale = getattr(transformer, "scale_", None)
        return np.broadcast_to(0.0 if scale is None else -np.log(scale), values.shape)
    return np.full(values.shape, np.nan)


def _scaler(values: np.ndarray) -> Any:
    """Means and standard deviations of columns over what is observed."""
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit(values)
