"""The suggested number of clusters: by its definition, and of simulated groups."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

import coaltree as ct
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
def test_suggest_n_clusters_is_worth_most_of_those_without_a_dissolved_cluster(seed):
    rng = np.random.default_rng(seed)
    post = perturbed(blobs(rng, 3, 36, 4, 3.0), rng)
    suggested = post.suggest_n_clusters()
    table = suggested.candidates
    assert table.dtype.names == ("n_clusters", "stability", "worth")
    assert table["n_clusters"].tolist() == list(range(2, len(table) + 2))
    stabilities = [post.stability(post.cut(k)) for k in table["n_clusters"].tolist()]
    adjusted = [(s.jaccard - 1 / s.sizes) / (1 - 1 / s.sizes) for s in stabilities]
    np.testing.assert_allclose(table["stability"], [values.min() for values in adjusted], atol=1e-12)
    np.testing.assert_allclose(table["worth"], [(values - n_clusters.PRICE).sum() for values in adjusted], atol=1e-12)
    worth = {1: 1 - n_clusters.PRICE} | {
        k: worth
        for (k, _, worth), stability in zip(table.tolist(), stabilities, strict=True)
        if stability.jaccard.min() >= 0.6
    }
    assert suggested.n_clusters == max(worth, key=worth.get)
    assert suggested.low <= suggested.n_clusters <= suggested.high
    if len(table) < 11:  # a third of the leaves
        assert np.bincount(post.cut(len(table) + 2)).min() == 1
    assert all(np.bincount(post.cut(k)).min() > 1 for k in table["n_clusters"].tolist())


def test_a_group_that_most_draws_share_is_no_cluster_of_its_own():
    """Two blobs; in seven draws of ten the first has the same two parts: least similarity 0.77, not worth the price."""
    suggested = of_two_parts(280, 120).suggest_n_clusters()
    assert suggested.candidates["stability"][1] > 0.75
    assert (suggested.low, suggested.n_clusters, suggested.high) == (2, 2, 2)
    assert of_two_parts(380, 20).suggest_n_clusters().n_clusters == 3


def of_two_parts(n_one, n_other):
    """Trees of two blobs, the first of two parts in so many of them, and of two others in so many."""
    one, other = (
        [part, [i for i in range(10) if i not in part], [*range(10)]] for part in ([0, 1, 2, 3], [0, 5, 6, 7])
    )
    return stacked([nested(one)] * n_one + [nested(other)] * n_other)


def nested(groups, n=20):
    """A tree of n leaves in which each of these groups, nested ones first, is a clade; what is in none is another."""
    current, times, steps = {i: i for i in range(n)}, [], []
    for group in [*groups, [i for i in range(n) if i not in groups[-1]], [*range(n)]]:
        nodes = sorted({current[i] for i in group})
        while len(nodes) > 1:
            steps.append((nodes.pop(), nodes.pop()))
            nodes.append(n + len(steps) - 1)
            times.append(float(len(steps)))
        current |= dict.fromkeys(group, nodes[0])
    return ct.Tree(np.array(steps), np.array(times))


def test_a_pair_that_no_tree_has_is_worth_nothing():
    """Each of its rows is a clade of every tree, with a similarity of one half."""
    children = np.array([[[0, 2], [1, 3], [4, 5], [6, 8], [7, 9]], [[0, 3], [1, 2], [4, 5], [6, 8], [7, 9]]])
    post = posterior_of_trees(children, np.tile(np.arange(1.0, 6.0), (2, 1)))
    pairs = [np.array([0, 0, 1, 1, 1, 1])]
    plain, adjusted = next(n_clusters.similarities(post, pairs))
    assert post.stability(pairs[0]).jaccard.min() == plain.min() == 0.5
    assert adjusted.min() == 0.0


@pytest.mark.parametrize(("k", "n", "d"), [(5, 100, 10), (8, 160, 20), (3, 60, 5)])
def test_suggest_n_clusters_counts_groups(k, n, d):
    rng = np.random.default_rng(6)
    suggested = perturbed(blobs(rng, k, n, d, 6.0), rng).suggest_n_clusters()
    assert (suggested.low, suggested.n_clusters, suggested.high) == (k, k, k)
    assert suggested.reason.startswith(f"{k} clusters: each is found in the sampled trees (least adjusted similarity ")
    assert f"; in more, clusters are found less often ({k + 1}: " in suggested.reason


def test_suggest_n_clusters_of_a_single_group_is_one():
    rng = np.random.default_rng(7)
    suggested = perturbed(rng.normal(size=(60, 5)), rng).suggest_n_clusters()
    assert suggested.n_clusters == 1
    assert suggested.reason.startswith("1 cluster: its parts are not found often enough in the sampled trees (2: ")


def test_a_range_is_said_where_the_error_of_the_worth_leaves_it_open():
    for n_draws, is_open in ((12, True), (3000, False)):
        n_one = round(0.825 * n_draws)  # one whole is worth nearly as much as its two parts
        suggested = of_two_parts(n_one, n_draws - n_one).suggest_n_clusters()
        assert suggested.low <= suggested.n_clusters <= suggested.high
        assert (suggested.low < suggested.high) == is_open
        assert ("about as much" in suggested.reason) == is_open


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
