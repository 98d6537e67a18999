"""Answers that are computed once for each object, and forgotten with it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


def once(ask: Callable[..., T]) -> Callable[..., T]:
    """A function of one object, and of others, that keeps what it has returned of the last others for each object."""
    kept: WeakKeyDictionary[Any, tuple[tuple[Any, ...], T]] = WeakKeyDictionary()

    @wraps(ask)
    def asked(of: Any, *others: Any) -> T:
        if of not in kept or any(a is not b for a, b in zip(kept[of][0], others, strict=True)):
            kept[of] = others, ask(of, *others)
        return kept[of][1]

    return asked
