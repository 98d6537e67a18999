"""Clusters to colour: labels of the user, and cuts of trees and posteriors."""

import numpy as np
import pytest

from coaltree.plotting import geometry
from coaltree.plotting.clusters import as_clusters
from tests.posteriors import random_posterior
from tests.strategies import random_tree


def test_as_clusters_cuts_a_posterior_of_the_same_leaves():
    posterior = random_posterior(3, n=12, n_trees=30)
    shown = posterior.mean_tree()
    found = as_clusters(shown.relabel(shown.labels[::-1]), None, 3, None, posterior)
    np.testing.assert_array_equal(found.number, posterior.cut(3)[::-1])
    np.testing.assert_array_equal(as_clusters(shown, None, 3).number, shown.cut(3))


def test_as_clusters_keeps_numbers_and_outliers(tree):
    outliers = np.array([0, 0, -1, 1, 1])
    np.testing.assert_array_equal(as_clusters(tree, outliers, None).number, outliers)


def test_as_clusters_numbers_names_in_order_of_first_leaf(tree):
    found = as_clusters(tree, ["z", "a", "z", "m", "a"], None)
    assert found.names == ["z", "a", "m"]
    assert found.number.tolist() == [0, 1, 0, 2, 1]
    assert not found.side_branch.any()


@pytest.mark.filterwarnings("ignore::coaltree.ClusterSizeWarning")
@pytest.mark.parametrize("seed", range(5))
def test_as_clusters_are_side_by_side_but_for_side_branches(seed):
    tree = random_tree(40, np.random.default_rng(seed))
    for k in range(1, 9):
        found = as_clusters(tree, None, k)
        order = [leaf for leaf in geometry.arrange(tree).tips.tolist() if not found.side_branch[leaf]]
        core = found.number[order]
        assert 1 + np.count_nonzero(np.diff(core)) == len(set(core.tolist())) == k
