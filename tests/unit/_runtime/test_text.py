"""Lists of names in messages."""

from coaltree._runtime.text import listed, some


def test_long_lists_are_shortened():
    assert some(["a", "b"], 2) == "a, b"
    assert some(list("abcd"), 2) == "a, b and 2 more"
    assert some(range(2000), 1) == "0 and 1,999 more"


def test_long_names_are_cut():
    assert some(["x" * 100]) == "x" * 59 + "…"
    assert some(["x" * 60]) == "x" * 60


def test_whole_lists():
    assert [listed(list(names)) for names in ("a", "ab", "abc")] == ["a", "a and b", "a, b and c"]
