"""The partition with least expected loss, against enumeration of all partitions of a few leaves."""

import itertools

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster

import coaltree as ct
from coaltree.model.coalescent import simulate_tree
from coaltree.posterior import best_partition as best
from coaltree.posterior import partitions
from coaltree.tree.merges import canonical, check_cut
from tests.posteriors import brute_partitions, cuts, random_posterior
from tests.reference import summaries


@pytest.fixture(params=[(0, 7), (1, 6), (2, 3), (3, 2)], ids=lambda p: f"seed{p[0]}-n{p[1]}")
def post(request):
    return random_posterior(request.param[0], n=request.param[1])


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
                score = best._terms_of(c, labels, post.weights, f) / post.n
            else:
                score = best._binder_within(c, together)
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
        found = post.cut(**how, loss=loss)
        assert found.tolist() == canonical(found).tolist()
        if "n_clusters" in how:
            assert found.max() + 1 == how["n_clusters"]
        assert expected_loss(found.tolist(), sampled, post.weights, loss) == pytest.approx(min(losses), abs=1e-12)


def noisy_partitions(rng, n=60, k=4, n_samples=300, noise=0.15):
    truth = canonical(rng.integers(k, size=n))
    labels = np.where(rng.random((n_samples, n)) < noise, rng.integers(k, size=(n_samples, n)), truth)
    weights = rng.random(n_samples)
    return truth, np.array([canonical(row) for row in labels], dtype=np.int32), weights / weights.sum()


@pytest.mark.parametrize("loss", ["vi", "binder"])
@pytest.mark.parametrize("fixed_number", [True, False])
def test_moves_find_a_truth_that_no_sample_shows(loss, fixed_number):
    truth, labels, weights = noisy_partitions(np.random.default_rng(0))
    together = (labels[:, :, None] == labels[:, None, :]).T @ weights
    assert not (labels == truth).all(axis=1).any()
    found = best.best_partition(labels, weights, loss=loss, together=together, fixed_number=fixed_number)
    assert found.tolist() == truth.tolist()


def test_screening_and_no_matrix_still_find_it(monkeypatch):
    """Where there are too many candidates to score, and where n² is too much."""
    truth, labels, weights = noisy_partitions(np.random.default_rng(1))
    monkeypatch.setattr(best, "_EXACT_WORK", 1000)
    together = (labels[:, :, None] == labels[:, None, :]).T @ weights
    for matrix in (together, None):
        found = best.best_partition(labels, weights, loss="vi", together=matrix, fixed_number=True)
        assert found.tolist() == truth.tolist()


@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_many_leaves_need_no_matrix(monkeypatch, loss):
    """Above LARGEST_DENSE there is no P, and the answer is hardly worse."""
    post = random_posterior(5, n=40, n_trees=20)
    sampled = brute_partitions(post, {"n_clusters": 4})
    found = expected_loss(post.cut(4, min_size=1, loss=loss).tolist(), sampled, post.weights, loss)
    monkeypatch.setattr("coaltree.posterior.clusters.LARGEST_DENSE", 10)
    monkeypatch.setattr("coaltree._runtime.memory.available_bytes", lambda: 40 * 40 * 8)
    again = expected_loss(post.cut(4, min_size=1, loss=loss).tolist(), sampled, post.weights, loss)
    assert again <= found * 1.2
    with pytest.raises(ct.InputError, match=r"cut\(\) and membership\(\) need none"):
        post.coclustering(4)


def test_binders_loss_is_the_same_from_samples_and_from_the_matrix(monkeypatch):
    truth, labels, weights = noisy_partitions(np.random.default_rng(2))
    together = (labels[:, :, None] == labels[:, None, :]).T @ weights
    for matrix in (together, None):
        assert best.best_partition(labels, weights, together=matrix).tolist() == truth.tolist()


@pytest.mark.parametrize("loss", ["vi", "binder"])
@pytest.mark.parametrize("outliers", [False, True])
def test_every_cluster_has_its_least_size_and_the_loss_is_near_the_least(loss, outliers):
    """All partitions of seven leaves into k clusters of at least two, with or without leaves in none of them."""
    for seed in range(4):
        post = random_posterior(seed, n=7, n_trees=8)
        how = check_cut(7, 2, None, 2, outliers)
        labels, used = partitions.cut_labels(post.children, post.times, how)
        if (used < 2).any():
            continue
        sampled = [alone(row) for row in labels.tolist()]
        losses = []
        for c in summaries.all_partitions(7):
            sizes = np.bincount(c)
            single = sizes == 1
            allowed = not single.any() and len(sizes) == 2
            if outliers:
                allowed = (~single).sum() == 2
            if allowed:
                losses.append(expected_loss(c, sampled, post.weights, loss))
        found = post.cut(2, min_size=2, outliers=outliers, loss=loss)
        assert found.max() == 1
        assert np.bincount(found[found >= 0]).min() >= 2
        value = expected_loss(alone(found.tolist()), sampled, post.weights, loss)
        assert value <= 1.05 * min(losses) + 1e-12


def alone(labels):
    """Every outlier as a cluster of its own."""
    return [label if label >= 0 else -1 - i for i, label in enumerate(labels)]


def test_few_true_splits_are_said():
    """In chains no merge but the first has two leaves on both sides."""
    chain = [[0, 1], [8, 2], [9, 3], [10, 4], [11, 5], [12, 6], [13, 7]]
    post = ct.Posterior([chain] * 3, [np.arange(1.0, 8.0)] * 3)
    with pytest.warns(
        ct.ClusterSizeWarning, match="At least half of the trees have too few splits with 4 leaves"
    ) as caught:
        labels = post.cut(2, min_size=4)
    assert (caught[0].message.asked, caught[0].message.min_size) == (4, 1)
    assert labels.tolist() == [0] * 7 + [1]


def test_cut_refuses():
    post = random_posterior(0)
    for how, message in [
        ({}, "not neither"),
        ({"n_clusters": 2, "time": 1.0}, "not both"),
        ({"n_clusters": 0}, "from 1 to 7"),
        ({"n_clusters": 8}, "from 1 to 7"),
        ({"n_clusters": 2.5}, "whole number"),
        ({"time": "late"}, "must be a number"),
        ({"n_clusters": 2, "loss": "zero-one"}, '"binder" or "vi"'),
    ]:
        with pytest.raises(ct.InputError, match=message):
            post.cut(**how)


def test_cut_of_one_tree_is_scipys():
    """With a single tree the best partition is that tree's own."""
    post = random_posterior(3, n=9, n_trees=1, weighted=False)
    tree = post.trees[0]
    for k in range(1, 10):
        scipy_labels = canonical(fcluster(tree.to_linkage(), k, "maxclust"))
        for loss in ("vi", "binder"):
            np.testing.assert_array_equal(post.cut(n_clusters=k, min_size=1, loss=loss), scipy_labels)


@pytest.mark.parametrize("loss", ["vi", "binder"])
@pytest.mark.parametrize("outliers", [False, True])
def test_the_order_of_the_leaves_does_not_matter(loss, outliers):
    post = random_posterior(9, n=40, n_trees=60)
    shuffled = np.random.default_rng(0).permutation(40)  # leaf i becomes leaf shuffled[i]
    number = np.append(shuffled, np.arange(40, 79))
    other = ct.Posterior(number[post.children], post.times, log_weights=post.log_weights)
    how = {"min_size": 3, "outliers": outliers}
    a, b = post.cut(4, loss=loss, **how), other.cut(4, loss=loss, **how)[shuffled]
    np.testing.assert_array_equal(a, canonical(b))
    np.testing.assert_allclose(
        post.coclustering(4, **how), other.coclustering(4, **how)[np.ix_(shuffled, shuffled)], atol=1e-12
    )
    np.testing.assert_allclose(
        post.membership(a, **how).max(axis=1),
        other.membership(b[np.argsort(shuffled)], **how).max(axis=1)[shuffled],
        atol=1e-12,
    )


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["vi", "binder"])
def test_a_hundred_thousand_leaves(loss, monkeypatch):
    """Ten sure groups, random inside, and a stray above them all; nothing of size n × n is made."""
    n, k = 100_000, 10
    rng = np.random.default_rng(0)
    group = np.sort(rng.integers(k, size=n - 1))
    children, times = [], []
    for _ in range(8):
        pairs, tops = [], []
        for a in range(k):
            members = np.flatnonzero(group == a)
            inner = simulate_tree(len(members), rng).children
            names = np.concatenate([members, n + len(pairs) + np.arange(len(inner))])
            pairs.extend(names[inner].tolist())
            tops.append(n + len(pairs) - 1)
        for top in tops[1:]:
            pairs.append([n + len(pairs) - 1 if len(pairs) > n - 1 - k else tops[0], top])
        pairs.append([2 * n - 3, n - 1])
        children.append(pairs)
        times.append(np.arange(1.0, n))
    post = ct.Posterior(np.array(children), np.array(times))
    monkeypatch.setattr("coaltree._runtime.memory.available_bytes", lambda: 8 * n * 100)
    labels = post.cut(k, loss=loss)
    assert labels[:-1].tolist() == group.tolist()
    named = post.cut(k, outliers=True, loss=loss)
    assert named[-1] == -1
    np.testing.assert_array_equal(named[:-1], group)
    np.testing.assert_allclose(post.membership(named).sum(axis=1), 1.0)
    assert post.stability(named).words == ("stable",) * k
    assert post.clade_support(post.mean_tree(), kind="transfer")[-2] == 1.0
