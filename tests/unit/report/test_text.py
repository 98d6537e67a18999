"""Text on the page: what browsers can show, shares in per cent."""

import numpy as np
import pytest

from coaltree.report.text import percent, percents_adding_up, printable


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), (1, "100 %"), (0.999, "over 99 %"), (0.001, "under 1 %"), (0.5, "50 %")]
)
def test_percent_never_rounds_to_all_or_nothing(share, text):
    assert percent(share).replace("\N{NO-BREAK SPACE}", " ") == text


def test_printable_replaces_what_html_cannot_show():
    assert printable("a\x00b\ud800\u202e") == "a\ufffdb\ufffd\ufffd"
    assert printable("naïve 水\n") == "naïve 水\n"


def test_percents_adding_up_sum_to_100():
    assert percents_adding_up((0.6, 0.4)) == ["60\xa0%", "40\xa0%", "0\xa0%"]
    rng = np.random.default_rng(0)
    for _ in range(200):
        shares = rng.dirichlet([1.0, 1.0, 0.3])
        said = [int(text.split("\xa0")[0]) for text in percents_adding_up(tuple(shares[:2]))]
        assert sum(said) == 100
        assert np.abs(np.array(said) - 100 * shares).max() < 1
