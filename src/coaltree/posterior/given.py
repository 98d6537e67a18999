"""What a posterior is given about its data: which rows, leaves and columns there are, checked against each other."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from ..model.process.noise import NOISE_LEVEL
from .trees.stacked import read_only


def checked_rows(X: Any, n: int, groups: np.ndarray | None, columns: Any) -> np.ndarray | None:
    """The data, one row for each of the n leaves or for each entry of groups; float32 stays what it is."""
    if X is None:
        return None
    X = read_only(X, np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64)
    n_rows = n if groups is None else len(groups)
    if X.ndim != 2 or len(X) != n_rows:
        of = f"of the {n} leaves" if groups is None else f"of the {n_rows} entries of groups"
        raise InputError(f"X must have one row for each {of}, not shape {X.shape}.")
    if columns is not None and len(columns) != X.shape[1]:
        raise InputError(f"columns must name the {X.shape[1]} columns of X, not {len(columns)}.")
    return X


def checked_model(X: Any, used: Any, fitted: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
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


def check_noise_level(theta: Mapping[str, np.ndarray], n_trees: int) -> None:
    """A learnt level of noise, where there are draws of it, has one for each tree."""
    if NOISE_LEVEL in theta:
        level = theta[NOISE_LEVEL]
        if level.shape != (n_trees,) or not (np.isfinite(level) & (level > 0.0)).all():
            raise InputError(f"theta[{NOISE_LEVEL!r}] must hold a positive number for each of the {n_trees} trees.")


def noise_levels(theta: Mapping[str, np.ndarray]) -> np.ndarray:
    """(T,) the draws of a learnt level of noise."""
    if NOISE_LEVEL not in theta:
        raise InputError("this posterior has no draws of its noise level, which this needs; fit() keeps them.")
    return theta[NOISE_LEVEL]


def checked_groups(groups: Any, n: int) -> np.ndarray | None:
    """The leaf of each row, 0 … n-1, each with at least one row; None where rows are leaves."""
    if groups is None:
        return None
    found = np.asarray(groups)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not np.array_equal(np.unique(found), np.arange(n)):
        raise InputError(f"groups must give each row of X one of the {n} leaves, numbered from 0, and leave none out.")
    return read_only(found, np.int64)
