"""Summary cards: the number of clusters, their stability, and model checks, whose section has the same words."""

import numpy as np

import coaltree as ct
from coaltree.posterior.diagnostics.check_sentences import as_option
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.report import report_html, summary_cards
from tests.browser.posteriors import chain_posterior
from tests.pages import content_of, rendered, words_of


def test_opening_number_is_the_suggested_one():
    post = chain_posterior(60, 6, 8)
    suggestion = post.suggest_n_clusters()
    text = report_html(post)
    assert suggestion.n_clusters > 1
    assert content_of(text)["clusters"] == suggestion.n_clusters
    assert suggestion.reason in words_of(text)
    assert summary_cards.opening_number(post, suggestion) == summary_cards.opening_number(post, None)


def shown(model):
    """The section of the page."""
    return rendered("model_checks.html", model=model, say=str)


def test_model_checks_show_p_value_and_option_of_each():
    X, tree = ct.simulate(40, 3, random_state=0)
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    post = posterior_of_trees(
        tree.children[None], tree.times[None], X=X, covariance=ct.Fixed(np.eye(3)), columns=["<a>", "b", "c"]
    )
    found = post.check()
    assert "correlation" in [one.name for one in found.wrong]
    section = shown(found)
    words = words_of(section)
    assert words.count("p = ") == len(found) == section.count("<li ")
    assert found.headline in words
    assert f'{summary_cards.sentence(found["correlation"].sentence)} Try covariance="full".' in words
    assert "Try --covariance full." in words_of(rendered("model_checks.html", model=found, say=as_option))
    assert "Does the model hold?" in words_of(report_html(post, n_clusters=2))
