"""Threads that work in step with the particle loop, and stay awake while they wait.

A merge of all particles takes a fraction of a millisecond. To put a thread to sleep and wake it, or to pass it the
interpreter's lock, takes as long; so a helper stays inside its kernel from the first merge to the last and asks again
and again whether the next turn has come. Only when the answer takes longer than sleeping would does it doze.

A thread takes the particles of its own share first, one by one, so that they stay in its processor's cache, and then
what is left of the others' shares: a helper that the system does not let run holds up no more than the one particle it
has taken. Where that costs more time than helpers save, on a machine with other work to do, the caller goes on alone
for a while. Who takes a particle makes no difference to it. Every merge has two turns, one to merge and one to copy
particles where they are resampled.

A share has a word (turn · 2³² + next particle) by which particles are taken, so that nobody can take one of a turn that
is over.
"""

import threading
import time
from typing import NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..._runtime.jit import jit

_APART = 16  # numbers from one thread's counters to the next: two cache lines, which some processors fetch together
_WORD, _CALLED, _DONE, _TURN, _HAS_ONE = range(5)  # the word, the turn called, particles done, and the thread's notes
_PATIENCE = 1_000_000  # questions, each about a nanosecond, before a thread dozes
_DOZE, _LONGEST_DOZE = 1e-4, 2e-3  # seconds
_CREDIT = 0.01  # seconds that helpers have saved and that speak for them: two or three times what the system withholds
_TRUST = 0.002  # and what they begin with: one that is only waking up has not saved anything yet
_BITS = 32
_OVER = -1


class Share(NamedTuple):
    """One thread's part: it begins with particles bounds[own] … bounds[own + 1] - 1."""

    own: int
    patience: int
    bounds: np.ndarray  # (K + 1,)
    counters: np.ndarray  # (K · _APART,)


def merging(step):
    """Return the turn in which merge `step` is made."""
    return 2 * step + 1


def copying(step):
    """Return the turn after merge `step` in which particles are copied."""
    return 2 * step + 2


@jit(allocates=False)
def step_of(turn):
    """Return which merge a turn belongs to."""
    return (turn - 1) >> 1


@jit(allocates=False)
def is_for_copying(turn):
    """Return whether particles are copied in this turn."""
    return turn & 1 == 0


# --- numbers that threads share ---------------------------------------------------------------------------------


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


@intrinsic
def _replace(typing_context, counters, index, old, new):
    """Store counters[index] = new if it is `old`, as one act, and return whether it was."""

    def code(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], *args[:2])
        return builder.extract_value(builder.cmpxchg(pointer, args[2], args[3], "acq_rel", "acquire"), 1)

    return types.boolean(counters, types.intp, types.int64, types.int64), code


# --- a thread's side --------------------------------------------------------------------------------------------


@jit(allocates=False)
def next_turn(share):
    """Return the turn that has come, or -1 if none has in time."""
    at = _APART * share.own
    for _ in range(share.patience):
        turn = _read(share.counters, at + _CALLED)
        if turn > share.counters[at + _TURN]:
            share.counters[at + _TURN] = turn
            return turn
        if turn == _OVER:
            break
    return -1


@jit(allocates=False)
def next_particle(share):
    """Note that the particle this thread had is done, and take another one in this turn; -1 if there is none left."""
    counters, at = share.counters, _APART * share.own
    if counters[at + _HAS_ONE] > 0:
        _write(counters, at + _DONE, counters[at + _DONE] + 1)
    counters[at + _HAS_ONE] = 1
    n_shares = share.bounds.size - 1
    for i in range(n_shares):
        k = (share.own + i) % n_shares
        word = _read(counters, _APART * k + _WORD)
        while word >> _BITS == counters[at + _TURN] and word & ((1 << _BITS) - 1) < share.bounds[k + 1]:
            if _replace(counters, _APART * k + _WORD, word, word + 1):
                return word & ((1 << _BITS) - 1)
            word = _read(counters, _APART * k + _WORD)
    counters[at + _HAS_ONE] = 0
    return -1


# --- the caller's side ------------------------------------------------------------------------------------------


@jit(allocates=False)
def _call(bounds, counters, turn, n_threads):
    """Lay out the particles of a turn, and call it to the first so many threads."""
    for k in range(bounds.size - 1):
        _write(counters, _APART * k + _WORD, (turn << _BITS) + bounds[k])
    for k in range(n_threads):
        _write(counters, _APART * k + _CALLED, turn)


@jit(allocates=False)
def _all_done(counters, n_particles, patience):
    """Ask until so many particles have been done in all, or patience ends."""
    for _ in range(patience):
        done = 0
        for k in range(counters.size // _APART):
            done += _read(counters, _APART * k + _DONE)
        if done == n_particles:
            return True
    return False


# What the system withholds from the caller must not count as work, but a coarse clock would see none at all.
_working_time = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-6 else time.perf_counter


class Team:
    """The caller and helpers, each with a share of the particles; `work(share)` does what there is to do in turns."""

    def __init__(self, work, n_particles, n_threads=1):
        self._work, self._n_particles, self._n_threads = work, n_particles, n_threads
        self._due, self._alone, self._times_alone, self._saved = 0, 0, 0, _TRUST
        self._bounds = np.arange(n_threads + 1, dtype=np.int64) * n_particles // n_threads
        self._counters = np.zeros(_APART * n_threads, dtype=np.int64)
        self._own = Share(0, 1, self._bounds, self._counters)
        self._caller, self._helpers, self._failures = threading.current_thread(), [], []

    def __enter__(self):
        try:
            for k in range(1, self._n_threads):
                helper = threading.Thread(target=self._help, args=(k,), name=f"coaltree-{k}")
                helper.start()
                self._helpers.append(helper)
        except RuntimeError:
            pass  # the system grants no more threads; others take what would have been theirs
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, *exception):
        self._leave()
        if exception[0] is None:
            self._raise_failures()

    def _leave(self):
        # Not by a kernel: an interruption may have come before there was one.
        self._counters[_WORD::_APART] = _OVER
        self._counters[_CALLED::_APART] = _OVER
        for helper in self._helpers:
            helper.join()

    def _raise_failures(self):
        for failure in self._failures:
            raise failure

    def _help(self, k):
        try:
            self._attend(Share(k, _PATIENCE, self._bounds, self._counters))
        except BaseException as failure:  # the caller raises it
            self._failures.append(failure)

    def _attend(self, share):
        called, seen = _APART * share.own + _CALLED, _APART * share.own + _TURN
        while self._counters[called] != _OVER:
            self._work(share)
            doze = _DOZE
            while self._counters[called] == self._counters[seen]:
                if not self._caller.is_alive():
                    return
                time.sleep(doze)
                doze = min(2.0 * doze, _LONGEST_DOZE)

    def do(self, turn):
        """Call a turn; it is done for all particles on return."""
        self._due += self._n_particles
        self._alone -= 1
        done_before, began = self._counters[_DONE], _working_time()
        _call(self._bounds, self._counters, turn, 1 if self._alone > 0 else self._n_threads)
        self._work(self._own)
        worked, waits_since, patience = _working_time() - began, time.perf_counter(), _PATIENCE
        while not _all_done(self._counters, self._due, patience):
            self._raise_failures()
            time.sleep(_DOZE)
            patience = 1
        if self._n_threads > 1 and self._alone <= 0:
            by_caller = max(1, int(self._counters[_DONE] - done_before))
            self._settle((self._n_particles / by_caller - 1.0) * worked, time.perf_counter() - waits_since)

    def _settle(self, saved, waited):
        """Weigh the time that helpers save against that waited for them; if they are not worth it, go on alone."""
        self._saved = min(self._saved + saved - waited, _CREDIT)
        if self._saved < 0.0:
            self._saved = _TRUST
            self._times_alone += 1
            self._alone = 2 << min(3 * self._times_alone, 30)  # turns: 16, 128, 1024 …
        elif self._saved == _CREDIT:
            self._times_alone = 0
