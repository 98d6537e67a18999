"""Docstrings for the fields of named tuples, of which `help()` otherwise says "Alias for field number 0"."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def field_docs(**docs: str) -> Callable[[type[T]], type[T]]:
    """A decorator that gives each field of a NamedTuple its sentence; all fields must have one, without a colon."""

    def documented(cls: type[T]) -> type[T]:
        names: Any = cls._fields  # type: ignore[attr-defined]
        if set(names) != set(docs) or any(": " in text for text in docs.values()):  # Sphinx takes "x: …" for a type
            raise TypeError(f"the fields of {cls.__name__} need a sentence each, without a colon: {', '.join(names)}")
        for name, text in docs.items():
            getattr(cls, name).__doc__ = text
        return cls

    return documented
