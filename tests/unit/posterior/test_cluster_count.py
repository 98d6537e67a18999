"""The suggested number of clusters: of simulated groups, with the data and without them."""

import warnings

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

import coaltree as ct
from coaltree.model.coalescent import simulate_tree
from coaltree.posterior import cluster_count
from tests.posteriors import ward_posterior


def blobs(rng, k, n, d, apart):
    return apart * rng.standard_normal((k, d))[np.arange(n) % k] + rng.standard_normal((n, d))


def test_groups_of_rows_are_counted():
    rng = np.random.default_rng(0)
    for k, n, d, apart in [(2, 60, 5, 4.0), (5, 100, 10, 2.0), (8, 160, 20, 2.0)]:
        found = ward_posterior(blobs(rng, k, n, d, apart)).suggest_n_clusters()
        assert found.n_clusters == k
        assert found.basis == "rows"
        assert found.probability > 0.7
        assert str(found).startswith(f"{k} clusters: they describe the rows better than any other number from 1 to ")
        assert str(found).endswith(").")


def test_large_numbers_are_suggested_too():
    """14 is between two of the numbers beyond 12 that are looked at in any case."""
    X = blobs(np.random.default_rng(3), 14, 112, 6, 12.0)
    assert ward_posterior(X).suggest_n_clusters().n_clusters == 14


def test_weak_groups_in_many_columns_add_up():
    """Centres 0.6 from each other in each of 40 columns: each costs far less than half a log n in a column."""
    found = ward_posterior(blobs(np.random.default_rng(1), 4, 120, 40, 0.6)).suggest_n_clusters()
    assert found.n_clusters == 4


@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("tails", ["normal", "student"])
def test_one_cloud_is_one_cluster(d, tails):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, d))
    if tails == "student":
        X /= np.sqrt(rng.chisquare(3, (120, 1)) / 3)
    found = ward_posterior(X).suggest_n_clusters()
    assert found.n_clusters == 1
    assert "look like a single group" in found.reason


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_a_fit_counts_them_too():
    rng = np.random.default_rng(3)
    X = blobs(rng, 3, 45, 4, 4.0)
    X[0, 0] = np.nan
    post = ct.fit(X, n_samples=12, n_warmup=12, n_chains=1, random_state=0, progress=False)
    assert post.suggest_n_clusters().n_clusters == 3
    again = post.suggest_n_clusters()
    np.testing.assert_array_equal(again.candidates, post.suggest_n_clusters().candidates)


def test_the_table_of_candidates():
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


def test_a_close_call_is_called_one():
    found = [ward_posterior(blobs(np.random.default_rng(s), 2, 40, 2, 1.5)).suggest_n_clusters() for s in range(6)]
    close = [one for one in found if one.probability < 0.7]
    assert 0 < len(close) < 6
    assert all(one.reason.endswith("It is a close call.") == (one in close) for one in found)


def test_many_rows_are_counted_by_a_part_of_them():
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


@pytest.mark.parametrize(("k", "n", "d"), [(5, 100, 10), (8, 400, 20), (3, 60, 5)])
def test_groups_are_counted_on_trees_alone(k, n, d):
    X = blobs(np.random.default_rng(6), k, n, d, 6.0)
    tree = ct.Tree.from_linkage(linkage(X, "average"))
    found = ct.Posterior(tree.children[None], tree.times[None] ** 2).suggest_n_clusters()
    assert found.n_clusters == k
    assert found.basis == "gaps"
    assert f"{k} clusters: after them the trees stay unsplit" in str(found)


def test_no_gap_stands_out():
    tree = ct.Tree.from_linkage(linkage(np.random.default_rng(7).normal(size=(60, 5)), "average"))
    found = ct.Posterior(tree.children[None], tree.times[None] ** 2).suggest_n_clusters()
    assert found.n_clusters == 1
    assert "no split of the trees stands out" in found.reason


def test_few_leaves_ties_and_wrong_limits():
    few = ct.Posterior([[[0, 1]]], [[1.0]]).suggest_n_clusters()
    assert few.n_clusters == 1
    assert "2 leaves are too few" in few.reason
    names = [f"({a}:0,{b}:0):0" for a, b in ("ab", "cd", "ef", "gh", "ij", "kl")]
    tied = ct.Tree.from_newick(f"((({names[0]},{names[1]}):0,{names[2]}):3,(({names[3]},{names[4]}):0,{names[5]}):3);")
    post = ct.Posterior(tied.children[None], tied.times[None])
    found = post.suggest_n_clusters()
    assert found.n_clusters == 2
    assert np.isfinite(found.candidates["score"]).all()
    with pytest.raises(ct.InputError, match="max_clusters must be a whole number from 2 to 11"):
        post.suggest_n_clusters(max_clusters=12)


def test_rows_that_are_all_but_equal():
    X = np.repeat([[0.0, 1.0], [5.0, 2.0], [9.0, 9.0]], 6, axis=0)
    tree = ct.Tree.from_linkage(linkage(X, "average"))
    post = ct.Posterior(tree.children[None], tree.times[None], X=X, covariance=ct.Spherical(amplitude=1.0))
    found = post.suggest_n_clusters()
    assert np.isfinite(found.candidates["score"]).all()
    assert found.n_clusters == 3


def test_a_number_whose_clusters_are_not_found_again_is_not_suggested():
    """One skewed cloud: more and more round clouds describe it better, but every tree draws others."""
    X = np.random.default_rng(0).lognormal(size=(100, 6), sigma=0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CoaltreeWarning)
        post = ct.fit(X, n_samples=30, n_warmup=20, n_chains=1, random_state=0, progress=False)
    found = post.suggest_n_clusters()
    best = int(found.candidates["score"].argmax()) + 1
    assert best > found.n_clusters
    assert post.stability(post.cut(best)).jaccard.min() < 0.6
    assert "tree" in found.reason


def test_trees_of_no_weight_say_nothing():
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


def test_a_number_is_less_sure_the_less_its_clusters_are_found_again():
    scores, counts = np.array([-60.0, -20.0, -2.0, -8.0]), np.array([True, True, True, False])
    sure = [cluster_count._probability(scores, counts, stability)[2] for stability in (1.0, 0.95, 0.8, 0.75, 0.5)]
    assert np.all(np.diff(sure[:4]) < 0)
    assert sure[3] == sure[4]  # no less than by the evidence of all numbers
    assert sure[0] == pytest.approx(1 / (1 + np.exp(-18 / 3) + np.exp(-58 / 3)))  # of those that are found again
    assert sure[4] == pytest.approx(1 / (1 + np.exp(-6 / 10) + np.exp(-18 / 10) + np.exp(-58 / 10)))
    better = cluster_count._probability(np.append(scores, 50.0), np.append(counts, False), 0.75)
    assert np.argmax(better) == 4 and better[2] < 0.01  # as docs/reading.md says


def test_clouds_that_all_trees_together_show_are_counted_though_each_tree_is_wrong_somewhere(monkeypatch):
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
    assert post.suggest_n_clusters().n_clusters == 4
    assert post.suggest_n_clusters().probability < 0.9
    monkeypatch.setattr(cluster_count, "STABLE", 1.1)
    assert post.suggest_n_clusters().n_clusters != 4


@pytest.mark.parametrize(("described_best", "word"), [(9, "more"), (2, "fewer")])
def test_numbers_that_are_not_found_again_are_named_as_more_or_fewer(described_best, word):
    said = cluster_count._reason(4, np.full(10, 0.1), "rows", described_best)
    assert said.startswith("4 clusters: they are found again")
    assert f"{word} would describe the rows better still" in said
