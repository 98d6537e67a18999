"""Errors and warnings, with attributes for what a program may want to know; and Ctrl-C.

Python handles a signal between any two of its instructions. Where these are of Numba, which calls Python while a kernel
hands its result over, a KeyboardInterrupt becomes the cause of a SystemError ("returned a result with an exception
set"); `interruptions` undoes that.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from types import FrameType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class InputError(ValueError):
    """Input that cannot be used; the message is one sentence that says what was wrong and what would be right."""


class CoaltreeWarning(UserWarning):
    """A result is usable, but the user should know something about it."""


class ConvergenceWarning(CoaltreeWarning):
    """The chains have not converged well enough to trust the results.

    findings : what is out of bounds, one phrase each, such as "R-hat of root_time is 1.20 (above 1.05)".
    increase : the arguments of `fit` to increase, such as "max_iterations".
    """

    # Defaults, because unpickling (joblib) calls the class with the message alone and then sets the attributes.
    def __init__(self, message: str, findings: tuple[str, ...] = (), increase: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.findings: tuple[str, ...] = findings
        self.increase: tuple[str, ...] = increase


class InterruptedWarning(CoaltreeWarning):
    """Ctrl-C stopped the run; the result holds `n_done` of the `n_asked` trees of each chain, or at most so many."""

    def __init__(self, message: str, n_done: int = 0, n_asked: int = 0) -> None:
        super().__init__(message)
        self.n_done: int = n_done
        self.n_asked: int = n_asked


class ClusterSizeWarning(CoaltreeWarning):
    """Trees cannot be cut into so many clusters of at least `asked` leaves: clusters of `min_size` were allowed."""

    def __init__(self, message: str, asked: int = 0, min_size: int = 0) -> None:
        super().__init__(message)
        self.asked: int = asked
        self.min_size: int = min_size


def is_interruption(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C, or a SystemError that it is behind."""
    for _ in range(100):
        if not isinstance(error, SystemError):
            break
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


@contextlib.contextmanager
def interruptions() -> Iterator[None]:
    """Raise KeyboardInterrupt for every error that Ctrl-C is behind."""
    try:
        yield
    except SystemError as error:
        if is_interruption(error):
            raise KeyboardInterrupt from None
        raise


@contextlib.contextmanager
def postponed_interruptions() -> Iterator[None]:
    """Let Ctrl-C wait until what is within has ended; a second one does not wait.

    Numba's tables of what it can compile, and modules of C, stay half filled for the rest of the process where Ctrl-C
    comes while they are loaded.
    """
    before = signal.getsignal(signal.SIGINT)
    is_first = getattr(before, "__name__", "") != _remember.__name__
    if threading.current_thread() is not threading.main_thread() or not callable(before) or not is_first:
        yield  # signals are for the main thread; or they are ignored, or postponed already
        return
    _POSTPONED.clear()
    _POSTPONED["handler"] = before
    try:
        signal.signal(signal.SIGINT, _remember)
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if "frame" in _POSTPONED:
            before(signal.SIGINT, _POSTPONED["frame"])


def _remember(number: int, frame: FrameType | None) -> None:
    if "frame" in _POSTPONED:
        _POSTPONED["handler"](number, frame)
    _POSTPONED["frame"] = frame


_POSTPONED: dict[str, Any] = {}  # the handler to go back to, and the frame in which Ctrl-C came


def interruptible(verb: Callable[P, R]) -> Callable[P, R]:
    """Let a function or method raise KeyboardInterrupt wherever Ctrl-C comes."""

    @wraps(verb)
    def call(*args: P.args, **more: P.kwargs) -> R:
        with interruptions():
            return verb(*args, **more)

    return call
