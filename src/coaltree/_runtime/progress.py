"""Progress of a long run: tqdm's bar on the terminal, a function to call, or nothing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

from .typing import ProgressLike
from .validation import refusal


@contextmanager
def watching(wanted: ProgressLike, unit: str = "it") -> Iterator[Callable[..., object] | None]:
    """The function of (done, total) that moves the bar or is the user's, or None; the total may be a guess."""
    if callable(wanted):
        yield wanted
        return
    is_auto = isinstance(wanted, str) and wanted == "auto"
    if not is_auto and not isinstance(wanted, bool):
        raise refusal("progress", 'True, False, "auto" or a function', wanted)
    delay = 3.0 if is_auto else 0.0  # seconds without a bar
    with tqdm(unit=unit, file=sys.stderr, disable=None if is_auto else not wanted, delay=delay) as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield None if bar.disable else show
