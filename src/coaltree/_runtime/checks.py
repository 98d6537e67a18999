"""Checks of arguments, one of each: what was given, what is expected, in one sentence."""

import numpy as np

from ..errors import InputError


def is_whole(value) -> bool:
    """Whether a value is an integer, Python's or NumPy's; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def check_count(name: str, value, least: int = 1) -> int:
    """Return a whole number of at least `least`, or say which argument is not one."""
    if not is_whole(value) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def check_jobs(n_jobs) -> None:
    """Refuse a number of jobs that joblib would not take."""
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise InputError(f"n_jobs must be a whole number other than 0 (-1: every processor) or None, not {n_jobs!r}.")
