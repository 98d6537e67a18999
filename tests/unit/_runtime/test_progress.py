"""Progress: bars on terminals, and functions that are called."""

from coaltree._runtime.progress import Progress


def test_function_is_called_with_done_and_total():
    calls = []
    with Progress(lambda *counts: calls.append(counts)) as bar:
        bar.show(1, 4, "a note")
        bar.watcher("row")(2, 4)
    assert calls == [(1, 4), (2, 4)] and bar.bar is None
