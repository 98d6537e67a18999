"""Partitions at every number of the slider."""

import numpy as np

from coaltree.posterior.clusters.answer import answer_for
from coaltree.report import report_html
from tests.pages import content_of, decoded, decoded_values
from tests.posteriors import lone_leaf_posterior


def test_partitions_are_the_posteriors(page, posterior):
    partitions = content_of(page)["partitions"]
    assert [given["k"] for given in partitions] == list(range(1, 13))
    for given in partitions:
        k = given["k"]
        labels = posterior.cut(k)
        stability = posterior.stability(labels)
        membership = posterior.membership(labels)
        np.testing.assert_array_equal(decoded(given["cluster"]), labels)
        assert given["sizes"] == np.bincount(labels).tolist()
        np.testing.assert_allclose(given["jaccard"], stability.jaccard, atol=0.01)
        np.testing.assert_allclose(np.transpose([given["low"], given["high"]]), stability.interval, atol=0.0051)
        assert tuple(given["words"]) == stability.words
        own = membership[np.arange(40), labels]
        np.testing.assert_allclose(decoded_values(given["probability"], 0, 1), own, atol=1e-3)
        assert len(given["colours"]) == k
    assert partitions[3]["colours"] == [0, 1, 2, 3]


def test_partitions_name_leaves_in_no_clade():
    post = lone_leaf_posterior()
    partitions = {given["k"]: given for given in content_of(report_html(post, n_clusters=2))["partitions"]}
    assert partitions[2]["sideLeaves"] == [9]
    for k, given in partitions.items():
        assert given["sideLeaves"] == np.flatnonzero(answer_for(post, k).in_no_clade).tolist()
