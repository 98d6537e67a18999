"""Stability and membership against matching by trying all, and what they must always be."""

import warnings

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior import partitions, sureness
from coaltree.tree.merges import check_cut
from tests.posteriors import random_posterior
from tests.reference import summaries


def by_matching(post, labels, outliers, min_size=2):
    """(memberships, similarities) of each tree, for a matching that shares the most leaves."""
    k = len(set(labels.tolist()) - {-1})
    sampled, _ = partitions.cut_labels(post.children, post.times, check_cut(post.n, k, None, min_size, outliers))
    for row in sampled.tolist():
        options = []
        for match in summaries.matching(labels.tolist(), row):
            to = {b: a for a, b in match.items()}
            in_cluster = np.array([to.get(label, k) for label in row])
            own = [set(np.flatnonzero(labels == a)) for a in range(k)]
            found = [set(np.flatnonzero(in_cluster == a)) for a in range(k)]
            options.append((in_cluster, [len(a & b) / len(a | b) for a, b in zip(own, found, strict=True)]))
        yield options


@pytest.mark.parametrize("outliers", [False, True])
@pytest.mark.parametrize(("seed", "k"), [(0, 2), (1, 3), (2, 4), (3, 1)])
def test_against_trying_all_matchings(seed, k, outliers):
    post = random_posterior(seed, n=12, n_trees=15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.ClusterSizeWarning)
        labels = post.cut(k, min_size=2, outliers=outliers)
    options = list(by_matching(post, labels, outliers))
    untied = np.array([len(some) == 1 for some in options])
    post = post[untied]
    expected = np.zeros((12, k + outliers))
    jaccard = np.zeros(k)
    for (only,), weight in zip([some for some in options if len(some) == 1], post.weights, strict=True):
        expected[np.arange(12), only[0]] += weight
        jaccard += weight * np.array(only[1])
    found = post.membership(labels, min_size=2, outliers=outliers)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    stability = post.stability(labels, min_size=2, outliers=outliers)
    np.testing.assert_allclose(stability.jaccard, jaccard, atol=1e-12)
    assert (stability.interval[:, 0] <= stability.interval[:, 1]).all()
    np.testing.assert_array_equal(stability.sizes, np.bincount(labels[labels >= 0]))


def test_a_certain_partition_is_stable_and_its_members_are_sure():
    post = random_posterior(0, n=12, n_trees=1, weighted=False)
    labels = post.cut(3, min_size=1)
    stability = post.stability(labels, min_size=1)
    assert stability.words == ("stable",) * 3
    np.testing.assert_array_equal(stability.jaccard, 1.0)
    np.testing.assert_array_equal(stability.interval, 1.0)
    np.testing.assert_array_equal(post.membership(labels, min_size=1), np.eye(3)[labels])


def test_labels_may_be_of_any_kind():
    post = random_posterior(4, n=10)
    labels = post.cut(3, min_size=1)
    names = np.array(["a", "b", "c"])[labels]
    np.testing.assert_array_equal(post.membership(names, min_size=1), post.membership(labels, min_size=1))
    assert post.stability(names, min_size=1).clusters.tolist() == ["a", "b", "c"]


def test_outliers_have_a_column_if_there_are_any_or_they_are_asked_for():
    post = random_posterior(7, n=12, n_trees=20)
    labels = np.array([0] * 5 + [1] * 6 + [-1])
    assert post.membership(labels, min_size=2).shape == (12, 3)
    assert post.membership(np.maximum(labels, 0), min_size=2).shape == (12, 2)
    wide = post.membership(np.maximum(labels, 0), min_size=2, outliers=True)
    assert wide.shape == (12, 3)
    np.testing.assert_allclose(wide.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("jaccard", "word"), [(1.0, "stable"), (0.85, "stable"), (0.84, "doubtful"), (0.6, "doubtful"), (0.5, "dissolved")]
)
def test_words(jaccard, word):
    assert sureness.in_a_word(jaccard) == word


def test_what_is_refused():
    post = random_posterior(0)
    for labels, message in [
        (np.zeros(3), "one cluster for each of the 7"),
        (np.full(7, -1), "at least one cluster"),
        (["a", None, 1, "b", "a", "a", "b"], "all numbers or all names"),
    ]:
        with pytest.raises(ct.InputError, match=message):
            post.membership(labels)
    with pytest.raises(ct.InputError, match="level must be"):
        post.stability(np.zeros(7, int), level=2)
