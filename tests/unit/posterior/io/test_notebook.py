"""What a notebook shows of a posterior."""

import numpy as np

import coaltree as ct
from coaltree.posterior.io.notebook import posterior_html
from tests.posteriors import random_posterior


def test_posterior_html_says_what_it_holds_and_shows_the_mean_tree():
    text = posterior_html(random_posterior(1, weighted=False, chain=np.arange(12) % 2, covariance=ct.Spherical()))
    assert "12 trees of 7 leaves, 2 chains, covariance Spherical, effective sample size" in text
    assert "<svg" in text and text.startswith("<div>") and text.endswith("</div>")


def test_posterior_html_of_particles_names_no_chain():
    assert "chain" not in posterior_html(random_posterior(1)).split("</p>")[0]
