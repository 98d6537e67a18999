"""Parameters: numbers, vectors and matrices; noise and outliers."""

import numpy as np

from coaltree.posterior.diagnostics.outliers import describe_noise
from coaltree.report import parameters, report_html
from tests.browser.posteriors import chain_posterior
from tests.pages import decoded_values, rendered, words_of
from tests.posteriors import grouped_posterior


def shown(post, found=None):
    """The section of the page."""
    found = parameters.summarize(post, {}) if found is None else found
    return rendered("parameters.html", posterior=post, parameters=found)


def test_parameters_that_are_vectors_and_matrices():
    rng = np.random.default_rng(0)
    few = chain_posterior(8, 3, 30, columns=["a", "b", "<c>"], variances=rng.gamma(5, 1, (30, 3)))
    section = shown(few)
    assert section.count("<tr>") == 4
    assert "variances[&lt;c&gt;]" in section
    full = np.array([np.cov(rng.normal(size=(4, 40))) for _ in range(30)])
    post = chain_posterior(8, 4, 30, columns=list("abcd"), Phi=full)
    back = decoded_values(parameters.summarize(post, {})["correlation"]["codes"], -1, 1).reshape(4, 4)
    expected = np.mean([c / np.sqrt(np.outer(np.diag(c), np.diag(c))) for c in full], axis=0)
    np.testing.assert_allclose(back, expected, atol=1e-3)
    i, j = max(((i, j) for i in range(4) for j in range(i)), key=lambda pair: abs(expected[pair]))
    assert f"Strongest: {'abcd'[j]} and {'abcd'[i]} (" in shown(post)
    assert "covariance (diagonal)[a]" in shown(post) and "Phi" not in shown(post)


def shown_noise(post):
    """The section of the page about noise and outliers."""
    return rendered("outliers.html", noise=parameters.summarize_noise(post))


def test_outliers_and_noise_are_told():
    post = grouped_posterior(n_trees=40)
    words = words_of(report_html(post))
    assert f"Measurement noise: {describe_noise(post)}." in words
    assert "One row is an outlier:" in words
    assert f"row 1 {post.labels[post.model.leaves.groups[1]]}" in words
    assert "noise_level Measurement noise of a row" in words
    scales = np.ones((40, 13))
    assert "There are no outliers" in words_of(shown_noise(grouped_posterior(n_trees=40, tail_scale=scales)))
    scales[:, :3] = 50.0
    assert "3 rows are outliers" in words_of(shown_noise(grouped_posterior(n_trees=40, tail_scale=scales)))
    assert "standard errors that were given" in shown_noise(grouped_posterior(errors=np.ones(13)))
