"""Progress of a long run: a bar on the terminal, a function to call, or nothing."""

import os
import sys
from collections.abc import Callable
from typing import Any, Self

from ..errors import InputError
from .typing import ProgressLike

_BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} rounds [{elapsed}{postfix}]"  # our own words on how long it still takes
_USUAL_SIZE = {"ncols": 100, "nrows": 24}


class Progress:
    """A bar, a function to call, or nothing."""

    def __init__(self, wanted: ProgressLike, done: int = 0) -> None:
        self.call = wanted if callable(wanted) else None
        if not (callable(wanted) or isinstance(wanted, bool) or wanted == "auto"):
            raise InputError(f'progress must be True, False, "auto" or a function, not {wanted!r}.')
        self.done = done
        self.wanted = self.call is None and (sys.stderr.isatty() if wanted == "auto" else bool(wanted))
        self.bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def announce(self, what: str) -> None:
        """Say what is to come."""
        if self.wanted:
            from tqdm import tqdm

            tqdm.write(what, file=sys.stderr)

    def watcher(self, unit: str) -> Callable[[int, int], object] | None:
        """Return a function of (done, total) that moves a bar or calls the user's function, or None."""
        if not self.wanted:
            return self.call

        def watch(done, total):
            if self.bar is None:
                from tqdm import tqdm

                self.bar = tqdm(total=total, unit=unit, file=sys.stderr, **_size())
            self.bar.update(done - self.bar.n)

        return watch

    def show(self, done: int, total: int, words: str = "") -> None:
        """How far it is; what `total` is taken to be may change, and `words` say how long it still takes."""
        if self.call is not None:
            self.call(done, total)
        if not self.wanted:
            return
        if self.bar is None:
            from tqdm import tqdm

            self.bar = tqdm(total=total, initial=self.done, file=sys.stderr, bar_format=_BAR, **_size())
        self.bar.total = total
        self.bar.set_postfix_str(words, refresh=False)
        self.bar.update(done - self.bar.n)
        self.bar.refresh()


def _size():
    """Nothing, for the terminal's own; some in containers say that they have no columns, and would show no bar."""
    try:
        has_none = 0 in os.get_terminal_size(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):
        return {}
    return _USUAL_SIZE if has_none else {}


def duration(seconds: float) -> str:
    """A time in the unit that one would say it in."""
    if seconds < 90:
        return f"{max(seconds, 1.0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
