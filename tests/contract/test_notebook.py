"""What a notebook shows of our objects."""

from html.parser import HTMLParser

import numpy as np
import pytest

import coaltree as ct
from tests.posteriors import random_posterior

HOSTILE = ["<script>x</script>", "b", "c", "d", "e", "f", "g"]


class Elements(HTMLParser):
    """Collects what an HTML text has, and insists that what is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.seen, self.open = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def posterior():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((7, 2))
    return random_posterior(1, n_trees=40, weighted=False, labels=HOSTILE, X=X, covariance=ct.Spherical(), noise=0.1)


def test_repr_html_is_well_formed_and_harmless(posterior):
    seen = Elements(posterior._repr_html_()).seen
    assert "script" not in seen
    assert "svg" in seen


def test_repr_svg_of_trees_is_a_picture(posterior):
    for tree in (posterior.mean_tree(), posterior.consensus()):
        text = tree._repr_svg_()
        assert text.startswith("<svg")
        assert "&lt;script&gt;" in text
        assert text == tree._repr_svg_()
