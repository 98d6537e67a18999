"""Progress of a long run: a bar on the terminal, a function to call, or nothing."""

import sys
from collections.abc import Callable
from typing import Any, Self

from ..errors import InputError
from .aliases import ProgressLike


class Progress:
    """A bar, a function to call, or nothing."""

    def __init__(self, wanted: ProgressLike, total: int = 0, done: int = 0) -> None:
        self.call = wanted if callable(wanted) else None
        if not (callable(wanted) or isinstance(wanted, bool) or wanted == "auto"):
            raise InputError(f'progress must be True, False, "auto" or a function, not {wanted!r}.')
        self.total, self.done = total, done
        self.wanted = self.call is None and (sys.stderr.isatty() if wanted == "auto" else bool(wanted))
        self.bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def announce(self, what: str, seconds: float, n_bytes: float) -> None:
        """Say what is to come, before the first round."""
        if not self.wanted:
            return
        from tqdm import tqdm

        tqdm.write(f"{what}: about {duration(seconds)} and {n_bytes / 1e6:.0f} MB", file=sys.stderr)
        self.bar = tqdm(total=self.total, initial=self.done, unit="round", file=sys.stderr)

    def watcher(self, unit: str) -> Callable[[int, int], object] | None:
        """Return a function of (done, total) that moves a bar or calls the user's function, or None."""
        if not self.wanted:
            return self.call

        def watch(done, total):
            if self.bar is None:
                from tqdm import tqdm

                self.bar = tqdm(total=total, unit=unit, file=sys.stderr)
            self.bar.update(done - self.bar.n)

        return watch

    def show(self, done: int) -> None:
        if self.call is not None:
            self.call(done, self.total)
        if self.bar is not None:
            self.bar.update(done - self.bar.n)


def duration(seconds: float) -> str:
    """A time in the unit that one would say it in."""
    if seconds < 90:
        return f"{max(seconds, 1.0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
