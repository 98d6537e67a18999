"""Summary cards: the number of clusters and their stability."""

import re

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.clusters.answer import answer_for
from coaltree.report import report_html, summary_cards
from tests.browser.posteriors import chain_posterior
from tests.pages import content_of, words_of
from tests.strategies import random_tree


def test_opening_number_is_the_suggested_one():
    post = chain_posterior(60, 6, 8)
    suggestion = post.suggest_n_clusters()
    text = report_html(post)
    assert suggestion.n_clusters > 1
    assert content_of(text)["clusters"] == suggestion.n_clusters
    assert suggestion.reason in words_of(text)
    assert summary_cards.opening_number(post, suggestion) == summary_cards.opening_number(post, None)


def test_opening_number_is_one_where_none_stands_out():
    trees = [random_tree(32, np.random.default_rng(seed)) for seed in range(30)]  # which have nothing in common
    post = ct.Posterior(np.stack([tree.children for tree in trees]), np.stack([tree.times for tree in trees]))
    suggestion = post.suggest_n_clusters()
    assert suggestion.n_clusters == 1
    start = summary_cards.opening_number(post, None)
    assert start == (1, "1 cluster suggested", suggestion.reason)
    assert content_of(report_html(post))["clusters"] == 1


@pytest.mark.parametrize("bad", [0, 41, 2.5, True])
def test_opening_number_refuses_impossible_numbers(posterior, bad):
    with pytest.raises(ct.InputError, match="n_clusters must be"):
        report_html(posterior, n_clusters=bad)


def test_cluster_cards_tell_number_and_stability():
    same = [[0, 1], [2, 3], [4, 5], [6, 7]]
    other = [[0, 1], [2, 3], [4, 6], [5, 7]]
    times = np.tile([1.0, 1.1, 2.0, 5.0], (10, 1))
    start = summary_cards.OpeningNumber(2, "2 clusters suggested", "Because.")

    def said(children, k=2):
        post = ct.Posterior(np.array(children), times[: len(children)])
        return summary_cards.cluster_cards(post, start, answer_for(post, k, quietly=True))

    number_card, stable = said([same] * 10)
    assert number_card == ("2 clusters suggested", "Because.", "")
    assert stable[::2] == ("Both clusters are stable", "good")
    assert "0 of 5 leaves have a probability below 90" in stable.text
    half = said([same] * 5 + [other] * 5)[1]
    assert half[::2] == ("1 of 2 clusters is stable", "fair")  # (1 + 2/3) / 2, and 1
    assert re.match(r"Least stable: cluster \d, 3 leaves, doubtful: similarity 0.83", half.text)
    assert "1 of 5 leaves has a probability below 90" in half.text
    assert said([same] * 10, 5)[0][:2] == ("5 clusters", "The page opened with 2 clusters. Because.")
    start = start._replace(reason="2 clusters: two.")
    assert said([same] * 10, 5)[0].text == "The page opened with 2 clusters: two."
    assert said([same] * 10, 5)[1].heading == "All 5 clusters are stable"
    assert said([same] * 10, 1)[1].heading == "All leaves in one cluster"
    assert said([same], 2)[1].heading == "One tree, no uncertainty"
