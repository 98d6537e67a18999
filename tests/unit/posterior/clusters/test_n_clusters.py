"""The suggested number of clusters: by its definition, and of simulated groups."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

import coaltree as ct
from coaltree.posterior.clusters import n_clusters
from coaltree.posterior.clusters.closest_clades import closest_clades
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import listed, random_posterior, stacked
from tests.reference import summaries


def blobs(rng, k, n, d, apart):
    return apart * rng.standard_normal((k, d))[np.arange(n) % k] + rng.standard_normal((n, d))


def perturbed(X, rng, n_trees=20, noise=1.0):
    """A posterior without data: average linkages of rows that were moved a little."""
    return stacked(
        [ct.Tree.from_linkage(linkage(X + noise * rng.normal(size=X.shape), "average")) for _ in range(n_trees)]
    )


def least_stability(post, labels):
    """The least mean similarity of a cluster, where draws without it count as 0, from the definition."""
    sets = [frozenset(np.flatnonzero(labels == c).tolist()) for c in range(labels.max() + 1)]
    similar = []
    for children, _ in listed(post):
        near = [summaries.closest_clade(one, children) for one in sets]
        had = [
            2 * len(a & c) > len(a | c) and all(2 * len(b & c) <= len(b) for b in sets if b != a)
            for a, c in zip(sets, near, strict=True)
        ]
        similar.append([has * len(a & c) / len(a | c) for has, a, c in zip(had, sets, near, strict=True)])
    return (post.weights @ np.array(similar)).min()


@pytest.mark.parametrize("seed", range(5))
def test_suggest_n_clusters_is_the_largest_number_of_clusters_that_are_all_stable(seed):
    rng = np.random.default_rng(seed)
    post = perturbed(blobs(rng, 3, 36, 4, 3.0), rng)
    suggested = post.suggest_n_clusters()
    table = suggested.candidates
    assert table.dtype.names == ("n_clusters", "stability")
    assert table["n_clusters"].tolist() == list(range(2, len(table) + 2))
    least = [least_stability(post, post.cut(k)) for k in table["n_clusters"].tolist()]
    np.testing.assert_allclose(table["stability"], least, atol=1e-12)
    assert suggested.n_clusters == max((k for k, one in enumerate(least, 2) if one >= 0.75), default=1)
    assert suggested.low <= suggested.n_clusters <= suggested.high
    if len(table) < 11:  # a third of the leaves
        assert np.bincount(post.cut(len(table) + 2)).min() == 1
    assert all(np.bincount(post.cut(k)).min() > 1 for k in table["n_clusters"].tolist())


def test_a_part_that_seven_draws_of_ten_share_is_no_cluster_of_its_own():
    """Two blobs; the first has the same two parts in so many draws, whose stability is 0.77."""
    suggested = of_two_parts(280, 120).suggest_n_clusters()
    assert suggested.candidates["stability"][1] == pytest.approx(0.7)
    assert (suggested.low, suggested.n_clusters, suggested.high) == (2, 2, 2)
    assert of_two_parts(380, 20).suggest_n_clusters().n_clusters == 3


def test_what_is_left_of_a_cluster_is_no_cluster_where_no_tree_parts_it():
    """Eight leaves of ten are 0.8 similar to the ten, and every tree has these alone."""
    post = stacked([nested([[0, 1, 2, 3], [*range(10)]])] * 20)
    labels = np.repeat([0, 1], 10)
    labels[[0, 1]] = 2
    is_had = closest_clades(post.draws.children, labels).is_had
    assert post.stability(labels).jaccard[0] == pytest.approx(0.8)
    assert not is_had[:, 0].any() and is_had[:, 1].all()


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


@pytest.mark.parametrize(("k", "n", "d"), [(5, 100, 10), (8, 160, 20), (3, 60, 5)])
def test_suggest_n_clusters_counts_groups(k, n, d):
    rng = np.random.default_rng(6)
    suggested = perturbed(blobs(rng, k, n, d, 6.0), rng).suggest_n_clusters()
    assert (suggested.low, suggested.n_clusters, suggested.high) == (k, k, k)
    assert suggested.reason.startswith(f"{k} clusters: each is found in ")
    assert f"; {k + 1} would not be (0." in suggested.reason


def test_suggest_n_clusters_of_a_single_group_is_one():
    rng = np.random.default_rng(7)
    suggested = perturbed(rng.normal(size=(60, 5)), rng).suggest_n_clusters()
    assert suggested.n_clusters == 1
    assert suggested.reason.startswith("1 cluster: of 2, one is not found in enough ")


def test_a_range_is_said_where_other_draws_might_say_another_number():
    for n_draws, is_open in ((20, True), (4000, False)):
        n_one = round(0.85 * n_draws)
        suggested = of_two_parts(n_one, n_draws - n_one).suggest_n_clusters()
        assert suggested.n_clusters == 3
        assert (suggested.low, suggested.high) == (2 if is_open else 3, 3)
        assert ("; other draws might suggest 2 or 3 clusters" in suggested.reason) == is_open


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
