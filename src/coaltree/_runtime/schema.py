"""What a file's content must be, field by field, so that no untrusted input reaches a kernel unchecked.

A table names every field:  {"times": Array("f", (n - 1,), is_finite), "seed": Value(int, lambda seed: seed >= 0)}
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Array:
    """An array of float64 ("f") or of int32 or int64 ("i"); None in `shape` is any length, a last `...` any rest."""

    kind: str
    shape: tuple[Any, ...]
    holds: Callable[[np.ndarray], Any] | None = None
    optional: bool = False  # whether None is accepted

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, np.ndarray):
            return value is None and self.optional
        shape, wanted = value.shape, self.shape
        if wanted and wanted[-1] is ...:
            shape, wanted = shape[: len(wanted) - 1], wanted[:-1]
        fits = len(shape) == len(wanted) and all(b in (None, a) for a, b in zip(shape, wanted, strict=True))
        is_kind = value.dtype in ((np.float64,) if self.kind == "f" else (np.int32, np.int64))
        return is_kind and fits and (self.holds is None or bool(self.holds(value)))


@dataclass(frozen=True)
class Value:
    """A plain value of one of these types; True and False are no numbers."""

    types: Any
    holds: Callable[[Any], Any] | None = None
    optional: bool = False

    def accepts(self, value: Any) -> bool:
        if value is None:
            return self.optional
        is_one = isinstance(value, self.types) and (self.types is bool or not isinstance(value, bool))
        return is_one and (self.holds is None or bool(self.holds(value)))


def is_finite(values: Any) -> bool:
    """Whether every number of an array is finite."""
    return bool(np.isfinite(values).all())


def are_names(values: Any) -> bool:
    """Whether a list holds strings only."""
    return all(isinstance(value, str) for value in values)


def check_fields(content: Any, table: Mapping[str, Any], where: str = "") -> None:
    """Raise ValueError with the name of the first field that is missing, unknown or refused by its entry.

    An entry of the table is an `Array`, a `Value`, or the table of a nested dict.
    """
    if not isinstance(content, dict):
        raise ValueError(f"{where.rstrip('.') or 'the content'} is not a table of fields")
    for name in {**table, **content}:
        if name not in content or name not in table:
            raise ValueError(f"{where}{name[:50]} is {'missing' if name not in content else 'not known'}")
        if isinstance(table[name], Mapping):
            check_fields(content[name], table[name], f"{where}{name}.")
        elif not table[name].accepts(content[name]):
            raise ValueError(f"{where}{name} has wrong type, shape or values")
