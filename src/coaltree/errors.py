"""Errors and warnings, with attributes for what a program may want to know; and Ctrl-C."""

import sys
import warnings

MAX_MESSAGE = 600  # characters, some six lines of a terminal


def _in_one_line(message: object) -> str:
    """A message in one line, its middle left out where what it quotes is too long to be read."""
    line = " ".join(str(message).split())
    return line if len(line) <= MAX_MESSAGE else f"{line[: MAX_MESSAGE // 2]} … {line[-MAX_MESSAGE // 2 :]}"


class InputError(ValueError):
    """Input that cannot be used; the message is one sentence that says what was wrong and what would be right."""

    def __init__(self, message: object) -> None:
        super().__init__(_in_one_line(message))


class CoaltreeWarning(UserWarning):
    """A result is usable, but the user should know something about it."""

    def __init__(self, message: object) -> None:
        super().__init__(_in_one_line(message))


class ConvergenceWarning(CoaltreeWarning):
    """The chains have not converged well enough to trust the results.

    findings : what is out of bounds, one phrase each, such as "R-hat of root_time is 1.20 (above 1.05)".
    increase : the arguments of `fit` to increase, such as "n_samples".
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


def warn_of_result(warning: Warning | str, stacklevel: int = 2) -> None:
    """Warn of a result that is there; where warnings are errors the message is printed, so that no result is lost."""
    warning = CoaltreeWarning(warning) if isinstance(warning, str) else warning
    try:
        warnings.warn(warning, stacklevel=stacklevel + 1)
    except type(warning):
        print(f"{type(warning).__name__}: {warning}", file=sys.stderr)


def is_interruption(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C, or the SystemError that Numba makes of it where a kernel hands over its result."""
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemError) and is_interruption(error.__cause__ or error.__context__)
    )
