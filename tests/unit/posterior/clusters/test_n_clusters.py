"""The suggested number of clusters: of simulated groups, with the data and without them."""

import warnings

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

import coaltree as ct
from coaltree.model.process.coalescent import simulate_tree
from coaltree.posterior.clusters import n_clusters
from tests.posteriors import ward_posterior


def blobs(rng, k, n, d, apart):
    return apart * rng.standard_normal((k, d))[np.arange(n) % k] + rng.standard_normal((n, d))


def test_suggest_n_clusters_counts_groups_of_rows():
    rng = np.random.default_rng(0)
    for k, n, d, apart in [(2, 60, 5, 4.0), (5, 100, 10, 2.0), (8, 160, 20, 2.0)]:
        found = ward_posterior(blobs(rng, k, n, d, apart)).suggest_n_clusters()
        assert found.n_clusters == k
        assert found.basis == "rows"
        assert found.probability > 0.7
        assert (found.low, found.high) == (k, k)
        assert str(found).startswith(f"{k} clusters: they fit the rows better than any other number from 1 to ")
        assert str(found).endswith(").")


def test_suggest_n_clusters_finds_large_numbers():
    X = blobs(np.random.default_rng(3), 14, 112, 6, 12.0)
    assert ward_posterior(X).suggest_n_clusters().n_clusters == 14


def test_suggest_n_clusters_adds_up_weak_groups_in_many_columns():
    """Centres 0.6 from each other in each of 40 columns: each costs far less than half a log n in a column."""
    found = ward_posterior(blobs(np.random.default_rng(1), 4, 120, 40, 0.6)).suggest_n_clusters()
    assert found.n_clusters == 4


@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("tails", ["normal", "student"])
def test_suggest_n_clusters_of_a_single_group_is_one(d, tails):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, d))
    if tails == "student":
        X /= np.sqrt(rng.chisquare(3, (120, 1)) / 3)
    found = ward_posterior(X).suggest_n_clusters()
    assert found.n_clusters == 1
    assert "look like a single group" in found.reason
    assert found.probability > 0.7


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_suggest_n_clusters_of_a_fit_with_missing_values():
    rng = np.random.default_rng(3)
    X = blobs(rng, 3, 45, 4, 4.0)
    X[0, 0] = np.nan
    post = ct.fit(X, n_samples=12, n_warmup=12, n_chains=1, random_state=0, progress=False)
    assert post.suggest_n_clusters().n_clusters == 3
    again = post.suggest_n_clusters()
    np.testing.assert_array_equal(again.candidates, post.suggest_n_clusters().candidates)


def test_suggest_n_clusters_has_a_table_of_candidates():
    post = ward_posterior(blobs(np.random.default_rng(4), 3, 60, 4, 4.0))
    found = post.suggest_n_clusters()
    table = found.candidates
    assert table["n_clusters"].tolist() == list(range(1, 12))  # eight more than the best
    assert table["probability"].sum() == pytest.approx(1.0)
    assert found.probability == table["probability"].max() == table["probability"][2]
    odds = table["probability"][2] / table["probability"][1]
    assert np.log(odds) == pytest.approx((table["score"][2] - table["score"][1]) / 3)
    assert "the most that were tried" in post.suggest_n_clusters(max_clusters=2).reason
    assert post.suggest_n_clusters(max_clusters=2).n_clusters == 2
    assert len(post.suggest_n_clusters(max_clusters=2).candidates) == 2


def test_suggest_n_clusters_gives_a_range_where_no_number_has_half_of_the_probability():
    found = [ward_posterior(blobs(np.random.default_rng(s), 4, 48, 2, 1.6)).suggest_n_clusters() for s in range(12)]
    ranges = [one for one in found if one.high > one.low]
    assert 0 < len(ranges) < 12
    for one in found:
        share = one.candidates["probability"]
        assert one.n_clusters == one.low
        assert one.probability == share[one.low - 1]
        assert share[one.low - 1 : one.high].sum() >= 0.5
        assert (share.max() >= 0.5) == (one.low == one.high)
    wide = ranges[0]
    assert wide.reason.startswith(f"{wide.numbers} (probability ")
    assert wide.reason.endswith(f"The clusters shown are those of {wide.low}.")


@pytest.mark.parametrize(
    ("probability", "expected"),
    [
        ([1.0], (1, 1)),
        ([0.1, 0.6, 0.3], (2, 2)),
        ([0.2, 0.2, 0.35, 0.25], (3, 4)),
        ([0.25, 0.25, 0.25, 0.25], (1, 2)),
        ([0.2, 0.15, 0.15, 0.15, 0.15, 0.2], (1, 6)),
        ([0.1, 0.24, 0.14, 0.46, 0.06], (2, 4)),  # the likeliest two are in it though others are beside them
        ([0.02, 0.03, 0.02, 0.02, 0.02, 0.025, 0.48, 0.02, 0.365], (7, 9)),
        (
            [0.01, 0.05, 0.01, 0.02, 0.04, 0.025, 0.48, 0.03, 0.335 / 17, *[0.335 / 17] * 16],
            (7, 8),
        ),  # 2 is far less likely
        ([0.01, 0.01, 0.45, 0.02, 0.01, 0.02, 0.47, 0.01], (3, 7)),  # and which of them is likelier does not matter
        ([0.01, 0.01, 0.47, 0.02, 0.01, 0.02, 0.45, 0.01], (3, 7)),
    ],
)
def test_most_probable_range_has_the_fewest_numbers(probability, expected):
    assert n_clusters.most_probable_range(np.array(probability)) == expected


def test_cluster_suggestion_numbers_in_words():
    found = ward_posterior(blobs(np.random.default_rng(4), 3, 60, 4, 4.0)).suggest_n_clusters()
    said = [found._replace(low=low, high=high).numbers for low, high in [(1, 1), (3, 3), (3, 4), (5, 8)]]
    assert said == ["1 cluster", "3 clusters", "3 or 4 clusters", "5 to 8 clusters"]


def test_suggest_n_clusters_of_many_rows_takes_a_part_of_them():
    X = blobs(np.random.default_rng(5), 6, 3000, 40, 2.0)
    order = np.argsort(np.arange(3000) % 6, kind="stable")
    # a tree by hand: six combs
    children, tops, node = [], [], 3000
    for first in range(0, 3000, 500):
        top = order[first]
        for leaf in order[first + 1 : first + 500]:
            children.append([top, leaf])
            top, node = node, node + 1
        tops.append(top)
    while len(tops) > 1:
        children.append([tops.pop(0), tops.pop(0)])
        tops.append(node)
        node += 1
    times = np.append(np.linspace(0.01, 0.1, 2994), [1.0, 1.1, 1.2, 1.3, 1.4])
    post = ct.Posterior([children], [times], X=X, covariance=ct.Spherical(amplitude=1.0))
    assert post.suggest_n_clusters(max_clusters=10).n_clusters == 6


# Without data


def perturbed(X, n_trees, noise, rng):
    """A posterior without data: average linkages of rows that were moved a little."""
    trees = [ct.Tree.from_linkage(linkage(X + noise * rng.normal(size=X.shape), "average")) for _ in range(n_trees)]
    children, times = (np.stack([getattr(tree, part) for tree in trees]) for part in ("children", "times"))
    return ct.Posterior(children, times)


@pytest.mark.parametrize(("k", "n", "d"), [(5, 100, 10), (8, 160, 20), (3, 60, 5)])
def test_suggest_n_clusters_without_data_counts_stable_groups(k, n, d):
    rng = np.random.default_rng(6)
    found = perturbed(blobs(rng, k, n, d, 6.0), 20, 1.0, rng).suggest_n_clusters()
    assert found.n_clusters == k
    assert found.basis == "trees"
    assert found.reason.startswith(f"{k} clusters: no larger number is stable across draws")
    assert np.isnan(found.candidates["score"]).all()


def test_suggest_n_clusters_without_data_finds_a_single_group():
    rng = np.random.default_rng(7)
    assert perturbed(rng.normal(size=(60, 5)), 20, 1.0, rng).suggest_n_clusters().n_clusters == 1


def test_suggest_n_clusters_of_one_tree_without_data_is_one():
    tree = ct.Tree.from_linkage(linkage(blobs(np.random.default_rng(6), 3, 60, 5, 6.0), "average"))
    found = ct.Posterior(tree.children[None], tree.times[None]).suggest_n_clusters()
    assert found.n_clusters == 1
    assert found.reason == "1 cluster: one tree without its data cannot tell more."


def test_suggest_n_clusters_of_few_leaves_ties_and_wrong_limits():
    few = ct.Posterior([[[0, 1]]], [[1.0]]).suggest_n_clusters()
    assert few.n_clusters == 1
    assert "2 leaves are too few" in few.reason
    names = [f"({a}:0,{b}:0):0" for a, b in ("ab", "cd", "ef", "gh", "ij", "kl")]
    tied = ct.Tree.from_newick(f"((({names[0]},{names[1]}):0,{names[2]}):3,(({names[3]},{names[4]}):0,{names[5]}):3);")
    post = ct.Posterior(np.stack([tied.children] * 2), np.stack([tied.times] * 2))
    assert np.isfinite(post.suggest_n_clusters().candidates["probability"]).all()
    with pytest.raises(ct.InputError, match="max_clusters must be a whole number from 2 to 11"):
        post.suggest_n_clusters(max_clusters=12)


def test_suggest_n_clusters_of_rows_that_are_all_but_equal():
    X = np.repeat([[0.0, 1.0], [5.0, 2.0], [9.0, 9.0]], 6, axis=0)
    tree = ct.Tree.from_linkage(linkage(X, "average"))
    post = ct.Posterior(tree.children[None], tree.times[None], X=X, covariance=ct.Spherical(amplitude=1.0))
    found = post.suggest_n_clusters()
    assert np.isfinite(found.candidates["score"]).all()
    assert found.n_clusters == 3


def test_suggest_n_clusters_passes_over_a_number_whose_clusters_are_not_stable():
    """One skewed group: more and more spherical components describe it better, but every tree draws others."""
    X = np.random.default_rng(0).lognormal(size=(100, 6), sigma=0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CoaltreeWarning)
        post = ct.fit(X, n_samples=30, n_warmup=20, n_chains=1, random_state=0, progress=False)
    found = post.suggest_n_clusters()
    best = int(found.candidates["score"].argmax()) + 1
    assert best > found.n_clusters
    assert post.stability(post.cut(best)).jaccard.min() < 0.6
    assert "fit better but are less stable" in found.reason or found.high > found.low


def test_suggest_n_clusters_ignores_trees_without_weight():
    """Among 500 trees one has all the weight, and it is none of those that an even choice would look at."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 3)) + 20.0 * np.eye(3)[np.arange(45) % 3]
    good = ct.Tree.from_linkage(linkage(X, "average"))
    trees = [simulate_tree(45, rng) for _ in range(500)]
    trees[251] = good
    weights = np.full(500, -1e4)
    weights[251] = 0.0
    stacked = np.stack([tree.children for tree in trees]), np.stack([tree.times for tree in trees])
    post = ct.Posterior(*stacked, log_weights=weights, X=X, covariance=ct.Spherical(amplitude=1.0))
    assert 251 not in np.linspace(0, 499, 200).astype(int)
    assert post.suggest_n_clusters().n_clusters == 3


def probability_by_sums(evidence, stability, middle, width, caution, highest=None):
    """P(k) by a sum over a fine grid of limits, from the definition; the limit is at most `highest`."""
    limits = np.linspace(middle - 20 * width, middle + 20 * width, 40_001)
    weights = np.exp(-(limits - middle) / width) / (1 + np.exp(-(limits - middle) / width)) ** 2
    if highest is not None:
        weights = weights * (limits <= highest)
    held = np.append(np.inf, stability[1:])
    found = np.zeros(len(evidence))
    for limit, weight in zip(limits, weights / weights.sum(), strict=True):
        allowed = np.where(held >= limit, np.exp((evidence - evidence.max()) / caution), 0.0)
        found += weight * allowed / allowed.sum()
    return found


def test_probabilities_are_those_of_the_definition():
    evidence, stability = np.array([-60.0, -20.0, -2.0, 0.0, -8.0]), np.array([1.0, 0.9, 0.8, 0.65, 0.3])
    strict = probability_by_sums(evidence, stability, 0.75, 0.04, 3.0, highest=0.9)
    gentle = probability_by_sums(evidence, stability, 0.3, 0.1, 8.0)
    any_clusters = 1 / (1 + np.exp(-(0.9 - 0.55) / 0.03))
    strict = any_clusters * strict + (1 - any_clusters) * np.eye(5)[0]
    doubt = (1 - 0.8) / (1 - 0.6)
    found = n_clusters.probabilities(evidence, stability, similarity=0.0)
    np.testing.assert_allclose(found, (1 - doubt) * strict + doubt * gentle, atol=2e-3)
    assert found.sum() == pytest.approx(1.0)


def test_probabilities_need_no_stability_where_the_components_are_the_clusters():
    evidence, stability = np.array([-60.0, -20.0, 0.0]), np.array([1.0, 0.8, 0.5])
    assert np.argmax(n_clusters.probabilities(evidence, stability, similarity=0.5)) == 1
    assert np.argmax(n_clusters.probabilities(evidence, stability, similarity=1.0)) == 2


def test_probabilities_fall_with_the_stability_of_the_clusters():
    evidence = np.array([-60.0, -20.0, 0.0, -6.0])
    sure = [
        n_clusters.probabilities(evidence, np.array([1.0, 0.9, stability, 0.7]), 1.0)[2]
        for stability in (1.0, 0.95, 0.85, 0.7)
    ]
    assert np.all(np.diff(sure) < 0)
    assert sure[0] > 0.85


def test_suggest_n_clusters_counts_components_of_the_mean_tree_though_each_tree_is_wrong_somewhere(monkeypatch):
    rng = np.random.default_rng(0)
    X = blobs(rng, 4, 120, 4, 6.0)
    trees = []
    for _ in range(60):
        elsewhere = rng.permutation(120)
        mistaken = np.where(rng.random(120) < 0.35, elsewhere, np.arange(120))
        trees.append(ct.Tree.from_linkage(linkage(X[mistaken] + 0.01 * rng.standard_normal(X.shape), "ward")))
    children, times = (np.stack([getattr(tree, part) for tree in trees]) for part in ("children", "times"))
    post = ct.Posterior(children, times, X=X, covariance=ct.Spherical(amplitude=1.0))
    assert post.stability(post.cut(4)).jaccard.min() < 0.6
    sure = post.suggest_n_clusters()
    assert sure.n_clusters == 4
    monkeypatch.setattr(n_clusters, "_SAME_COMPONENTS", n_clusters.Limit(1.5, 0.02))
    assert post[:].suggest_n_clusters().candidates["probability"][3] < sure.probability - 0.01


def test_cluster_suggestion_prints_in_a_line():
    found = n_clusters.ClusterSuggestion(2, "2 clusters: why.", 0.9, np.zeros(0), "rows", 2, 2)
    assert repr(found) == "<ClusterSuggestion: 2 clusters: why>" and str(found) == "2 clusters: why."
