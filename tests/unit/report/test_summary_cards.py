"""Summary cards: the number of clusters, their stability, and model checks, whose section has the same words."""

import re

import numpy as np

import coaltree as ct
from coaltree.posterior.clusters.answer import answer_for
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.report import report_html, summary_cards, svg
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


def test_cluster_cards_tell_number_and_stability():
    same = [[0, 1], [2, 3], [4, 5], [6, 7]]
    other = [[0, 1], [2, 3], [4, 6], [5, 7]]
    times = np.tile([1.0, 1.1, 2.0, 5.0], (10, 1))
    start = summary_cards.OpeningNumber(2, "2 clusters suggested", "Because.")

    def said(children, k=2):
        post = posterior_of_trees(np.array(children), times[: len(children)])
        return summary_cards.cluster_cards(post, start, answer_for(post, k))

    number_card, stable = said([same] * 10)
    assert number_card == ("2 clusters suggested", "Because.", "")
    assert stable[::2] == ("2 of 2 clusters stable", "good")
    assert stable.text.endswith("of being in their cluster: 0 of 5.")
    half = said([same] * 5 + [other] * 5)[1]
    assert half[::2] == ("1 of 2 clusters stable", "fair")  # (1 + 2/3) / 2, and 1
    assert re.match(r"Least stable: cluster \d \(3 leaves\), stability 0.83\.", half.text)
    assert half.text.endswith("cluster: 1 of 5.")
    assert said([same] * 10, 5)[0][:2] == ("5 clusters", "The page opened with 2 clusters.")
    assert said([same] * 10, 1)[1].heading == "All leaves in one cluster"
    assert said([same], 2)[1].heading == "One tree, no uncertainty"


def shown(model):
    """The section of the page."""
    return rendered("model_checks.html", model=model, model_pictures=svg.checks(model))


def test_model_checks_show_p_value_and_option_of_each():
    X, tree = ct.simulate(40, 3, noise=1.0, random_state=0)
    post = posterior_of_trees(
        tree.children[None], tree.times[None], X=X, covariance=ct.Fixed(np.eye(3)), columns=["<a>", "b", "c"]
    )
    found = post.check()
    assert "noise" in [one.name for one in found.wrong]
    section = shown(found)
    words = words_of(section)
    assert words.count("p = ") == len(found) == section.count("<li ")
    assert found.headline in words
    assert f'{summary_cards.sentence(found["noise"].sentence)} Try noise="student".' in words
    assert section.count("<svg") == 2
    assert "Does the model hold?" in words_of(report_html(post, n_clusters=2))
