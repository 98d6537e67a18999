"""The summary tree against listing every tree that observed splits allow."""

import numpy as np
import pytest

import coaltree as ct
from tests.posteriors import listed, random_posterior
from tests.reference import summaries
from tests.strategies import random_tree


def leaf_sets(tree):
    return summaries.clades(tree.children.tolist())


@pytest.mark.parametrize(("seed", "n"), [(0, 7), (1, 8), (2, 6), (3, 3), (4, 2), (5, 9)])
@pytest.mark.parametrize("weighted", [True, False])
def test_no_other_tree_of_observed_splits_is_better(seed, n, weighted):
    post = random_posterior(seed, n=n, weighted=weighted)
    trees = listed(post)
    frequency = summaries.clade_frequencies(trees, post.weights)
    tree = post.mean_tree()
    score = summaries.mcc_score(tree.children.tolist(), frequency)
    assert score == pytest.approx(summaries.best_of_observed_splits(trees, post.weights))
    assert score >= summaries.mcc_score(post.mcc_tree().children.tolist(), frequency) - 1e-9
    assert ct.Tree(tree.children, tree.times) == tree.relabel(range(n))  # a valid tree


def test_times_are_means_raised_where_they_contradict():
    post = random_posterior(6, n=8, n_trees=30)
    trees = listed(post)
    tree = post.mean_tree()
    mean = {}
    for clade in leaf_sets(tree):
        times, weights = summaries.clade_times(trees, post.weights, clade)
        mean[clade] = np.dot(times, weights) / np.sum(weights)
    for clade, time in zip(leaf_sets(tree), tree.times, strict=True):
        assert time == pytest.approx(max(mean[inner] for inner in mean if inner <= clade))


def test_the_best_clades_of_different_trees_are_put_together():
    """Two halves, each with a good and a bad inside; no tree has both good ones."""
    good, bad = [[0, 1], [8, 2], [9, 3]], [[2, 3], [8, 1], [9, 0]]

    def tree(left, right):
        inner = np.array(left)
        other = np.where(np.array(right) < 8, np.array(right) + 4, np.array(right) + 3)
        return np.concatenate([inner, other, [[10, 13]]])

    worse = [[0, 2], [8, 1], [9, 3]]
    rows = [tree(good, bad), tree(good, worse), tree(bad, good), tree(worse, good)]
    post = ct.Posterior(np.stack(rows), np.tile(np.arange(1.0, 8.0), (4, 1)))
    wanted = set(summaries.clades(tree(good, good).tolist()))
    assert set(leaf_sets(post.mean_tree())) == wanted
    assert set(leaf_sets(post.mcc_tree())) != wanted


def test_the_table_of_splits_grows():
    rng = np.random.default_rng(0)
    drawn = [random_tree(60, rng) for _ in range(60)]
    post = ct.Posterior(np.stack([t.children for t in drawn]), np.stack([t.times for t in drawn]))
    table = post.clade_table
    with np.errstate(divide="ignore"):
        log_frequency = np.log(post.clade_support(post.mean_tree()))
    assert len(table.keys) > 2048 > 60
    assert np.isfinite(log_frequency).all()
    assert log_frequency.sum() >= np.log(post.clade_support(post.mcc_tree())).sum() - 1e-9
