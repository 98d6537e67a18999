"""The majority-rule consensus tree and that of maximum clade credibility, against their definitions."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import leaf_sets, listed
from tests.reference import summaries


@pytest.mark.parametrize("min_support", [0.5, 0.7, 1.0])
def test_consensus_has_the_majority_clades_at_median_times(post, min_support):
    trees = listed(post)
    expected = summaries.majority(trees, post.weights, min_support)
    tree = post.consensus(min_support)
    names = [frozenset(map(int, clade)) for clade in tree.clades()]
    assert set(names) == set(expected)
    assert len(names) == len(expected)
    np.testing.assert_allclose(tree.support, [expected[c] for c in names], atol=1e-12)
    medians = {c: summaries.quantile(*summaries.clade_times(trees, post.weights, c), 0.5) for c in names}
    for clade, time in zip(names, tree.times, strict=True):
        assert time == max(medians[inner] for inner in names if inner <= clade)
    assert np.all(np.diff(tree.times) >= 0)


def test_consensus_of_half_and_half_is_not_fooled_by_rounding():
    """14 weights of 1/14: seven of them may sum to a little more than 1/2."""
    children = np.array([[[0, 1], [2, 3]]] * 7 + [[[1, 2], [0, 3]]] * 7)
    post = posterior_of_trees(children, np.tile([1.0, 2.0], (14, 1)))
    tree = post.consensus()
    assert tree.children == ((0, 1, 2),)


def test_mcc_tree_has_the_highest_score_and_median_times(post):
    trees = listed(post)
    frequency = {c: f for c, f in summaries.clade_frequencies(trees, post.weights).items() if f > 0}
    scores = [
        summaries.mcc_score(children, frequency)
        if all(c in frequency for c in summaries.clades(children))
        else -math.inf
        for children, _ in trees
    ]
    found = post.mcc_tree()
    assert summaries.mcc_score(found.children.tolist(), frequency) == pytest.approx(max(scores))
    # times: medians, raised to the largest median within
    medians = {c: summaries.quantile(*summaries.clade_times(trees, post.weights, c), 0.5) for c in leaf_sets(found)}
    for clade, time in zip(leaf_sets(found), found.times, strict=True):
        assert time == max(medians[inner] for inner in medians if inner <= clade)
    assert ct.Tree(found.children, found.times) == found  # a valid tree


def test_mcc_tree_times_are_raised_where_medians_contradict():
    """{0, 1} is late where it is without {0, 1, 2}, and {0, 1, 2} is early where it is without {0, 1}."""
    children = [[[0, 1], [4, 2], [5, 3]], [[2, 3], [0, 1], [4, 5]], [[1, 2], [4, 0], [5, 3]]]
    times = [[1.0, 2.0, 3.0], [1.0, 10.0, 11.0], [0.5, 0.6, 3.0]]
    found = posterior_of_trees(children, times, log_weights=np.log([0.2, 0.4, 0.4])).mcc_tree()
    assert found.children.tolist() == children[0]
    assert found.times.tolist() == [10.0, 10.0, 10.0]  # medians 10, 0.6 and 3
