"""How many threads a search may take: all processors, or as many as whoever runs several things at once allows.

The limit belongs to the thread, or the task, that sets it: chains that run side by side each have their own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from joblib import cpu_count

_LIMIT: ContextVar[int | None] = ContextVar("coaltree_thread_limit", default=None)


@contextmanager
def at_most_threads(limit: int | None) -> Iterator[None]:
    """Let nothing that is called within take more threads; None sets no limit of its own."""
    token = _LIMIT.set(_LIMIT.get() if limit is None else limit)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def allowed_threads() -> int:
    """Threads that may be used here."""
    limit = _LIMIT.get()
    return cpu_count() if limit is None else max(1, min(limit, cpu_count()))
