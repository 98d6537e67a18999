"""Lists of names in messages."""

from coaltree._runtime.formatting import beside_limit, escaped, shortened, shortlist


def test_lists_of_names_are_shortened():
    assert shortlist(["a", "b"], 2) == "a, b"
    assert shortlist(list("abcd"), 2) == "a, b and 2 more"
    assert shortlist(range(2000), 1) == "0 and 1,999 more"
    assert shortlist(["x" * 100]) == "x" * 59 + "…"


def test_beside_shows_that_a_number_is_beyond_a_limit():
    assert beside_limit(1.0503, 1.05, 2) == "1.0503"
    assert beside_limit(1.062, 1.05, 2) == "1.06"
    assert beside_limit(99.97, 100, 0) == "99.97"
    assert beside_limit(4.2, 100, 0) == "4"
    assert beside_limit(1.05, 1.05, 2) == "1.05"


def test_escaped_leaves_nothing_that_a_terminal_obeys():
    assert escaped("a\x1b[2Jb\x9b\r\n\u202e\ud800ü") == "a\\x1b[2Jb\\x9b\\r\\n\\u202e\\ud800ü"
    assert escaped("a\nb\x07", keep="\n") == "a\nb\\x07"
    assert shortened("x\x1b" + "y" * 100, 10) == "x\\x1byyyy…"
