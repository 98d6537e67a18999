"""Clusters to colour: labels of the user, and cuts of trees and posteriors."""

import numpy as np

from coaltree.plotting.clusters import as_clusters


def test_as_clusters_keeps_numbers_and_names(tree):
    outliers = np.array([0, 0, -1, 1, 1])
    np.testing.assert_array_equal(as_clusters(tree, outliers, None)[0], outliers)
    number, names = as_clusters(tree, ["z", "a", "z", "m", "a"], None)  # in order of first leaf
    assert names == ["z", "a", "m"]
    assert number.tolist() == [0, 1, 0, 2, 1]
    assert as_clusters(tree, None, None) == (None, None)
