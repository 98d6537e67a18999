"""Threads that work in step with the particle loop, and stay awake while they wait.

A merge of all particles takes a fraction of a millisecond. To put a thread to sleep and wake it, or to pass it the
interpreter's lock, takes as long; so a helper stays inside its kernel from the first merge to the last and asks again
and again whether its next turn has come. Only when the answer takes longer than sleeping would does it doze.

Every merge has two turns, one to merge and one to copy particles where they are resampled: each thread copies to the
places it works at itself, or their memory would travel from one processor's cache to another's and back.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .._jit import jit

_APART = 16  # numbers from one thread's counters to the next: two cache lines, which some processors fetch together
_PATIENCE = 1_000_000  # questions, six of them a nanosecond, before a thread dozes
_DOZE = 1e-4  # seconds
_OVER = -2


class Share(NamedTuple):
    """What one thread has to do: its turns for particles first … last-1.

    counters[0] is the turn that has come; counters[place] is the last turn that this thread has begun, and
    counters[place + 1] the last that it has done.
    """

    first: int
    last: int
    place: int
    patience: int
    counters: np.ndarray


def merging(step):
    """Return the turn in which merge `step` is made."""
    return 2 * step


def copying(step):
    """Return the turn after merge `step` in which particles are copied."""
    return 2 * step + 1


@jit(allocates=False)
def step_of(turn):
    """Return which merge a turn belongs to."""
    return turn >> 1


@jit(allocates=False)
def is_for_copying(turn):
    """Return whether particles are copied in this turn."""
    return turn & 1 == 1


def _pointer(context, builder, array_type, array, index):
    found = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, found, [index], wraparound=False)


@intrinsic
def _read(typing_context, counters, index):
    """Load counters[index] so that all that was written before it was stored is seen as well."""

    def code(context, builder, signature, args):
        return builder.load_atomic(_pointer(context, builder, signature.args[0], *args), "acquire", 8)

    return types.int64(counters, types.intp), code


@intrinsic
def _write(typing_context, counters, index, value):
    """Store counters[index] after all that was written before."""

    def code(context, builder, signature, args):
        builder.store_atomic(args[2], _pointer(context, builder, signature.args[0], *args[:2]), "release", 8)
        return context.get_dummy_value()

    return types.void(counters, types.intp, types.int64), code


@jit(allocates=False)
def _set(counters, index, turn):
    _write(counters, index, turn)


@jit(allocates=False)
def _reached(counters, index, turn, patience):
    """Ask whether a counter has come to a turn until it has, all is over, or patience ends."""
    for _ in range(patience):
        found = _read(counters, index)
        if found >= turn or found == _OVER:
            return found >= turn
    return False


@jit(allocates=False)
def next_turn(share):
    """Tell that the turn this thread was at is done, and return its next one, or -1 if that has not come in time.

    Turns that nobody calls, as for copying where nothing is resampled, are done with all the same: there is then
    nothing to copy.
    """
    turn = share.counters[share.place]
    if turn > share.counters[share.place + 1]:
        _write(share.counters, share.place + 1, turn)
    turn += 1
    if not _reached(share.counters, 0, turn, share.patience):
        return -1
    share.counters[share.place] = turn
    return turn


class Team:
    """The caller and helpers, each with the particles between two bounds; `work(share)` does turns until none comes."""

    def __init__(self, work, bounds):
        self._work, n_shares = work, len(bounds) - 1
        self._counters = np.full(_APART * (n_shares + 1), -1, dtype=np.int64)
        shares = [
            Share(first, last, _APART * (k + 1), _PATIENCE if k else 1, self._counters)
            for k, (first, last) in enumerate(pairwise(bounds))
        ]
        self._own, self._others = shares[0], shares[1:]
        self._executor = ThreadPoolExecutor(max(1, n_shares - 1))
        self._helpers = [self._executor.submit(self._help, share) for share in self._others]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        _set(self._counters, 0, _OVER)
        self._executor.shutdown()

    def _help(self, share):
        while self._counters[0] != _OVER:
            self._work(share)
            time.sleep(_DOZE)

    def do(self, turn):
        """Call a turn; everyone's share of it is done on return."""
        _set(self._counters, 0, turn)
        self._work(self._own)
        for helper, share in zip(self._helpers, self._others, strict=True):
            while not _reached(self._counters, share.place + 1, turn, _PATIENCE):
                if helper.done():
                    helper.result()  # raises what went wrong there
                time.sleep(_DOZE)
