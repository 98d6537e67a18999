"""Noise and outliers."""

import numpy as np

import coaltree as ct
from coaltree.posterior.diagnostics.outliers import describe_noise
from coaltree.report import outliers, report_html
from tests.pages import rendered, words_of
from tests.posteriors import grouped_posterior, random_posterior


def shown(post):
    """The section of the page."""
    return rendered("outliers.html", noise=outliers.summarize(post))


def test_outliers_and_noise_are_told():
    post = grouped_posterior(n_trees=40)
    words = words_of(report_html(post))
    assert f"Measurement noise: {describe_noise(post)}." in words
    assert "One row is an outlier:" in words
    assert f"row 1 {post.labels[post.groups[1]]}" in words
    assert "noise_level Measurement noise of a row" in words
    scales = np.ones((40, 13))
    assert "There are no outliers" in words_of(shown(grouped_posterior(n_trees=40, tail_scale=scales)))
    scales[:, :3] = 50.0
    assert "3 rows are outliers" in words_of(shown(grouped_posterior(n_trees=40, tail_scale=scales)))
    assert "standard errors that were given" in shown(grouped_posterior(errors=np.ones(13)))


def test_outliers_beyond_the_listed_ones_are_counted():
    scales = np.ones((40, 30))
    scales[:, :10] = 50.0
    post = random_posterior(0, n=30, n_trees=40, weighted=False, tail_scale=scales, noise=ct.Noise(tails="student"))
    assert "10 rows are outliers" in words_of(shown(post))
    assert "The 8 with the highest scores are listed." in words_of(shown(post))


def test_outliers_of_a_model_without_noise(page):
    assert "The model has no measurement noise" in words_of(page)
