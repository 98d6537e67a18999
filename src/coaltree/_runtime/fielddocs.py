"""What the fields of a named tuple are, for `help()` and editors, which otherwise say "Alias for field number 0"."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def field_docs(**docs: str) -> Callable[[type[T]], type[T]]:
    """A decorator that gives each field of a NamedTuple its sentence; all fields must have one."""

    def documented(cls: type[T]) -> type[T]:
        names: Any = cls._fields  # type: ignore[attr-defined]
        if set(names) != set(docs):
            raise TypeError(f"the documented fields of {cls.__name__} must be {', '.join(names)}")
        for name, text in docs.items():
            if ": " in text:  # what stands before it would be taken for a type by the documentation
                raise TypeError(f"what {cls.__name__}.{name} is must be said without a colon")
            getattr(cls, name).__doc__ = text
        return cls

    return documented
