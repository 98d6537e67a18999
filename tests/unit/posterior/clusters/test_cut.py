"""Clusters of the mean tree, and all trees cut to compare them with."""

import numpy as np

import coaltree as ct
from coaltree.posterior.clusters.cut import cut_mean_tree, read_partition
from tests.posteriors import random_posterior, side_branch_posterior


def test_cut_mean_tree_cuts_the_tree_that_is_shown():
    post = random_posterior(1)
    for number in (1, 2, 4):
        np.testing.assert_array_equal(
            cut_mean_tree(post, number, None, 1, False), post.mean_tree().cut(number, min_size=1)
        )
    time = float(np.median(post.mean_tree().times))
    np.testing.assert_array_equal(cut_mean_tree(post, None, time, 1, False), post.mean_tree().cut(time=time))


def test_cut_mean_tree_names_outliers_by_side_branches_or_by_rows():
    assert cut_mean_tree(side_branch_posterior(), 2, None, 3, True).tolist() == [0] * 4 + [1] * 5 + [-1]
    X = np.repeat([[0.0], [9.0], [9.0]], [4, 5, 1], axis=0) + np.linspace(0.0, 0.3, 10)[:, None]
    near = side_branch_posterior(X=X, covariance=ct.Spherical(amplitude=1.0))
    assert cut_mean_tree(near, 2, None, 3, True).tolist() == [0] * 4 + [1] * 6  # which lies with its cluster


def test_beside_reads_labels_and_cuts_all_trees():
    post = random_posterior(2)
    reference, cut_into, outliers = read_partition(post, [0, 0, 1, 1, 1, 2, -1], min_size=1)
    assert outliers and reference.clusters.tolist() == [0, 1, 2]
    assert cut_into(3).shape == (12, 7)
    assert cut_into(3) is cut_into(3)
