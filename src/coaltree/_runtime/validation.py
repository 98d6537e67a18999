"""Checks of arguments: each returns the checked value or raises InputError with what is expected and was given."""

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from ..errors import InputError
from .formatting import shortened

MAX_COUNT = 10**9  # of rows, draws or iterations; beyond, a number is a slip of the pen
MAX_JOBS = 10_000  # more than any machine has processors


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
        leaves = "leaf" if n is None else f"of the {n} leaves"
        raise InputError(f"{name} must have one label for each {leaves}, not shape {labels.shape}.")
    if labels.dtype.kind in "fcmM" and (labels != labels).any():
        raise InputError(f"{name} has missing values; leave these out, or give them a label.")
    try:
        names, numbers = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError(f"{name} must be all numbers or all names; they cannot be sorted, or some are None.") from None
    return names, numbers


def refusal(name: str, wanted: str, value: Any) -> InputError:
    """Return the error of an argument that must be something else; its value in one line and not too long."""
    is_huge = is_whole(value) and int(value).bit_length() > 4000  # more digits than Python converts to text
    shown = "a number of thousands of digits" if is_huge else shortened(" ".join(repr(value).split()), 120)
    return InputError(f"{name} must be {wanted}, not {shown}.")


def check_count(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Return a whole number from `least` to `most`, a billion unless it is given."""
    largest = MAX_COUNT if most is None else most
    if not is_whole(value) or not least <= value <= largest:
        is_open = most is None and not (is_whole(value) and value > largest)
        raise refusal(
            name, f"a whole number {f'of at least {least}' if is_open else f'from {least} to {largest}'}", value
        )
    return int(value)


def check_number(name: str, value: Any, least: float = -math.inf, most: float = math.inf) -> float:
    """Return a number from `least` to `most`, both allowed."""
    number = as_number(value)
    if not least <= number <= most:
        bounds = [f" from {least:g} to {most:g}", f" of at least {least:g}", f" of at most {most:g}", ""]
        raise refusal(name, f"a number{bounds[2 * math.isinf(least) + math.isinf(most)]}", value)
    return number


def check_positive(name: str, value: Any, zero: bool = False) -> float:
    """Return a finite number above 0 (with `zero`, also 0)."""
    number = as_number(value)
    if not (0.0 < number < math.inf or (zero and number == 0.0)):
        raise refusal(name, f"a positive number{' or 0' if zero else ''}", value)
    return number


def check_level(name: str, value: Any) -> float:
    """Return a probability strictly between 0 and 1."""
    number = as_number(value)
    if not 0.0 < number < 1.0:
        raise refusal(name, "a number between 0 and 1, such as 0.9", value)
    return number


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return one of these words."""
    if not isinstance(value, str) or value not in choices:
        *others, last = (f'"{choice}"' for choice in choices)
        raise refusal(name, f"{', '.join(others)} or {last}" if others else last, value)
    return value


def check_jobs(n_jobs: Any) -> None:
    """Refuse a number of jobs that joblib would not take, or that no machine has processors for."""
    if n_jobs is not None and not (is_whole(n_jobs) and 0 < abs(n_jobs) <= MAX_JOBS):
        raise refusal(
            "n_jobs", f"a whole number other than 0, at most {MAX_JOBS} (-1: every processor), or None", n_jobs
        )


def at_most_jobs(n_jobs: int | None, n_tasks: int) -> int | None:
    """Return a number of jobs for so many tasks: joblib would start a process for each job, whatever there is to do."""
    return n_jobs if n_jobs is None or n_jobs < 0 else min(n_jobs, max(n_tasks, 1))
