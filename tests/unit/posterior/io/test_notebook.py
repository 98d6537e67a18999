"""What a notebook shows of a posterior."""

import re

import numpy as np
import pytest

import coaltree as ct
from coaltree.plotting.style import PALETTE
from coaltree.posterior.io.notebook import posterior_html
from tests.posteriors import random_posterior


def test_posterior_html_says_what_it_holds_and_shows_the_mean_tree():
    text = posterior_html(random_posterior(1, weighted=False, chain=np.arange(12) % 2, covariance=ct.Spherical()))
    assert "12 trees of 7 leaves, 2 chains, covariance Spherical, effective sample size" in text
    assert "<svg" in text and text.startswith("<div>") and text.endswith("</div>")


def test_posterior_html_suggests_clusters_says_how_stable_they_are_and_warns():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((12, 3)), rng.standard_normal((12, 3)) + 12.0])
    with pytest.warns(ct.ConvergenceWarning) as caught:
        post = ct.fit(X, n_samples=30, n_warmup=30, random_state=0, progress=False)
    text = posterior_html(post)
    assert "2 clusters suggested" in text
    sizes = r"12 rows \(stable, [01.9]+\)"
    assert re.search(f"<strong>Stability</strong>: 2 clusters: {sizes}, {sizes}", text)
    assert "<strong>Warning</strong>: the chains have not converged" in text
    assert text.index("Warning") < text.index("suggested") < text.index("Stability") < text.index("<svg")
    assert len(caught) >= 1
    assert PALETTE[1].lower() in text.lower()  # clusters in colour
    bare = posterior_html(ct.Posterior(post.children[:1], post.times[:1]))
    assert "Stability" not in bare and "Warning" not in bare


def test_posterior_html_of_particles_names_no_chain():
    assert "chain" not in posterior_html(random_posterior(1)).split("</p>")[0]
