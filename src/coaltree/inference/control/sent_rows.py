"""Rows, and what else does not change in a run, that every worker process is sent once, whatever joblib's backend.

A task names the run whose rows it needs. A worker that does not have them yet answers so, and is asked again with the
rows, which it then keeps. Nothing has to know which worker does what, and one that takes the place of a dead one asks
again.
"""

import secrets
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from joblib import delayed

from .unchanging import Unchanging

_MOST_KEPT = 2  # what belongs to a fit, and to one that ran before on the same workers
_kept: dict[str, Unchanging] = {}  # by name, sent to this process
_own: weakref.WeakValueDictionary[str, Unchanging] = weakref.WeakValueDictionary()  # of runs of this process itself
_lock = threading.Lock()


class SentRows:
    """The rows of one run and what belongs to them, and a name that no other has."""

    def __init__(self, content: Unchanging):
        self.content, self.name = content, secrets.token_hex(16)
        self.n_times_sent = 0
        _own[self.name] = content

    def call(self, parallel: Any, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """[function(content, *task) of all tasks], by workers that may have the content or not."""
        results = list(parallel(delayed(_with_kept_rows)((self.name, function, task)) for task in tasks))
        unknown = [number for number, (is_known, _) in enumerate(results) if not is_known]
        if unknown:
            self.n_times_sent += len(unknown)
            # In one tuple, which goes with its task; a bare array joblib leaves with one Dask worker, which may die.
            again = ((self.name, function, tasks[number], self.content) for number in unknown)
            for number, result in zip(unknown, parallel(delayed(_with_sent_rows)(task) for task in again), strict=True):
                results[number] = True, result
        return [result for _, result in results]


def _with_kept_rows(asked):
    name, function, task = asked
    content = _own.get(name, _kept.get(name))
    return (False, None) if content is None else (True, function(content, *task))


def _with_sent_rows(asked):
    name, function, task, content = asked
    content = content.copied()
    with _lock:
        while len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[name] = content
    return function(content, *task)
