"""Progress of a long run: tqdm's bar on the terminal, a function to call, or nothing."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .typing import ProgressLike
from .validation import refusal


@contextmanager
def watching(wanted: ProgressLike, unit: str = "it") -> Iterator[Callable[..., object] | None]:
    """The function of (done, total) that moves the bar or is the user's, or None; the total may be a guess."""
    if not (callable(wanted) or isinstance(wanted, bool) or (isinstance(wanted, str) and wanted == "auto")):
        raise refusal("progress", 'True, False, "auto" or a function', wanted)
    if callable(wanted) or not (sys.stderr.isatty() if wanted == "auto" else wanted):
        yield wanted if callable(wanted) else None
        return
    bar: Any = None

    def show(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            from tqdm import tqdm

            # From here on: what was done before, on kernels that had to be compiled, says nothing of the time it takes.
            columns = shutil.get_terminal_size((79, 24)).columns  # some containers say 0, where tqdm shows no bar
            bar = tqdm(total=total, initial=done, unit=unit, file=sys.stderr, ncols=columns)
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()
