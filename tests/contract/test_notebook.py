"""What a notebook shows of our objects."""

from xml.etree import ElementTree

import numpy as np
import pytest

import coaltree as ct
from tests.posteriors import random_posterior

HOSTILE = ["<script>x</script>", "b", "c", "d", "e", "f", "g"]


@pytest.fixture(scope="module")
def posterior():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((7, 2))
    return random_posterior(1, n_trees=40, weighted=False, labels=HOSTILE, X=X, covariance=ct.Spherical(), noise=0.1)


def test_repr_html_is_well_formed_and_harmless(posterior):
    seen = [element.tag for element in ElementTree.fromstring(f"<div>{posterior._repr_html_()}</div>").iter()]
    assert "script" not in seen and any("svg" in tag for tag in seen)


def test_repr_svg_of_trees_is_a_picture(posterior):
    for tree in (posterior.mean_tree(), posterior.consensus()):
        text = tree._repr_svg_()
        assert text.startswith("<svg")
        assert "&lt;script&gt;" in text
        assert text == tree._repr_svg_()
