"""Progress of a long run: tqdm's bar on the terminal, a function to call, or nothing."""

import shutil
import sys
from collections.abc import Callable
from typing import Any, Self

from .typing import ProgressLike
from .validation import refusal


class Progress:
    """A bar, a function of (done, total) to call, or nothing."""

    def __init__(self, wanted: ProgressLike, unit: str = "it") -> None:
        if not (callable(wanted) or isinstance(wanted, bool) or (isinstance(wanted, str) and wanted == "auto")):
            raise refusal("progress", 'True, False, "auto" or a function', wanted)
        self.call: Callable[[int, int], object] | None = wanted if callable(wanted) else None
        self.has_bar: bool = self.call is None and (sys.stderr.isatty() if wanted == "auto" else bool(wanted))
        self.unit: str = unit
        self.bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def watcher(self, unit: str) -> Callable[[int, int], object] | None:
        """The function of (done, total) that moves the bar or is the user's, or None."""
        self.unit = unit
        return self.show if self.has_bar else self.call

    def show(self, done: int, total: int, note: str = "") -> None:
        """How far it is; the total may change from call to call where it is a guess."""
        if self.call is not None:
            self.call(done, total)
        if not self.has_bar:
            return
        if self.bar is None:
            from tqdm import tqdm

            # From here on: what was done before, on kernels that had to be compiled, says nothing of the time it takes.
            columns = shutil.get_terminal_size((79, 24)).columns  # some containers say 0, where tqdm shows no bar
            self.bar = tqdm(total=total, initial=done, unit=self.unit, file=sys.stderr, ncols=columns)
        self.bar.total = total
        self.bar.set_postfix_str(note, refresh=False)
        self.bar.update(done - self.bar.n)
