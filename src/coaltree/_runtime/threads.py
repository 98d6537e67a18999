"""How many threads work: one for BLAS where results must repeat, and a limit for searches that run side by side."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

_max_threads: ContextVar[int | None] = ContextVar("coaltree_max_threads", default=None)  # of a thread or task
_lock = threading.Lock()
_limits: list[Any] = []  # one limit for each that is inside, all the same
_controller = cache(ThreadpoolController)  # the libraries that are loaded, which takes some milliseconds to find out


@contextmanager
def at_most_threads(limit: int | None) -> Iterator[None]:
    """Let nothing that is called within take more threads; None sets no limit of its own."""
    token = _max_threads.set(limit or _max_threads.get())
    try:
        yield
    finally:
        _max_threads.reset(token)


def allowed_threads() -> int:
    """Return how many threads may be used here: all processors, or as many as the limit allows."""
    return max(1, min(_max_threads.get() or cpu_count(), cpu_count()))


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Return a context in which BLAS uses one thread: with another number it rounds differently.

    The limit is one of the process: the first thread that enters sets it, and the last that leaves lifts it.
    """
    with _lock:
        _limits.append(_limits[0] if _limits else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()
