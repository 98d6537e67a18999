"""Text on the page: what browsers can show, shares in per cent."""

import pytest

from coaltree.report.text import percent, printable


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), (1, "100 %"), (0.999, "over 99 %"), (0.001, "under 1 %"), (0.5, "50 %")]
)
def test_percent_never_rounds_to_all_or_nothing(share, text):
    assert percent(share).replace("\N{NO-BREAK SPACE}", " ") == text


def test_printable_replaces_what_html_cannot_show():
    assert printable("a\x00b\ud800\u202e") == "a\ufffdb\ufffd\ufffd"
    assert printable("naïve 水\n") == "naïve 水\n"
