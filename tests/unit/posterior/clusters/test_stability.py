"""Stability and membership against their definitions, and what they must always be."""

import warnings

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.clusters import partitions, stability
from coaltree.tree.cuts import check_cut
from tests.posteriors import random_posterior
from tests.reference import summaries


def cut(post, k, outliers, min_size=2):
    return partitions.cut_labels(post.children, post.times, check_cut(post.n, k, None, min_size, outliers))


def all_cuts(post, labels, outliers):
    """(T, n) for as many clusters, one fewer, one more and two more."""
    k = len(set(labels.tolist()) - {-1})
    return [cut(post, number, outliers) for number in (range(max(2, k - 1), k + 3) if k > 1 else (1,))]


def by_looking(post, labels, outliers):
    """(T, k) the Jaccard similarity with the most similar set of each tree's cuts."""
    k = len(set(labels.tolist()) - {-1})
    own = [set(np.flatnonzero(labels == a)) for a in range(k)]
    cuts = all_cuts(post, labels, outliers)
    found = np.zeros((len(post), k))
    for t in range(len(post)):
        sets = [set(np.flatnonzero(rows[t] == b)) for rows in cuts for b in range(rows[t].max() + 1)]
        found[t] = [max(len(a & b) / len(a | b) for b in sets) for a in own]
    return found


@pytest.mark.parametrize("outliers", [False, True])
@pytest.mark.parametrize(("seed", "k"), [(0, 2), (1, 3), (2, 4), (3, 1)])
def test_stability_and_membership_are_those_of_the_definitions(seed, k, outliers):
    post = random_posterior(seed, n=12, n_trees=15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.ClusterSizeWarning)
        labels = post.cut(k, outliers=outliers)
    stability = post.stability(labels, min_size=2, outliers=outliers)
    similarity = by_looking(post, labels, outliers)
    np.testing.assert_allclose(stability.jaccard, post.weights @ similarity, atol=1e-12)
    assert (stability.interval[:, 0] <= stability.interval[:, 1]).all()
    assert np.isin(stability.interval, similarity).all()
    np.testing.assert_array_equal(stability.sizes, np.bincount(labels[labels >= 0]))
    most = k + 2 if k > 1 else 1
    cuts = [cut(post, number, outliers) for number in range(1, most + 1)]
    options = [
        summaries.stands_for(labels.tolist(), [rows[t].tolist() for rows in cuts], range(k, most + 1))
        for t in range(len(post))
    ]
    certain = np.array([len(some) == 1 for some in options])  # where no other matching is as good
    assert certain.sum() >= 5
    expected = np.zeros((12, k + outliers))
    for (only,), weight in zip([some for some in options if len(some) == 1], post[certain].weights, strict=True):
        expected[np.arange(12), only] += weight
    found = post[certain].membership(labels, min_size=2, outliers=outliers)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_stability_of_a_cluster_where_another_one_is_split_first():
    # (0 1) and (2 3) meet before the halves of (4 … 7) do: cut into three, these halves are clusters
    children = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13]]
    post = ct.Posterior(np.array([children]), np.array([[1.0, 1.1, 1.2, 1.3, 2.0, 3.0, 9.0]]))
    np.testing.assert_array_equal(post.stability(np.array([0, 0, 1, 1, 2, 2, 2, 2])).jaccard[:2], 1.0)
    np.testing.assert_array_equal(post.stability(np.array([0, 1, 0, 1, 2, 2, 2, 2])).jaccard[:2], 0.5)


def test_membership_is_sure_of_a_cluster_that_a_tree_has_in_parts():
    children = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13]]
    post = ct.Posterior(np.array([children]), np.array([[1.0, 1.1, 1.2, 1.3, 2.0, 3.0, 9.0]]))
    labels = np.array([0, 0, 1, 1, 2, 2, 2, 2])
    np.testing.assert_array_equal(post.membership(labels), np.eye(3)[labels])
    halves = np.array([0, 1, 0, 1, 2, 2, 2, 2])
    assert (post.membership(halves)[np.arange(4), halves[:4]] < 1).any()


def test_stability_and_membership_of_a_certain_partition_are_one():
    post = random_posterior(0, n=12, n_trees=1, weighted=False)
    labels = post.cut(3)
    stability = post.stability(labels, min_size=1)
    assert stability.words == ("stable",) * 3
    np.testing.assert_array_equal(stability.jaccard, 1.0)
    np.testing.assert_array_equal(stability.interval, 1.0)
    np.testing.assert_array_equal(post.membership(labels, min_size=1), np.eye(3)[labels])


def test_read_labels_of_any_kind():
    post = random_posterior(4, n=10)
    labels = post.cut(3)
    names = np.array(["a", "b", "c"])[labels]
    np.testing.assert_array_equal(post.membership(names, min_size=1), post.membership(labels, min_size=1))
    assert post.stability(names, min_size=1).clusters.tolist() == ["a", "b", "c"]


def test_membership_has_a_column_for_outliers_if_there_are_any_or_they_are_asked_for():
    post = random_posterior(7, n=12, n_trees=20)
    labels = np.array([0] * 5 + [1] * 6 + [-1])
    assert post.membership(labels, min_size=2).shape == (12, 3)
    assert post.membership(np.maximum(labels, 0), min_size=2).shape == (12, 2)
    wide = post.membership(np.maximum(labels, 0), min_size=2, outliers=True)
    assert wide.shape == (12, 3)
    np.testing.assert_allclose(wide.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("jaccard", "low", "word"),
    [
        (1.0, 1.0, "stable"),
        (0.85, 0.75, "stable"),
        (0.85, 0.74, "doubtful"),
        (0.99, 0.2, "doubtful"),
        (0.84, 0.8, "doubtful"),
        (0.6, 0.0, "doubtful"),
        (0.59, 0.1, "dissolved"),
    ],
)
def test_in_a_word_follows_the_limits(jaccard, low, word):
    assert stability.in_a_word(jaccard, low) == word


@pytest.mark.parametrize(("n_others", "word"), [(0, "stable"), (4, "stable"), (6, "doubtful"), (90, "dissolved")])
def test_stability_word_needs_the_lower_end_of_the_90_percent_interval(n_others, word):
    # Of a hundred trees some have (0 4) and (1 5) in place of (0 1), which has a similarity of 1 / 2 with a leaf alone.
    same = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    other = [[0, 4], [1, 5], [2, 3], [6, 7], [8, 9]]
    children = np.array([other] * n_others + [same] * (100 - n_others))
    post = ct.Posterior(children, np.tile([1.0, 1.1, 1.2, 3.0, 5.0], (100, 1)))
    labels = np.array([0, 0, 1, 1, 2, 2])
    for level in (0.5, 0.9, 0.99):  # which is of the interval that is shown
        assert post.stability(labels, level=level, min_size=2).words[0] == word


def test_read_labels_refuses_what_is_no_partition():
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


def test_similarity_is_printed_on_its_side_of_the_limits():
    printed = {0.849: "0.84", 0.8499999: "0.84", 0.85: "0.85", 0.851: "0.85", 0.5999: "0.59", 0.6: "0.60", 1.0: "1.00"}
    assert {value: stability.similarity(value) for value in printed} == printed
    assert stability.similarity(0.784999) == "0.78" and stability.similarity(0.786) == "0.79"
    assert [stability.lower_end(value) for value in (0.7499, 0.75, 0.849)] == ["0.74", "0.75", "0.85"]


def test_most_similar_of_some_trees_at_a_time_makes_no_difference(monkeypatch):
    post = random_posterior(5, n=12, n_trees=15)
    labels = np.arange(12) % 4
    at_once = post.stability(labels, min_size=2)
    monkeypatch.setattr(stability, "_MAX_PAIRS_AT_ONCE", 50)  # two trees, and one
    in_parts = post.stability(labels, min_size=2)
    np.testing.assert_array_equal(in_parts.jaccard, at_once.jaccard)
    np.testing.assert_array_equal(in_parts.interval, at_once.interval)


@pytest.mark.parametrize(
    ("word", "mean", "low", "said"),
    [
        ("stable", 0.97, 0.9, "stable, 0.97"),
        ("doubtful", 0.97, 0.62, "doubtful, 0.97, from 0.62"),
        ("doubtful", 0.7, 0.5, "doubtful, 0.70"),
        ("dissolved", 0.4, 0.3, "dissolved, 0.40"),
    ],
)
def test_with_word_has_the_figure_that_decided_it(word, mean, low, said):
    assert stability.with_word(word, mean, low) == said


def test_stability_has_a_short_repr_and_counts_from_1():
    numbers = np.array([5, 7]), np.array([0.98, 0.71]), np.array([[0.9, 1.0], [0.5, 0.9]]), ("stable", "doubtful")
    found = stability.ClusterStability(np.array([0, 1]), *numbers)
    assert repr(found) == "<ClusterStability: 1 stable (0.98), 2 doubtful (0.71)>"
    assert "<th>2</th>" in found._repr_html_() and "<th>0</th>" not in found._repr_html_()
    assert stability.ClusterStability(np.array([3, 9]), *numbers).names == ["3", "9"]  # somebody's own
    assert stability.ClusterStability(np.array(["a", "b"]), *numbers).names == ["a", "b"]


def test_read_partition_reads_labels_and_cuts_all_trees():
    post = random_posterior(2)
    reference, cut_into, outliers = stability.read_partition(post, [0, 0, 1, 1, 1, 2, -1], min_size=1)
    assert outliers and reference.clusters.tolist() == [0, 1, 2]
    assert cut_into(3).shape == (12, 7)
    assert cut_into(3) is cut_into(3)
