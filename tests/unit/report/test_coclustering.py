"""Co-clustering, and leaves whose cluster is uncertain."""

import numpy as np

from coaltree.posterior.clusters.answer import answer_for
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.report import coclustering, figures
from coaltree.report.partitions import make_partitions
from tests.pages import decoded, rendered, words_of


def shown(post, answer):
    """The words of the section."""
    return words_of(rendered("uncertain_leaves.html", uncertain=coclustering.uncertain_leaves(post, answer)))


def test_coclustering_figure_is_the_posteriors(posterior, monkeypatch):
    order = figures.tree_figure(posterior)[0].leaf_order()
    answers = make_partitions(posterior, 9)
    levels = coclustering.coclustering_figure(posterior, order, answers, 9)["levels"]
    assert [level["clusters"] for level in levels] == list(range(2, 13))
    monkeypatch.setattr(coclustering, "MAX_LEAVES_OPENING", 10)  # of many leaves evenly spaced ones
    levels += coclustering.coclustering_figure(posterior, order, {9: answers[9]}, 9)["levels"]
    for level in levels:
        leaves = order if level["size"] == 40 else order[[2, 6, 10, 14, 18, 22, 26, 30, 34, 38]]
        expected = posterior.coclustering(level["clusters"])[np.ix_(leaves, leaves)]
        upper = np.triu_indices(level["size"], 1)
        np.testing.assert_allclose(decoded(level["codes"]) / 63, expected[upper], atol=0.5 / 63 + 1e-12)


def test_uncertain_leaves_may_be_in_none_of_the_clusters():
    # (0 1) and (2 3), with leaf 4 with the former in six trees of ten; (2 3) is a clade of all
    left = [[0, 1], [2, 3], [4, 5], [6, 7]]
    right = [[0, 1], [2, 3], [4, 6], [5, 7]]
    post = posterior_of_trees(np.array([left] * 6 + [right] * 4), np.tile([1.0, 1.1, 2.0, 5.0], (10, 1)))
    answer = answer_for(post, 2)
    found = coclustering.uncertain_leaves(post, answer)
    (leaf,) = found["leaves"]
    assert (leaf["label"], leaf["own"], leaf["other"], leaf["is_elsewhere"]) == ("4", 2, 1, False)
    assert [float(text.split("\xa0")[0]) for text in leaf["percents"]] == [60, 0, 40]
    assert "4 cluster 2 60 % cluster 1 0 % 40 %" in shown(post, answer)
    assert shown(post, answer_for(post, 1)) == ""
    assert "every leaf has a probability of at least 90 %" in shown(post[:6], answer_for(post[:6], 2))
