"""Clades of many trees against lists of leaf sets."""

import math

import numpy as np

from coaltree.posterior.trees import clades
from coaltree.posterior.trees.clades import clade_table
from tests.posteriors import leaf_sets, listed, random_posterior
from tests.reference import summaries


def test_clade_table_has_the_keys_and_sizes_of_the_trees(post):
    table = clade_table(post)
    for t, tree in enumerate(post.trees):
        np.testing.assert_array_equal(table.keys[table.ids[t]], tree.clade_keys()[:, 0])
        assert [table.sizes[i] for i in table.ids[t]] == [len(c) for c in leaf_sets(tree)]


def test_clade_support_is_the_share_of_trees_with_the_clade(post):
    frequency = summaries.clade_frequencies(listed(post), post.weights)
    for tree in [*post.trees, random_posterior(99, n=post.n).trees[0]]:
        expected = [frequency.get(c, 0.0) for c in leaf_sets(tree)]
        np.testing.assert_allclose(post.clade_support(tree), expected, atol=1e-14)


def test_mean_cophenetic_is_the_weighted_mean(post):
    mean, log_mean = post.cophenetic(), post.cophenetic(log=True)
    n = post.n
    expected, expected_log = np.zeros((n, n)), np.zeros((n, n))
    for (children, times), w in zip(listed(post), post.weights, strict=True):
        for (i, j), time in summaries.cophenetic(children, times).items():
            expected[i, j] += w * time
            expected_log[i, j] += w * math.log(time)
    expected += expected.T
    expected_log += expected_log.T
    np.fill_diagonal(expected_log, -np.inf)
    np.testing.assert_allclose(mean, expected, rtol=1e-12)
    np.testing.assert_allclose(log_mean, expected_log, rtol=1e-12)


def test_time_medians_are_those_of_the_trees_with_the_clade(post):
    tree = post.trees[1]
    found = clades.find(clade_table(post), tree)
    medians = clades.time_medians(clade_table(post), post.draws.times, post.weights, found)
    for clade, median in zip(leaf_sets(tree), medians, strict=True):
        times, weights = summaries.clade_times(listed(post), post.weights, clade)
        if sum(weights) > 0:
            assert median == summaries.quantile(times, weights, 0.5)
