"""Co-clustering, and leaves whose cluster is uncertain."""

import numpy as np

from coaltree.report import coclustering, figures
from coaltree.report.partitions import make_partitions
from tests.pages import decoded


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
