"""Rows that every worker process is sent once, whatever joblib's backend.

A task names the rows it needs. A worker that does not have them yet answers so, and is asked again with the rows, which
it then keeps. Nothing has to know which worker does what, and one that takes the place of a dead one asks again.
"""

import secrets
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from joblib import delayed

_MOST_KEPT = 2  # the rows of a fit, and of one that ran before on the same workers
_kept: dict[str, np.ndarray] = {}  # by name, sent to this process
_own: weakref.WeakValueDictionary[str, np.ndarray] = weakref.WeakValueDictionary()  # of runs of this process itself
_lock = threading.Lock()


class SentRows:
    """The rows of one run, and a name for them that no other has."""

    def __init__(self, values: np.ndarray):
        self.values, self.name = values, secrets.token_hex(16)
        self.n_times_sent = 0
        _own[self.name] = values

    def call(self, parallel: Any, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """[function(rows, *task) of all tasks], by workers that may have the rows or not."""
        results = list(parallel(delayed(_with_kept_rows)((self.name, function, task)) for task in tasks))
        unknown = [number for number, (is_known, _) in enumerate(results) if not is_known]
        if unknown:
            self.n_times_sent += len(unknown)
            # In one tuple, which goes with its task; a bare array joblib leaves with one Dask worker, which may die.
            again = ((self.name, function, tasks[number], self.values) for number in unknown)
            for number, result in zip(unknown, parallel(delayed(_with_sent_rows)(task) for task in again), strict=True):
                results[number] = True, result
        return [result for _, result in results]


def _with_kept_rows(asked):
    name, function, task = asked
    values = _own.get(name, _kept.get(name))
    return (False, None) if values is None else (True, function(values, *task))


def _with_sent_rows(asked):
    name, function, task, values = asked
    values = np.array(values)  # what a task brings may be read-only, or gone after it
    with _lock:
        while len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
        _kept[name] = values
    return function(values, *task)
