"""Clusters from a posterior, against enumeration of all partitions of a few leaves."""

import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster

import coaltree as ct
from coaltree.posterior import partitions
from tests.posteriors import listed, random_posterior
from tests.reference import summaries


@pytest.fixture(params=[(0, 7), (1, 6), (2, 3), (3, 2)], ids=lambda p: f"seed{p[0]}-n{p[1]}")
def post(request):
    return random_posterior(request.param[0], n=request.param[1])


def cuts(post):
    median = float(np.median(post.times))
    return [{"n_clusters": k} for k in range(1, post.n + 1)] + [{"time": t} for t in (0.0, median, 1e9)]


def brute_partitions(post, how):
    return [summaries.cut(children, times, **how) for children, times in listed(post)]


def test_labels_of_every_tree(post):
    for how in cuts(post):
        labels = partitions.cut_labels(post.children, post.times, **how)
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
    expected = summaries.coclustering(brute_partitions(post, {"n_clusters": 9}), post.weights)
    np.testing.assert_allclose(post.coclustering(n_clusters=9), expected, atol=1e-14)


SINGLE = {"vi": summaries.variation_of_information, "binder": summaries.binder}


def expected_loss(candidate, sampled, weights, loss):
    return sum(w * SINGLE[loss](list(candidate), list(s)) for s, w in zip(sampled, weights, strict=True))


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_scores_of_candidates_are_their_expected_losses_less_a_constant(post, loss):
    x = np.arange(post.n + 2)
    f = x * np.log(np.maximum(x, 1.0))
    for how in cuts(post):
        sampled = brute_partitions(post, how)
        labels = np.array(sampled, dtype=np.int32)
        together = post.coclustering(**how)
        less = []
        for candidate in itertools.islice(summaries.all_partitions(post.n), 0, None, 29):
            c = np.array(candidate, dtype=np.int32)
            if loss == "vi":
                score = partitions._terms_of(c, labels, post.weights, f) / post.n
            else:
                score = partitions._binder_within(c, together)
            less.append(expected_loss(candidate, sampled, post.weights, loss) - score)
        np.testing.assert_allclose(less, less[0], atol=1e-12)


@pytest.mark.parametrize("loss", ["vi", "binder"])
@pytest.mark.parametrize("seed", range(6))
def test_cut_finds_the_best_of_all_partitions(seed, loss):
    post = random_posterior(seed, n=6)
    for how in cuts(post):
        sampled = brute_partitions(post, how)
        losses = [
            expected_loss(c, sampled, post.weights, loss)
            for c in summaries.all_partitions(post.n)
            if "time" in how or max(c) + 1 == how["n_clusters"]
        ]
        best = post.cut(**how, loss=loss)
        assert best.tolist() == partitions.canonical(best).tolist()
        if "n_clusters" in how:
            assert best.max() + 1 == how["n_clusters"]
        assert expected_loss(best.tolist(), sampled, post.weights, loss) == pytest.approx(min(losses), abs=1e-12)


def noisy_partitions(rng, n=60, k=4, n_samples=300, noise=0.15):
    truth = partitions.canonical(rng.integers(k, size=n))
    labels = np.where(rng.random((n_samples, n)) < noise, rng.integers(k, size=(n_samples, n)), truth)
    weights = rng.random(n_samples)
    return truth, np.array([partitions.canonical(row) for row in labels], dtype=np.int32), weights / weights.sum()


@pytest.mark.parametrize("loss", ["vi", "binder"])
@pytest.mark.parametrize("fixed_number", [True, False])
def test_moves_find_a_truth_that_no_sample_shows(loss, fixed_number):
    truth, labels, weights = noisy_partitions(np.random.default_rng(0))
    together = (labels[:, :, None] == labels[:, None, :]).T @ weights
    assert not (labels == truth).all(axis=1).any()
    best = partitions.best_partition(labels, weights, loss=loss, together=together, fixed_number=fixed_number)
    assert best.tolist() == truth.tolist()


def test_screening_and_no_matrix_still_find_it(monkeypatch):
    """Where there are too many candidates to score, and where n² is too much."""
    truth, labels, weights = noisy_partitions(np.random.default_rng(1))
    monkeypatch.setattr(partitions, "_EXACT_WORK", 1000)
    together = (labels[:, :, None] == labels[:, None, :]).T @ weights
    for matrix in (together, None):
        best = partitions.best_partition(labels, weights, loss="vi", together=matrix, fixed_number=True)
        assert best.tolist() == truth.tolist()


def test_many_leaves_need_no_matrix(monkeypatch):
    """Above LARGEST_DENSE the variation of information does without P, and Binder's loss says what it lacks."""
    post = random_posterior(5, n=40, n_trees=20)
    sampled = brute_partitions(post, {"n_clusters": 4})
    best = expected_loss(post.cut(4).tolist(), sampled, post.weights, "vi")
    monkeypatch.setattr(partitions, "LARGEST_DENSE", 10)
    monkeypatch.setattr("coaltree._runtime.memory.available_bytes", lambda: 40 * 40 * 8)
    assert expected_loss(post.cut(4).tolist(), sampled, post.weights, "vi") <= best * 1.2
    with pytest.raises(ct.InputError, match=r'cut\(loss="vi"\) needs none'):
        post.cut(n_clusters=4, loss="binder")


def test_cut_refuses():
    post = random_posterior(0)
    for how, message in [
        ({}, "not neither"),
        ({"n_clusters": 2, "time": 1.0}, "not both"),
        ({"n_clusters": 0}, "from 1 to 7"),
        ({"n_clusters": 8}, "from 1 to 7"),
        ({"n_clusters": 2.5}, "whole number"),
        ({"time": "late"}, "must be a number"),
        ({"n_clusters": 2, "loss": "zero-one"}, '"vi" or "binder"'),
    ]:
        with pytest.raises(ct.InputError, match=message):
            post.cut(**how)


def test_cut_of_one_tree_is_scipys():
    """With a single tree the best partition is that tree's own."""
    post = random_posterior(3, n=9, n_trees=1, weighted=False)
    tree = post.trees[0]
    for k in range(1, 10):
        scipy_labels = partitions.canonical(fcluster(tree.to_linkage(), k, "maxclust"))
        for loss in ("vi", "binder"):
            np.testing.assert_array_equal(post.cut(n_clusters=k, loss=loss), scipy_labels)
