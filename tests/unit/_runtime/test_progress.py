"""Progress: bars on terminals, and functions that are called."""

import io
import os

import pytest

from coaltree._runtime.progress import Progress
from coaltree.errors import InputError


@pytest.mark.parametrize("columns", ["0", "60"])
def test_bar_fits_the_terminal(columns, monkeypatch):
    """Some containers say that a terminal has no columns."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.get_terminal_size", lambda number: os.terminal_size((0, 0)))
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with Progress(True) as bar:
        bar.show(3, 10)
        bar.show(4, 12, "R-hat 1.03/1.02")
        width, n, total = bar.bar.ncols, bar.bar.n, bar.bar.total
        assert "R-hat 1.03/1.02" in str(bar.bar)
    assert (width, n, total) == (79 if columns == "0" else 60, 4, 12)


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
