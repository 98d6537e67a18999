"""Checks of what a posterior is made of: draws, rows, leaves and columns must fit each other."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._runtime.typing import ArrayLike
from ..errors import InputError
from ..model.covariance import Components
from ..model.draws import Draws
from ..model.model import Model
from ..model.process.noise import NOISE_LEVEL
from .trees.stacked import check_trees, read_only

if TYPE_CHECKING:
    from .posterior import Posterior


def checked_draws(model: Model, draws: Draws) -> Draws:
    """Read-only draws that fit their model, weights with a mean of 1."""
    children, times = read_only(draws.children, np.int32), read_only(draws.times)
    check_trees(children, times)
    n_trees, n_rows = len(times), len(model.table.labels)
    if times.shape[1] + 1 != len(model.leaves.labels):
        raise InputError(f"the trees have {times.shape[1] + 1} leaves, and the model {len(model.leaves.labels)}.")
    tail_scale = check_array("tail_scale", draws.tail_scale, trees=n_trees, rows=n_rows)
    if tail_scale is not None and not np.all(tail_scale > 0.0):
        raise InputError("tail_scale must hold positive numbers.")
    return Draws(
        children,
        times,
        check_log_weights(draws.log_weights, n_trees),
        check_array("log_joint", draws.log_joint, trees=n_trees),
        None if draws.log_evidence is None else float(draws.log_evidence),
        {},
        check_theta(draws.theta, n_trees),
        tail_scale,
        check_array("imputed", draws.imputed, trees=n_trees, missing_entries=model.n_missing),
        check_array("chain", draws.series, np.int64, trees=n_trees),
    )


def require_model(posterior: "Posterior", what: str) -> None:
    """Refuse what needs rows, covariance and noise where they, or draws of a learnt noise, are not there."""
    model = posterior.model
    if model.X is None or model.covariance is None:
        raise InputError(f"this posterior does not include its data or covariance, which {what} needs.")
    if model.noise.level is None and NOISE_LEVEL not in posterior.theta:
        raise InputError("this posterior has no draws of its noise level, which this needs; fit() keeps them.")


def require_fixed_directions(posterior: "Posterior") -> None:
    """Refuse densities of the rows that were fitted where components are found from them."""
    if isinstance(posterior.model.covariance, Components):
        raise InputError(
            "leave-one-out needs a model that has not seen the row, and components are found from all rows; "
            "compare by rows that were not fitted (X_heldout, --heldout)."
        )


def require_densities(posterior: "Posterior", what: str) -> None:
    """Refuse densities that would be of transformed rows, in units of their own."""
    require_model(posterior, what)
    model = posterior.model
    if model.X is not None and np.isnan(model.log_jacobian(model.X[:1])).any():
        name = posterior.info.get("transform", "the transform")
        raise InputError(
            f"{what} needs densities of rows as they were given, and {name} has no known derivative; fit with a "
            "Preprocessor that changes columns, or a table that is transformed."
        )


def check_table(X: Any, columns: Any, n_rows: int) -> tuple[np.ndarray | None, tuple[str, ...] | None]:
    """The rows, and the names of their columns, those of a DataFrame by default."""
    columns = getattr(X, "columns", None) if columns is None else columns
    names = None if columns is None else tuple(map(str, columns))
    values = check_array("X", X, rows=n_rows, columns=None)
    if values is not None and names is not None and len(names) != values.shape[1]:
        raise InputError(f"columns must name the {values.shape[1]} columns of X, not {len(names)}.")
    return values, names


def check_array(name: str, values: Any, dtype: Any = np.float64, **axes: int | None) -> np.ndarray | None:
    """A read-only array with these axes, such as trees=12, columns=None (of any length); None stays None."""
    if values is None:
        return None
    array = read_only(values, dtype)
    if array.ndim != len(axes) or any(n not in (None, m) for n, m in zip(axes.values(), array.shape, strict=True)):
        wanted = ", ".join(axis if n is None else f"{n} {axis}" for axis, n in axes.items())
        raise InputError(f"{name} must have shape ({wanted.replace('_', ' ')}), not {array.shape}.")
    return array


def check_log_weights(log_weights: ArrayLike | None, n_trees: int) -> np.ndarray:
    """(T,) shifted so that the mean weight is 1: runs of any size can then be put together by concatenation."""
    values = check_array("log_weights", log_weights, trees=n_trees)
    if values is None:
        return read_only(np.zeros(n_trees))
    top = values.max()
    if not np.isfinite(top) or np.isnan(values).any():
        raise InputError("log_weights must be numbers, -inf allowed, with at least one finite; these are not.")
    return read_only(values - top - np.log(np.mean(np.exp(values - top))))


def check_theta(theta: Mapping[str, ArrayLike] | None, n_trees: int) -> dict[str, np.ndarray]:
    """Draws of the parameters by name, (T, …); a learnt noise level is a positive number for each tree."""
    draws = {str(name): read_only(values) for name, values in (theta or {}).items()}
    for name, values in draws.items():
        if values.shape[:1] != (n_trees,):
            raise InputError(f"theta[{name!r}] must have shape ({n_trees} trees, …), not {values.shape}.")
    level = draws.get(NOISE_LEVEL)
    if level is not None and not (level.ndim == 1 and (np.isfinite(level) & (level > 0.0)).all()):
        raise InputError(f"theta[{NOISE_LEVEL!r}] must hold a positive number for each of the {n_trees} trees.")
    return draws


def check_groups(groups: ArrayLike | None, n: int) -> np.ndarray | None:
    """The leaf of each row, 0 … n-1, each with at least one row; None where rows are leaves."""
    if groups is None:
        return None
    numbers = np.asarray(groups)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not np.array_equal(np.unique(numbers), np.arange(n)):
        raise InputError(f"groups must give each row of X one of the {n} leaves, numbered from 0, and leave none out.")
    return read_only(numbers, np.int64)


def check_model(X: np.ndarray | None, used: Any, fitted: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Which columns of X are in the model, and with what values."""
    if X is None:
        return None, None
    d = X.shape[1]
    used = check_array("used", used, np.int64, columns=None)
    if used is not None and (len(used) == 0 or used[0] < 0 or used[-1] >= d or np.any(np.diff(used) < 1)):
        raise InputError(f"used must list columns of X, numbers from 0 to {d - 1}, in order.")
    return used, check_array("fitted", fitted, rows=len(X), columns_in_use=d if used is None else len(used))
