"""How many threads work: one for BLAS where results must repeat, and a limit for searches that run side by side.

BLAS rounds differently with another number of threads. Most libraries (OpenBLAS with threads of its own) have one
number for the whole process, some (MKL, OpenMP) one for each thread of it. The first context to be entered sets the
limit, the last to be left lifts it: over all threads for the former, in each thread for the latter.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any
from weakref import WeakSet

from joblib import cpu_count
from threadpoolctl import ThreadpoolController

_max_threads: ContextVar[int | None] = ContextVar("coaltree_max_threads", default=None)  # of a thread or task


@contextmanager
def at_most_threads(limit: int | None) -> Iterator[None]:
    """Let nothing that is called within take more threads; None sets no limit of its own."""
    before = _max_threads.get()
    try:
        _max_threads.set(before if limit is None else limit)
        yield
    finally:
        _max_threads.set(before)


def allowed_threads() -> int:
    """Return how many threads may be used here: all processors, or as many as the limit allows."""
    limit = _max_threads.get()
    return cpu_count() if limit is None else max(1, min(limit, cpu_count()))


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Return a context in which BLAS and LAPACK use one thread."""
    visit = _Visit()
    limits = _limits()
    try:
        with _lock:
            for limit in limits:
                limit.enter(visit)
        yield
    finally:
        with _lock:
            for limit in limits:
                limit.leave(visit)


class _Visit:
    """One stay in the context; an interrupt may keep it from leaving, and then it is gone with its last reference."""


class _Limit:
    """One thread for some libraries, as long as anybody is inside."""

    def __init__(self, libraries: list[Any]) -> None:
        self.libraries = libraries
        self.inside: WeakSet[_Visit] = WeakSet()
        self.before: dict[int, int] = {}  # library → the number of threads to go back to

    def enter(self, visit: _Visit) -> None:
        # Every time, not only the first: another package may have set its own number since, and is given it back.
        self.inside.add(visit)
        for i, library in enumerate(self.libraries):
            if library.num_threads not in (None, 1):
                self.before[i] = library.num_threads
                _set_threads(library, 1)

    def leave(self, visit: _Visit) -> None:
        self.inside.discard(visit)
        if not self.inside:
            for i, number in self.before.items():
                _set_threads(self.libraries[i], number)
            self.before.clear()


_lock = threading.Lock()
_of_thread = threading.local()


def _limits() -> tuple[_Limit, _Limit]:
    """The limit of the process, and that of this thread."""
    process, libraries_of_threads = _of_process()
    if not hasattr(_of_thread, "limit"):
        _of_thread.limit = _Limit(libraries_of_threads)
    return process, _of_thread.limit


@cache
def _of_process() -> tuple[_Limit, list[Any]]:
    """The limit of libraries with one number for the process, and the other libraries; looked up once, in some ms."""
    found = [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]
    shared = [one for one in found if one.internal_api == "openblas" and one.threading_layer != "openmp"]
    return _Limit(shared), [one for one in found if one not in shared]


def _set_threads(library: Any, number: int) -> None:
    # threadpoolctl lets only the first thread that asked change the number of the process, and ignores the others
    # in silence. Here the lock and the count do its work, so that the last to leave may be any thread.
    getattr(library, "_real_set_num_threads", library.set_num_threads)(number)
