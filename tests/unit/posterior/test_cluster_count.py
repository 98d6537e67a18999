"""The suggested number of clusters: its law under the coalescent, and what it says of groups."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

import coaltree as ct
from coaltree.model.coalescent import rates, standardized_gaps
from coaltree.posterior.cluster_count import suggest_n_clusters

EQUAL = np.ones(1)


def coalescent_times(rng, n, size=1):
    return np.cumsum(rng.exponential(size=(size, n - 1)) / rates(n), axis=1)


def test_the_table_is_what_it_says():
    rng = np.random.default_rng(0)
    times = coalescent_times(rng, 40, 6)
    weights = rng.dirichlet(np.ones(6))
    table = suggest_n_clusters(times, weights).gaps
    assert table["n_clusters"].tolist() == list(range(2, 14))  # ⌈2 √40⌉
    gaps = standardized_gaps(times)  # merge k waits with n - k clusters
    for row in table:
        m = row["n_clusters"]
        g = gaps[:, 40 - m]
        assert row["gap"] == pytest.approx(weights @ g)
        before = gaps[:, 40 - m - 8 : 40 - m].mean(axis=1)
        assert row["probability"] == pytest.approx(weights @ (1 + g / before / 8) ** -8.0)
        assert row["low"] <= np.median(g) <= row["high"]


def test_probabilities_are_uniform_under_the_coalescent():
    """2000 trees: mean 1/2 ± 0.0065, share below 0.05 is 0.05 ± 0.0049; 4.5 standard errors."""
    rng = np.random.default_rng(1)
    times = coalescent_times(rng, 30, 2000)
    probabilities = np.array([suggest_n_clusters(row[None], EQUAL).gaps["probability"] for row in times])
    for p in probabilities.T[[0, 4, 9]]:
        assert abs(p.mean() - 1 / 2) < 4.5 * 0.0065
        assert abs((p < 0.05).mean() - 0.05) < 4.5 * 0.0049
    # negative control: e^-r, as if the eight waits before gave the rate without error
    gaps = standardized_gaps(times)[:, ::-1]
    naive = np.exp(-gaps[:, 0] / gaps[:, 1:9].mean(axis=1))
    assert abs((naive < 0.05).mean() - 0.05) > 4.5 * 0.0049


def test_false_alarms_are_rare():
    """At most 5 % of coalescent trees: 400 of them, 20 expected, 40 is 4.6 standard errors up."""
    rng = np.random.default_rng(2)
    alarms = [suggest_n_clusters(row[None], EQUAL).n_clusters > 1 for row in coalescent_times(rng, 50, 400)]
    assert 2 <= sum(alarms) <= 40


@pytest.mark.parametrize(("k", "n", "d"), [(5, 100, 10), (10, 500, 20), (3, 60, 5)])
def test_groups_are_counted(k, n, d):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(k, d))[np.arange(n) % k] * 6 + rng.normal(size=(n, d))
    tree = ct.Tree.from_linkage(linkage(X, "average"))
    post = ct.Posterior(tree.children[None], tree.times[None] ** 2)
    found = post.suggest_n_clusters()
    assert found.n_clusters == k
    assert found.probability < 0.05
    assert f"{k} clusters" in str(found)
    assert str(found).count(".") >= 1
    assert str(found).endswith(".")


def test_no_number_stands_out():
    rng = np.random.default_rng(4)
    tree = ct.Tree.from_linkage(linkage(rng.normal(size=(60, 5)), "average"))
    found = ct.Posterior(tree.children[None], tree.times[None] ** 2).suggest_n_clusters()
    assert found.n_clusters == 1
    assert "No number of clusters stands out" in found.reason


def test_few_leaves_ties_and_wrong_limits():
    assert ct.Posterior([[[0, 1]]], [[1.0]]).suggest_n_clusters().n_clusters == 1
    tied = ct.Tree.from_newick("(((a:0,b:0):0,(c:0,d:0):0):3,((e:0,f:0):0,(g:0,h:0):0):3);")
    found = ct.Posterior(tied.children[None], tied.times[None]).suggest_n_clusters()
    assert found.n_clusters == 2
    assert np.isfinite(found.gaps["probability"]).all()
    with pytest.raises(ct.InputError, match="max_clusters must be a whole number from 2 to 7"):
        ct.Posterior(tied.children[None], tied.times[None]).suggest_n_clusters(max_clusters=8)
