"""What a file's content must be, field by field, so that no untrusted input reaches a kernel unchecked.

A table has a check for each field, or the table of a nested dict: {"times": is_array("f", (n - 1,)), "name": is_text}
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Check = Callable[[Any], bool]


def is_array(kind: str, shape: tuple[int | None, ...], holds: Check = lambda _: True) -> Check:
    """A check for arrays of float64 ("f") or of int32 or int64 ("i"); None in `shape` is any length."""
    types = {"f": (np.float64,), "i": (np.int32, np.int64)}[kind]

    def check(value: Any) -> bool:
        is_one = isinstance(value, np.ndarray) and value.dtype in types and value.ndim == len(shape)
        return is_one and all(n in (None, m) for n, m in zip(shape, value.shape, strict=True)) and holds(value)

    return check


def is_text(value: Any) -> bool:
    """Whether a value is a string."""
    return isinstance(value, str)


def check_fields(content: Any, table: Mapping[str, Any], where: str = "") -> None:
    """Raise ValueError with the name of the first field that is missing, unknown or refused by its check."""
    if not isinstance(content, dict):
        raise ValueError(f"{where.rstrip('.') or 'the content'} is not a table of fields")
    for name in {**table, **content}:
        if name not in content or name not in table:
            raise ValueError(f"{where}{name[:50]} is {'missing' if name not in content else 'not known'}")
        if isinstance(table[name], Mapping):
            check_fields(content[name], table[name], f"{where}{name}.")
        elif not table[name](content[name]):
            raise ValueError(f"{where}{name} has wrong type, shape or values")
