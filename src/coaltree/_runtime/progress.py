"""Progress of a long run: tqdm's bar on the terminal, a function to call, or nothing."""

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Self, TextIO

from ..errors import InputError
from .typing import ProgressLike


class Progress:
    """A bar, a function of (done, total) to call, or nothing."""

    def __init__(self, wanted: ProgressLike, unit: str = "it") -> None:
        if not (callable(wanted) or isinstance(wanted, bool) or wanted == "auto"):
            raise InputError(f'progress must be True, False, "auto" or a function, not {wanted!r}.')
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


def duration(seconds: float) -> str:
    """A time in the unit that one would say it in."""
    if seconds < 90:
        return f"{max(seconds, 1.0):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Line:
    """A line on a terminal or in a notebook while something takes time, erased when it ends.

    `text` is a function of the seconds that it took so far, in all, and of what is expected in all (0 where that is not
    known); nothing is shown before `patience` seconds.
    """

    def __init__(self, text: Callable[[float, int], str], patience: float = 1.0) -> None:
        self.text, self.patience, self.total = text, patience, 0
        self.seconds = self.cpu_seconds = 0.0  # without those since it was entered last
        self.depth = 0

    def __enter__(self) -> None:
        self.depth += 1
        if self.depth == 1:
            self.began, self.cpu_began = time.perf_counter(), time.thread_time()
            self.done, self.writer = threading.Event(), None
            if self.is_seen():
                self.writer = threading.Thread(target=self.write, args=(sys.stderr,), daemon=True)
                self.writer.start()

    @contextlib.contextmanager
    def expecting(self, total: int) -> Iterator[None]:
        """Show it meanwhile, as part of so many, and then begin again at no seconds."""
        self.total = total
        try:
            with self:
                yield
        finally:
            self.total, self.seconds = 0, 0.0

    @staticmethod
    def is_seen() -> bool:
        """Whether there is a terminal or a notebook to write it to."""
        stream = sys.stderr
        return stream is not None and (stream.isatty() or type(stream).__module__.startswith("ipykernel"))

    def __exit__(self, *exception: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self.began
            self.cpu_seconds += time.thread_time() - self.cpu_began
            self.done.set()
            if self.writer is not None:
                self.writer.join()

    def write(self, stream: TextIO) -> None:
        """Write the line twice a second, and erase it."""
        wait, width = max(0.0, self.patience - self.seconds), 0
        while not self.done.wait(wait):
            line = self.text(self.seconds + time.perf_counter() - self.began, self.total)
            print(f"\r{line:{width}}", end="", file=stream, flush=True)
            wait, width = 0.5, len(line)
        if width:
            print("\r" + " " * width, end="\r", file=stream, flush=True)
