"""Checks of what a posterior is made of: draws, rows, leaves and columns must fit each other."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._runtime.typing import ArrayLike
from ..errors import InputError
from ..model.process.noise import LEVEL
from .trees.stacked import read_only


def check_draws(name: str, draws: ArrayLike | None, n_trees: int, dtype: Any = np.float64) -> np.ndarray | None:
    """(T, …) one entry for each tree, where there are any."""
    return None if draws is None else _per_tree(name, draws, n_trees, dtype)


def _per_tree(name: str, draws: ArrayLike, n_trees: int, dtype: Any = np.float64) -> np.ndarray:
    if np.shape(draws)[:1] != (n_trees,):
        raise InputError(f"{name} must have one entry for each of the {n_trees} trees, not shape {np.shape(draws)}.")
    return read_only(draws, dtype)


def check_log_weights(log_weights: ArrayLike | None, n_trees: int) -> np.ndarray:
    """(T,) shifted so that the mean weight is 1: runs of any size can then be put together by concatenation."""
    values = _per_tree("log_weights", np.zeros(n_trees) if log_weights is None else log_weights, n_trees)
    top = values.max()
    if not np.isfinite(top) or np.isnan(values).any():
        raise InputError("log_weights must be numbers, -inf allowed, with at least one finite; these are not.")
    return read_only(values - top - np.log(np.mean(np.exp(values - top))))


def check_theta(theta: Mapping[str, ArrayLike] | None, n_trees: int) -> dict[str, np.ndarray]:
    """Draws of the parameters by name; a learnt noise level is a positive number for each tree."""
    found = {str(name): _per_tree(f"theta[{name!r}]", values, n_trees) for name, values in (theta or {}).items()}
    level = found.get(LEVEL)
    if level is not None and not (level.shape == (n_trees,) and (np.isfinite(level) & (level > 0.0)).all()):
        raise InputError(f"theta[{LEVEL!r}] must hold a positive number for each of the {n_trees} trees.")
    return found


def check_groups(groups: ArrayLike | None, n: int) -> np.ndarray | None:
    """The leaf of each row, 0 … n-1, each with at least one row; None where rows are leaves."""
    if groups is None:
        return None
    found = np.asarray(groups)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not np.array_equal(np.unique(found), np.arange(n)):
        raise InputError(f"groups must give each row of X one of the {n} leaves, numbered from 0, and leave none out.")
    return read_only(found, np.int64)


def check_rows(X: Any, n: int, groups: np.ndarray | None, columns: tuple[str, ...] | None) -> np.ndarray | None:
    """The data, one row for each of the n leaves or for each entry of groups; float32 stays what it is."""
    if X is None:
        return None
    X = read_only(X, np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)
    n_rows = n if groups is None else len(groups)
    if X.ndim != 2 or len(X) != n_rows:
        rows = f"of the {n} leaves" if groups is None else f"of the {n_rows} entries of groups"
        raise InputError(f"X must have one row for each {rows}, not shape {X.shape}.")
    if columns is not None and len(columns) != X.shape[1]:
        raise InputError(f"columns must name the {X.shape[1]} columns of X, not {len(columns)}.")
    return X


def check_imputed(imputed: ArrayLike | None, X: np.ndarray | None, n_trees: int) -> np.ndarray | None:
    """(T, k) draws of the k missing entries of X."""
    draws = check_draws("imputed", imputed, n_trees)
    n_missing = 0 if X is None else int(np.isnan(X).sum())
    if draws is not None and draws.shape[1:] != (n_missing,):
        raise InputError(f"imputed must hold the {n_missing} missing entries of X, not {draws.shape[1:]}.")
    return draws


def check_tail_scale(tail_scale: ArrayLike | None, n_rows: int, n_trees: int) -> np.ndarray | None:
    """(T, rows) positive scales."""
    draws = check_draws("tail_scale", tail_scale, n_trees)
    if draws is not None and not (draws.shape[1:] == (n_rows,) and np.all(draws > 0.0)):
        raise InputError(f"tail_scale must hold a positive number for each of the {n_rows} rows of each tree.")
    return draws


def check_model(X: np.ndarray | None, used: Any, fitted: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Which columns of X are in the model, and with what values."""
    if X is None:
        return None, None
    d = X.shape[1]
    if used is not None:
        used = read_only(used, np.int64)
        if used.ndim != 1 or len(used) == 0 or used[0] < 0 or used[-1] >= d or np.any(np.diff(used) < 1):
            raise InputError(f"used must list columns of X, numbers from 0 to {d - 1}, in order.")
    if fitted is not None:
        fitted, shape = read_only(fitted), (len(X), d if used is None else len(used))
        if fitted.shape != shape:
            raise InputError(f"fitted must have shape {shape}, the values of the columns in use, not {fitted.shape}.")
    return used, fitted
