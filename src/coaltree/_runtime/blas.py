"""One thread for matrix products that reach a draw: BLAS rounds differently with another number of threads."""

import threading
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

# The limit holds for the whole process, so runs in several threads share one: set by the first of them to come,
# lifted by the last to go.
_lock = threading.Lock()
_limits: list[Any] = []  # one for each context entered; None for all but one of them


@cache
def _controller():
    return ThreadpoolController()  # looking the libraries up takes milliseconds: once is enough


@contextmanager
def single_threaded_blas():
    """Return a context in which BLAS and LAPACK use one thread."""
    with _lock:
        _limits.append(None if _limits else _controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            if len(_limits) == 1:
                _limits[0].restore_original_limits()
            _limits.pop()
