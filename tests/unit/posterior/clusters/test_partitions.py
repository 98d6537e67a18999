"""Clusters of all trees of a posterior, against their definitions."""

import numpy as np
import pytest
from scipy import stats

import coaltree as ct
from coaltree.posterior.clusters import partitions
from coaltree.tree.cuts import check_cut
from tests.posteriors import brute_partitions, cuts, grouped_posterior, random_posterior
from tests.reference import summaries


@pytest.fixture(params=[(0, 7), (1, 6), (2, 3), (3, 2)], ids=lambda p: f"seed{p[0]}-n{p[1]}")
def post(request):
    return random_posterior(request.param[0], n=request.param[1])


def test_cut_labels_are_those_of_every_tree(post):
    for how in cuts(post):
        labels = partitions.cut_labels(post.children, post.times, check_cut(post.n, **how))
        assert labels.tolist() == brute_partitions(post, how)


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
