"""Progress: bars on terminals, and functions that are called."""

import pytest

from coaltree._runtime.progress import Progress
from coaltree.errors import InputError


def test_function_is_called_with_done_and_total():
    calls = []
    with Progress(lambda *counts: calls.append(counts)) as bar:
        bar.show(1, 4, "a note")
        bar.watcher("row")(2, 4)
    assert calls == [(1, 4), (2, 4)] and bar.bar is None


def test_nothing_is_shown_where_nothing_is_wanted(capsys):
    for wanted in (False, "auto"):
        with Progress(wanted) as bar:
            bar.show(1, 2)
            assert bar.watcher("row") is None
    assert capsys.readouterr().err == ""
    with pytest.raises(InputError, match="progress must be"):
        Progress("sometimes")
