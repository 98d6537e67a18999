"""Bars on terminals."""

import os

import pytest

from coaltree._runtime import progress


@pytest.mark.parametrize(("columns", "is_given"), [(0, True), (120, False)])
def test_a_terminal_without_columns_has_a_bar_all_the_same(columns, is_given, monkeypatch):
    monkeypatch.setattr("os.get_terminal_size", lambda number: os.terminal_size((columns, 24)))
    monkeypatch.setattr("sys.stderr", type("Terminal", (), {"fileno": lambda self: 2})())
    assert bool(progress._size()) == is_given


def test_what_is_no_terminal_has_no_size(monkeypatch):
    monkeypatch.setattr("sys.stderr", object())
    assert progress._size() == {}
