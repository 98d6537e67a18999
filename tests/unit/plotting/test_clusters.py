"""Clusters to colour: labels of the user, and cuts of trees and posteriors."""

import numpy as np

from coaltree.plotting.clusters import as_clusters
from tests.posteriors import random_posterior


def test_as_clusters_cuts_a_posterior_of_the_same_leaves():
    posterior = random_posterior(3, n=12, n_trees=30)
    shown = posterior.mean_tree()
    number, names = as_clusters(shown.relabel(shown.labels[::-1]), None, 3, None, posterior)
    np.testing.assert_array_equal(number, posterior.cut(3)[::-1])
    assert names is None
    np.testing.assert_array_equal(as_clusters(shown, None, 3)[0], shown.cut(3))


def test_as_clusters_keeps_numbers_and_names(tree):
    outliers = np.array([0, 0, -1, 1, 1])
    np.testing.assert_array_equal(as_clusters(tree, outliers, None)[0], outliers)
    number, names = as_clusters(tree, ["z", "a", "z", "m", "a"], None)  # in order of first leaf
    assert names == ["z", "a", "m"]
    assert number.tolist() == [0, 1, 0, 2, 1]
    assert as_clusters(tree, None, None) == (None, None)
