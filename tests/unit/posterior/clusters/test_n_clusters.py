"""The suggested number of clusters: by its definition, and of simulated groups."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

import coaltree as ct
from coaltree.model.process.coalescent import simulate_tree
from coaltree.posterior.clusters import n_clusters
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import random_posterior, stacked


def blobs(rng, k, n, d, apart):
    return apart * rng.standard_normal((k, d))[np.arange(n) % k] + rng.standard_normal((n, d))


def perturbed(X, rng, n_trees=20, noise=1.0):
    """A posterior without data: average linkages of rows that were moved a little."""
    return stacked(
        [ct.Tree.from_linkage(linkage(X + noise * rng.normal(size=X.shape), "average")) for _ in range(n_trees)]
    )


@pytest.mark.parametrize("seed", range(5))
def test_suggest_n_clusters_is_the_largest_number_whose_least_stable_cluster_is_stable_enough(seed):
    post = random_posterior(seed, n=30, n_trees=40)
    suggested = post.suggest_n_clusters()
    table = suggested.candidates
    assert table.dtype.names == ("n_clusters", "stability")
    assert table["n_clusters"].tolist() == list(range(2, len(table) + 2))
    stabilities = [post.stability(post.cut(k)) for k in table["n_clusters"].tolist()]
    by_chance = [1 / stability.sizes for stability in stabilities]
    expected = [((stability.jaccard - c) / (1 - c)).min() for stability, c in zip(stabilities, by_chance, strict=True)]
    np.testing.assert_allclose(table["stability"], expected, atol=1e-12)
    enough = [k for k, least in table.tolist() if least >= n_clusters.MIN_STABILITY]
    assert suggested.n_clusters == max(enough, default=1)
    assert suggested.low <= suggested.n_clusters <= suggested.high
    if len(table) < 9:  # a third of the leaves
        assert np.bincount(post.cut(len(table) + 2)).min() == 1
    assert all(np.bincount(post.cut(k)).min() > 1 for k in table["n_clusters"].tolist())


def test_a_pair_that_no_tree_has_is_worth_nothing():
    """Each of its rows is a clade of every tree, with a similarity of one half."""
    children = np.array([[[0, 2], [1, 3], [4, 5], [6, 8], [7, 9]], [[0, 3], [1, 2], [4, 5], [6, 8], [7, 9]]])
    post = posterior_of_trees(children, np.tile(np.arange(1.0, 6.0), (2, 1)))
    pairs = [np.array([0, 0, 1, 1, 1, 1])]
    least, _ = n_clusters.least_stability(post, pairs)
    assert post.stability(pairs[0]).jaccard.min() == 0.5
    assert least[0] == 0.0


@pytest.mark.parametrize(("k", "n", "d"), [(5, 100, 10), (8, 160, 20), (3, 60, 5)])
def test_suggest_n_clusters_counts_groups(k, n, d):
    rng = np.random.default_rng(6)
    suggested = perturbed(blobs(rng, k, n, d, 6.0), rng).suggest_n_clusters()
    assert (suggested.low, suggested.n_clusters, suggested.high) == (k, k, k)
    assert suggested.reason.startswith(f"{k} clusters: each is found in the sampled trees (least adjusted similarity ")
    assert f"; {k + 1} would not be (" in suggested.reason


def test_suggest_n_clusters_of_a_single_group_is_one():
    rng = np.random.default_rng(7)
    suggested = perturbed(rng.normal(size=(60, 5)), rng).suggest_n_clusters()
    assert suggested.n_clusters == 1
    assert suggested.reason.startswith("1 cluster: no larger number has clusters that are all found")


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_suggest_n_clusters_of_a_fit_with_missing_values():
    X = blobs(np.random.default_rng(3), 3, 45, 4, 4.0)
    X[0, 0] = np.nan
    post = ct.fit(X, n_samples=30, n_warmup=30, n_chains=1, random_state=0, progress=False)
    assert post.suggest_n_clusters().n_clusters == 3


@pytest.mark.parametrize(
    ("least", "errors", "expected", "numbers"),
    [
        ([0.9, 0.9, 0.3], [0.01] * 3, (3, 3, 3), "3 clusters"),
        ([0.9, 0.9, 0.74], [0.01] * 3, (3, 3, 4), "3 or 4 clusters"),
        ([0.9, 0.76, 0.3], [0.01] * 3, (2, 3, 3), "2 or 3 clusters"),
        ([0.9, 0.3, 0.76, 0.74], [0.01] * 4, (2, 4, 5), "2 or 4 or 5 clusters"),
        ([0.74], [0.01], (1, 1, 2), "1 or 2 clusters"),
        ([0.9, 0.3, 0.74], [0.01] * 3, (2, 2, 2), "2 clusters"),
        ([0.2, 0.3], [0.01] * 2, (1, 1, 1), "1 cluster"),
    ],
)
def test_suggestion_says_both_numbers_where_the_error_of_the_stability_leaves_it_open(least, errors, expected, numbers):
    suggested = n_clusters._suggestion(np.array(least), np.array(errors), "")
    assert (suggested.low, suggested.n_clusters, suggested.high) == expected
    assert suggested.numbers == numbers
    assert suggested.reason.startswith(numbers)
    assert ("With other draws" in suggested.reason) == (suggested.low < suggested.high)
    assert str(suggested) == suggested.reason
    assert repr(suggested) == f"<ClusterSuggestion: {suggested.reason.rstrip('.')}>"


def test_standard_error_is_that_of_independent_draws_and_larger_of_dependent_ones():
    rng = np.random.default_rng(0)
    post = random_posterior(0, n=4, n_trees=2000, weighted=False)
    values = rng.normal(size=2000)
    error = n_clusters._standard_error(post, values)
    assert error == pytest.approx(1 / np.sqrt(2000), rel=0.2)
    slow = np.repeat(values[::20], 20)
    in_chains = posterior_of_trees(post.draws.children, post.draws.times, chain=np.repeat([0, 1], 1000))
    assert n_clusters._standard_error(in_chains, slow) > 3 * error
    weighted = posterior_of_trees(
        post.draws.children, post.draws.times, log_weights=np.where(np.arange(2000) < 20, 0.0, -50.0)
    )
    assert n_clusters._standard_error(weighted, values) == pytest.approx(values[:20].std() / np.sqrt(20), rel=1e-6)


def test_suggest_n_clusters_ignores_trees_without_weight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 3)) + 20.0 * np.eye(3)[np.arange(45) % 3]
    trees = [simulate_tree(45, rng) for _ in range(50)]
    trees[20:30] = [ct.Tree.from_linkage(linkage(X + rng.normal(size=X.shape), "average")) for _ in range(10)]
    weights = np.full(50, -1e4)
    weights[20:30] = 0.0
    assert stacked(trees, log_weights=weights).suggest_n_clusters().n_clusters == 3


def test_suggest_n_clusters_of_one_tree_few_leaves_and_wrong_limits():
    one = random_posterior(0, n=30)[:1].suggest_n_clusters()
    assert (one.n_clusters, len(one.candidates)) == (1, 0)
    assert one.reason == "1 cluster: one tree cannot tell what is stable."
    few = random_posterior(0, n=5).suggest_n_clusters()
    assert (few.n_clusters, few.reason) == (1, "1 cluster: 5 leaves are too few to look for more.")
    post = random_posterior(0, n=12)
    assert len(post.suggest_n_clusters(max_clusters=2).candidates) == 1
    with pytest.raises(ct.InputError, match="max_clusters must be a whole number from 2 to 11"):
        post.suggest_n_clusters(max_clusters=12)
