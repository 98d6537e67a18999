"""Clusters of all trees of a posterior, against their definitions."""

import numpy as np
import pytest
from scipy import stats

import coaltree as ct
from coaltree.posterior.clusters import partitions
from coaltree.tree.cuts import check_cut, cut_trees
from coaltree.tree.merges import canonical
from tests.posteriors import brute_partitions, cuts, grouped_posterior, random_posterior, side_branch_posterior
from tests.reference import summaries


@pytest.fixture(params=[(0, 7), (1, 6), (2, 3), (3, 2)], ids=lambda p: f"seed{p[0]}-n{p[1]}")
def post(request):
    return random_posterior(request.param[0], n=request.param[1])


def test_cut_labels_are_those_of_every_tree(post):
    for how in cuts(post):
        labels = partitions.cut_labels(post.children, post.times, check_cut(post.n, **how))
        assert labels.tolist() == brute_partitions(post, how)
        assert labels.tolist() == [tree.cut(**how).tolist() for tree in post.trees]


def test_coclustering_is_the_share_of_trees_with_both_together(post, monkeypatch):
    for how in cuts(post):
        expected = summaries.coclustering(brute_partitions(post, how), post.weights)
        found = post.coclustering(**how)
        np.testing.assert_allclose(found, expected, atol=1e-14)
        np.testing.assert_array_equal(found, found.T)
        monkeypatch.setattr(partitions, "_LABEL_BLOCK_BYTES", 60)  # a few trees at a time: the same matrix
        np.testing.assert_allclose(post.coclustering(**how), expected, atol=1e-14)


def test_coclustering_of_more_leaves_than_a_tile():
    post = random_posterior(4, n=80, n_trees=5)
    expected = summaries.coclustering(brute_partitions(post, {"n_clusters": 9, "min_size": 1}), post.weights)
    np.testing.assert_allclose(post.coclustering(n_clusters=9, min_size=1), expected, atol=1e-14)


@pytest.mark.filterwarnings("ignore::coaltree.ClusterSizeWarning")
def test_cut_labels_have_the_side_branches_of_every_tree():
    """They join by the tree, whether or not there are rows; outliers are in nobody's company, but in their own."""
    post = random_posterior(6, n=20, n_trees=30, weighted=False)
    rows = np.random.default_rng(0).normal(size=(20, 2))
    seen = 0
    for k, m in [(2, 3), (2, 6), (3, 4), (3, "auto")]:
        for outliers in (False, True):
            how = check_cut(post.n, k, None, m, outliers)
            labels = partitions.cut_labels(post.children, post.times, how)
            trees = [tree.cut(k, min_size=m, outliers=outliers) for tree in post.trees]
            np.testing.assert_array_equal([canonical(row) for row in labels], trees)
            seen += (labels < 0).sum()
            together = post.coclustering(k, min_size=m, outliers=outliers)
            expected = np.mean([(row[:, None] == row) & (row >= 0) for row in labels], axis=0)
            np.fill_diagonal(expected, 1.0)
            np.testing.assert_allclose(together, expected, atol=1e-12)
        how = check_cut(post.n, k, None, m)
        by_tree = partitions.cut_labels(post.children, post.times, how)
        np.testing.assert_array_equal(partitions.cut_labels(post.children, post.times, how, rows), by_tree)
    assert seen > 50


def test_cut_labels_join_side_branches_by_the_tree_whatever_their_rows():
    """Leaf 8 hangs above both clades of four, and the later one is where it belongs."""
    children = [[0, 1], [2, 3], [9, 10], [4, 5], [6, 7], [12, 13], [11, 14], [15, 8]]
    for row in (3, 6):
        full = ct.Posterior(
            [children],
            [np.arange(1.0, 9.0)],
            X=np.array([0, 1, 0, 1, 8, 9, 8, 9, row])[:, None],
            covariance=ct.Spherical(amplitude=1.0, learn=False),
        )
        assert full.cut(2, min_size=2).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]
        np.testing.assert_array_equal(full.coclustering(2, min_size=2)[8, [0, 4]], [0, 1])
    assert ct.Posterior([children], [np.arange(1.0, 9.0)]).cut(2, min_size=2, outliers=True)[8] == -1


def far_by_the_rule(labels, rows):
    """Squared distance from the nearest centre > q_0.99 / q_0.5 · max(median of its own, median of all), in words.

    Side branches, with labels ~c, count neither for centres nor for medians.
    """
    p = rows.shape[1]
    factor = stats.f.ppf(0.99, p, 4) / stats.f.ppf(0.5, p, 4)
    cores = [np.flatnonzero(labels == c) for c in range(max(max(labels), max(~labels)) + 1)]
    centres = [rows[core].mean(axis=0) for core in cores]
    squared = [((rows[core] - centre) ** 2).sum(axis=1) for core, centre in zip(cores, centres, strict=True)]
    far = []
    for row in rows:
        distances = [((row - centre) ** 2).sum() for centre in centres]
        nearest = int(np.argmin(distances))
        usual = max(np.median(squared[nearest]), np.median(np.concatenate(squared)))
        far.append(distances[nearest] > factor * usual)
    return np.array(far)


@pytest.mark.parametrize("p", [1, 3, 10])
def test_is_outlier_follows_the_rule(p):
    """In all trees and in the mean tree; some side branches are outliers and some are not, as are some other leaves."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20, p))
    X[:4] *= np.array([20.0, 50.0, 100.0, 200.0])[:, None]
    known = {"X": X, "covariance": ct.Spherical(amplitude=2.0, learn=False)}
    post = random_posterior(6, n=20, n_trees=100, weighted=False, **known)
    rows = (X - X.mean(axis=0)) / np.sqrt(2.0)
    how = check_cut(20, 2, None, 5, True)
    with_sides, _ = cut_trees(post.children, np.full(100, 1), how.min_sizes)
    named = partitions.cut_labels(post.children, post.times, how, rows)
    count = np.zeros((2, 2), dtype=int)
    for before, after in zip(with_sides, named, strict=True):
        is_far = far_by_the_rule(before, rows)
        np.testing.assert_array_equal(partitions.is_outlier(before, rows), is_far)
        np.testing.assert_array_equal(after, np.where(is_far, -1, np.maximum(before, ~before)))
        np.add.at(count, ((before < 0).astype(int), is_far.astype(int)), 1)
    assert count.min() > 10
    np.testing.assert_array_equal(post.whitened_rows, rows)

    tree = post.mean_tree()
    before, _ = cut_trees(tree.children[None], np.array([1]), how.min_sizes)
    expected = np.where(far_by_the_rule(before[0], rows), -1, tree.cut(2, min_size=5))
    np.testing.assert_array_equal(post.cut(2, min_size=5, outliers=True), expected)
    assert (expected < 0).any() and (expected >= 0).sum() > 10


def test_is_outlier_of_a_cluster_of_equal_rows():
    """Its own median is 0: that of all leaves keeps its members from being outliers, and their neighbours, too."""
    rows = np.array([0.0] * 6 + [0.5, 10.0, 11.0, 12.0, 13.0, 14.0, 400.0])[:, None]
    labels = np.array([0] * 7 + [1] * 5 + [~1])
    np.testing.assert_array_equal(partitions.is_outlier(labels, rows), far_by_the_rule(labels, rows))
    assert np.flatnonzero(partitions.is_outlier(labels, rows)).tolist() == [12]


def test_whitened_rows_of_more_columns_than_leaves_keep_their_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 20))
    post = random_posterior(1, n=6, X=X, covariance=ct.Spherical(amplitude=4.0, learn=False))
    rows = post.whitened_rows
    assert rows.shape == (6, 6)
    np.testing.assert_allclose(
        np.linalg.norm(rows[:, None] - rows, axis=2), np.linalg.norm(X[:, None] - X, axis=2) / 2, atol=1e-12
    )
    assert random_posterior(1, n=6, X=X).whitened_rows is None


def test_whitened_rows_of_replicates_are_their_means():
    """Six leaves of two rows each; without noise of their own rows count the same."""
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(6, 2)), 2, axis=0) + 0.1 * rng.normal(size=(12, 2))
    post = ct.fit(
        X, ct.Spherical(amplitude=1.0, learn=False), noise=0.01, groups=np.repeat(np.arange(6), 2),
        n_samples=5, n_warmup=2, n_chains=1, random_state=0, progress=False,
    )  # fmt: skip
    means = X.reshape(6, 2, 2).mean(axis=1)
    np.testing.assert_allclose(post.whitened_rows, means - means.mean(axis=0), atol=1e-12)
    assert post.cut(2).shape == (6,)


def test_whitened_rows_are_values_of_leaves_not_of_rows():
    """Rows say as much as their noise lets them: an outlier hardly moves its leaf."""
    post = grouped_posterior()
    draw = int(np.argmax(post.log_joint))
    rows = partitions.whitened_rows(post)
    assert rows.shape == (post.n, 3)
    weight = 1.0 / post.row_variances(draw)
    mean = np.array([np.average(post.X[post.groups == i], axis=0, weights=weight[post.groups == i]) for i in range(7)])
    expected = (mean - mean.mean(axis=0)) / np.sqrt(post.theta["amplitude"].mean())
    np.testing.assert_allclose(rows, expected)
    assert post.cut(2).shape == (7,)


def test_cut_mean_tree_cuts_the_tree_that_is_shown():
    post = random_posterior(1)
    for number in (1, 2, 4):
        np.testing.assert_array_equal(
            partitions.cut_mean_tree(post, number, None, 1, False), post.mean_tree().cut(number, min_size=1)
        )
    time = float(np.median(post.mean_tree().times))
    np.testing.assert_array_equal(partitions.cut_mean_tree(post, None, time, 1, False), post.mean_tree().cut(time=time))


def test_cut_mean_tree_names_outliers_by_side_branches_or_by_rows():
    assert partitions.cut_mean_tree(side_branch_posterior(), 2, None, 3, True).tolist() == [0] * 4 + [1] * 5 + [-1]
    X = np.repeat([[0.0], [9.0], [9.0]], [4, 5, 1], axis=0) + np.linspace(0.0, 0.3, 10)[:, None]
    near = side_branch_posterior(X=X, covariance=ct.Spherical(amplitude=1.0))
    assert partitions.cut_mean_tree(near, 2, None, 3, True).tolist() == [0] * 4 + [1] * 6  # which lies with its cluster
