"""Checks of arguments: each returns the checked value or raises InputError with what is expected and was given."""

import math
from collections.abc import Collection
from functools import partial
from typing import Any

import numpy as np

from ..errors import InputError
from .formatting import shortened

MAX_COUNT = 10**9  # of rows, draws or iterations; beyond, a number is a slip of the pen


def is_whole(value: Any) -> bool:
    """Whether a value is an integer, Python's or NumPy's; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def as_number(value: Any) -> float:
    """A value as a float, NaN where it is not one number; True, False, text and complex numbers are none."""
    if isinstance(value, bool | np.bool_ | str | bytes | complex | np.complexfloating):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def as_array(name: str, values: Any, dtype: Any = None) -> np.ndarray:
    """An array of what a user gives; masked entries and sequences of unlike length are refused."""
    parts = values if isinstance(values, list | tuple) else (values,)
    if any(map(np.ma.is_masked, parts)):
        raise InputError(f"{name} has masked entries, which have no value; fill them in, or leave them out.")
    try:
        return np.asarray(values, dtype)
    except (TypeError, ValueError, OverflowError):
        raise refusal(name, "an array, or a sequence of values or of equally long sequences", values) from None


def as_labels(name: str, values: Any, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Sorted labels of any kind, and for each of n leaves the number of its own."""
    labels = as_array(name, values)
    if labels.shape != ((labels.size,) if n is None else (n,)) or labels.size == 0:
        raise InputError(f"{name} must have one label for each of {n or 'the'} leaves, not shape {labels.shape}.")
    if labels.dtype.kind in "fcmM" and (labels != labels).any():
        raise InputError(f"{name} has missing values; leave these out, or give them a label.")
    try:
        names, numbers = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError(f"{name} must be all numbers or all names; they cannot be sorted, or some are None.") from None
    return names, numbers


def refusal(name: str, wanted: str, value: Any) -> InputError:
    """Return the error of an argument that must be something else; its value in one line and not too long."""
    text = hex(value) if is_whole(value) and abs(value) > 2**4000 else repr(value)  # of too many digits for repr
    return InputError(f"{name} must be {wanted}, not {shortened(' '.join(text.split()), 120)}.")


def check_count(name: str, value: Any, least: int = 1, most: int = MAX_COUNT) -> int:
    """Return a whole number from `least` to `most`."""
    if not is_whole(value) or not least <= value <= most:
        raise refusal(name, f"a whole number from {least} to {most}", value)
    return int(value)


def check_number(name: str, value: Any, least: float = -math.inf, most: float = math.inf) -> float:
    """Return a number from `least` to `most`, both allowed."""
    number = as_number(value)
    if not least <= number <= most:
        raise refusal(name, f"a number from {least:g} to {most:g}", value)
    return number


def check_positive(name: str, value: Any, zero: bool = False) -> float:
    """Return a finite number above 0 (with `zero`, also 0)."""
    number = as_number(value)
    if not (0.0 < number < math.inf or (zero and number == 0.0)):
        raise refusal(name, f"a positive number{' or 0' if zero else ''}", value)
    return number


#: Return the probability of an interval.
check_level = partial(check_number, least=0.0, most=0.999)


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return one of these words."""
    if not isinstance(value, str) or value not in choices:
        raise refusal(name, " or ".join(f'"{choice}"' for choice in choices), value)
    return value


def check_jobs(n_jobs: Any) -> None:
    """Refuse a number of jobs that joblib would not take."""
    if n_jobs is not None and not (is_whole(n_jobs) and n_jobs != 0):
        raise refusal("n_jobs", "a whole number other than 0 (-1: every processor), or None", n_jobs)
