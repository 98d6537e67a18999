"""Progress: bars on terminals, and functions that are called."""

from coaltree._runtime.progress import watching


def test_function_is_called_with_done_and_total():
    calls = []
    with watching(lambda *counts: calls.append(counts)) as watch:
        watch(1, 4)
    assert calls == [(1, 4)]


def test_bar_is_shown_where_it_is_wanted(capsys):
    with watching(True, "row") as watch:
        watch(1, 4)
        watch(5, 5)
    assert "5/5" in capsys.readouterr().err
    with watching("auto") as watch:  # no terminal
        assert watch is None
