"""Clusters of all trees of a posterior, against their definitions."""

import numpy as np
import pytest
from scipy import stats

import coaltree as ct
from coaltree.posterior import partitions
from coaltree.tree.merges import canonical, check_cut
from tests.posteriors import brute_partitions, cuts, grouped_posterior, random_posterior
from tests.reference import summaries


@pytest.fixture(params=[(0, 7), (1, 6), (2, 3), (3, 2)], ids=lambda p: f"seed{p[0]}-n{p[1]}")
def post(request):
    return random_posterior(request.param[0], n=request.param[1])


def test_labels_of_every_tree(post):
    for how in cuts(post):
        labels, _ = partitions.cut_labels(post.children, post.times, check_cut(post.n, **how))
        assert labels.tolist() == brute_partitions(post, how)
        assert labels.tolist() == [tree.cut(**how).tolist() for tree in post.trees]


def test_coclustering(post, monkeypatch):
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


def test_strays_are_settled_in_every_tree():
    """By the tree alone where there are no rows; outliers are in nobody's company, but in their own."""
    post = random_posterior(6, n=12, n_trees=30, weighted=False)
    for k, m in [(2, 2), (2, 4), (3, 3)]:
        for outliers in (False, True):
            how = check_cut(post.n, k, None, m, outliers)
            labels, used = partitions.cut_labels(post.children, post.times, how)
            trees = [tree.cut(k, min_size=int(least)) for tree, least in zip(post.trees, used, strict=True)]
            if outliers:
                trees = [
                    tree.cut(k, min_size=int(least), outliers=True)
                    for tree, least in zip(post.trees, used, strict=True)
                ]
            assert labels.tolist() == [row.tolist() for row in trees]
            together = post.coclustering(k, min_size=m, outliers=outliers)
            expected = np.mean([(row[:, None] == row) & (row >= 0) for row in labels], axis=0)
            np.fill_diagonal(expected, 1.0)
            np.testing.assert_allclose(together, expected, atol=1e-12)


def test_strays_join_the_nearest_centre():
    """Leaf 8 hangs above both clades of four; the tree gives it to the later, its row to the other."""
    children = [[0, 1], [2, 3], [9, 10], [4, 5], [6, 7], [12, 13], [11, 14], [15, 8]]
    post = ct.Posterior([children], [np.arange(1.0, 9.0)])
    how = check_cut(9, 2, None, 2, False)
    by_tree, _ = partitions.cut_labels(post.children, post.times, how)
    assert by_tree.tolist() == [[0, 0, 0, 0, 1, 1, 1, 1, 1]]
    for rows, expected in [([0, 1, 0, 1, 8, 9, 8, 9, 3], 0), ([0, 1, 0, 1, 8, 9, 8, 9, 6], 1)]:
        labels, _ = partitions.cut_labels(post.children, post.times, how, np.array(rows, dtype=float)[:, None])
        assert labels[0, 8] == expected
        full = ct.Posterior(
            [children],
            [np.arange(1.0, 9.0)],
            X=np.array(rows)[:, None],
            covariance=ct.Spherical(amplitude=1.0, learn=False),
        )
        assert full.cut(2, min_size=2)[8] == expected
        np.testing.assert_array_equal(full.coclustering(2, min_size=2)[8, [0, 4]], [1 - expected, expected])
    assert post.cut(2, min_size=2, outliers=True).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, -1]


def test_an_outlier_is_too_far_for_heavy_tails():
    """Against the rule taken word for word; some strays are outliers and some are not, as are some other leaves."""
    rng = np.random.default_rng(3)
    post = random_posterior(6, n=20, n_trees=100, weighted=False)
    rows = rng.standard_normal((20, 3))
    rows[:4] *= np.array([20.0, 50.0, 100.0, 200.0])[:, None]
    limit = stats.f.ppf(0.99, 3, 4) / stats.f.ppf(0.5, 3, 4)
    strays, _ = partitions.cut_labels(post.children, post.times, check_cut(20, 2, None, 5, True))
    found, _ = partitions.cut_labels(post.children, post.times, check_cut(20, 2, None, 5, True), rows)
    count = np.zeros((2, 2), dtype=int)
    for before, after in zip(strays, found, strict=True):
        members = [np.flatnonzero(before == a) for a in range(2)]
        centres = [rows[own].mean(axis=0) for own in members]
        squared = [((rows[own] - centre) ** 2).sum(axis=1) for own, centre in zip(members, centres, strict=True)]
        expected = before.copy()
        for i in range(20):
            to = [((rows[i] - centre) ** 2).sum() for centre in centres]
            a = int(np.argmin(to))
            is_far = to[a] > limit * max(np.median(squared[a]), np.median(np.concatenate(squared)))
            count[int(before[i] < 0), int(is_far)] += 1
            expected[i] = -1 if is_far else a if before[i] < 0 else before[i]
        np.testing.assert_array_equal(after, canonical(expected))
    assert count.min() > 10


def test_rows_of_more_columns_than_leaves_keep_their_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 20))
    post = random_posterior(1, n=6, X=X, covariance=ct.Spherical(amplitude=4.0, learn=False))
    rows = post.stray_rows
    assert rows.shape == (6, 6)
    np.testing.assert_allclose(
        np.linalg.norm(rows[:, None] - rows, axis=2), np.linalg.norm(X[:, None] - X, axis=2) / 2, atol=1e-12
    )
    assert random_posterior(1, n=6, X=X).stray_rows is None


def test_replicates_are_one_leaf_at_their_mean():
    """Six leaves of two rows each; without noise of their own rows count the same."""
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(6, 2)), 2, axis=0) + 0.1 * rng.normal(size=(12, 2))
    post = ct.fit(
        X, ct.Spherical(amplitude=1.0, learn=False), noise=0.01, groups=np.repeat(np.arange(6), 2),
        n_samples=5, n_warmup=2, n_chains=1, random_state=0, progress=False,
    )  # fmt: skip
    means = X.reshape(6, 2, 2).mean(axis=1)
    np.testing.assert_allclose(post.stray_rows, means - means.mean(axis=0), atol=1e-12)
    assert post.cut(2).shape == (6,)


def test_canonical_keeps_outliers():
    assert canonical(np.array([-1, 5, 5, 2, -1, 0])).tolist() == [-1, 0, 0, 1, -1, 2]
    assert canonical(np.array([5, 5, 2])).tolist() == [0, 0, 1]
    assert canonical(np.array(["-1", "a", "-1"])).tolist() == [0, 1, 0]


def test_strays_look_at_the_values_of_leaves_not_of_rows():
    """Rows say as much as their noise lets them: an odd row hardly moves its leaf."""
    post = grouped_posterior()
    draw = int(np.argmax(post.log_joint))
    rows = partitions.whitened_rows(post)
    assert rows.shape == (post.n, 3)
    weight = 1.0 / post.row_variances(draw)
    mean = np.array([np.average(post.X[post.groups == i], axis=0, weights=weight[post.groups == i]) for i in range(7)])
    expected = (mean - mean.mean(axis=0)) / np.sqrt(post.theta["amplitude"].mean())
    np.testing.assert_allclose(rows, expected)
    assert post.cut(2).shape == (7,)
