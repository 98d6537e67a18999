"""Answers that are computed once for each object, and forgotten with it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


def once(ask: Callable[[Any], T]) -> Callable[[Any], T]:
    """A function of one object that keeps what it has returned."""
    kept: WeakKeyDictionary[Any, T] = WeakKeyDictionary()

    @wraps(ask)
    def asked(of: Any) -> T:
        if of not in kept:
            kept[of] = ask(of)
        return kept[of]

    return asked


def once_for_last(ask: Callable[[Any, Any], T]) -> Callable[[Any, Any], T]:
    """A function of an object and another that keeps what it has returned of the last one: all ask for the same."""
    kept: WeakKeyDictionary[Any, tuple[Any, T]] = WeakKeyDictionary()

    @wraps(ask)
    def asked(of: Any, about: Any) -> T:
        last = kept.get(of)
        if last is None or last[0] is not about:
            last = kept[of] = about, ask(of, about)
        return last[1]

    return asked
