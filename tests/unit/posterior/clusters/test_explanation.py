"""Which columns make a cluster."""

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import linkage

import coaltree as ct
from coaltree.errors import InputError
from coaltree.posterior.clusters.explanation import explain_partitions, sister_of
from coaltree.posterior.of_trees import posterior_of_trees
from tests.fits import quick_fit
from tests.posteriors import random_posterior

# Four clusters; column 0 makes the first split, 1 and 2 the second ones, the other five nothing.
SPLITS = np.array([[4, 3, 0], [4, -3, 0], [-4, 0, 3], [-4, 0, -3]])
TREE = np.array([[0, 1], [2, 3], [4, 5]])  # of the clusters


def table(seed=0, per_cluster=8, noise=0.6):
    rng = np.random.default_rng(seed)
    number = np.repeat(np.arange(4), per_cluster)
    X = noise * rng.standard_normal((len(number), 8))
    X[:, :3] += SPLITS[number]
    return X, number


def one_tree(X):
    tree = ct.Tree.from_linkage(linkage(X, "ward"))
    return posterior_of_trees(tree.children[None], tree.times[None], X=X, covariance=ct.Spherical())


@pytest.fixture(scope="module")
def found():
    X, number = table()
    post = quick_fit(X, "spherical", sampler="regraft", noise="student", n_samples=25, n_warmup=25)
    return post, number


def test_the_columns_that_carry_a_split_come_first(found):
    post, number = found
    frame = post.explain(number)
    assert list(frame.columns) == [
        "cluster", "column", "rank", "sister", "sister_low", "sister_high", "others", "others_low", "others_high",
    ]  # fmt: skip
    assert len(frame) == 4 * 8
    first = frame[frame["rank"] == 1].set_index("cluster")
    assert first["column"].to_dict() == {0: "1", 1: "1", 2: "2", 3: "2"}
    assert (np.sign(first["sister"]) == [1, -1, 1, -1]).all()
    assert (first["sister_low"] * first["sister_high"] > 0).all()
    assert (frame["sister_low"] <= frame["sister"]).all() and (frame["sister"] <= frame["sister_high"]).all()
    rest = frame[frame["column"].astype(int) > 2]
    assert rest["sister"].abs().max() < 2.0 < first["sister"].abs().min()
    others = frame.loc[frame.groupby("cluster")["others"].apply(lambda values: values.abs().idxmax())]
    assert others["column"].isin(["0", "1", "2"]).all()
    halves = post.explain(number // 2)
    assert halves[halves["rank"] == 1]["column"].tolist() == ["0", "0"]


def test_differences_of_a_sure_tree_are_those_of_means_in_pooled_deviations():
    X, number = table(1)
    post = one_tree(X)
    a, b = X[number == 0], X[number == 1]
    squares = np.square(a - a.mean(axis=0)).sum(axis=0) + np.square(b - b.mean(axis=0)).sum(axis=0)
    unit = np.sqrt((squares + X.var(axis=0)) / (len(a) + len(b) - 2 + 1))
    frame = post.explain(number).query("cluster == 0").set_index("column").loc[[str(j) for j in range(8)]]
    np.testing.assert_allclose(frame["sister"], (a.mean(axis=0) - b.mean(axis=0)) / unit)
    np.testing.assert_allclose(frame["others"], (a.mean(axis=0) - X[number > 0].mean(axis=0)) / unit)
    np.testing.assert_allclose(frame["sister_low"], frame["sister_high"])


def test_one_answer_for_a_cluster_however_it_is_named(found):
    post, number = found
    whole = post.explain(number).query("cluster == 2").reset_index(drop=True).drop(columns="cluster")
    mask = number == 2
    for group in (mask, np.flatnonzero(mask).tolist(), [post.labels[i] for i in np.flatnonzero(mask)]):
        one = post.explain(group).drop(columns="cluster")
        pd.testing.assert_frame_equal(one, whole)
    named = post.explain(np.array(["a", "b", "c", "d"])[number])
    pd.testing.assert_frame_equal(named.query("cluster == 'c'").reset_index(drop=True).drop(columns="cluster"), whole)
    again = explain_partitions(post, [np.zeros(len(number), int), number // 2, number])
    assert again[0] is None
    pd.testing.assert_frame_equal(again[2].frame(), post.explain(number))
    pd.testing.assert_frame_equal(again[1].frame(), post.explain(number // 2))


def test_a_column_that_is_constant_within_clusters_has_a_finite_difference():
    X, number = table(2)
    X[:, 3] = number
    frame = one_tree(X).explain(number).query("cluster == 1").set_index("column")
    assert frame.loc["3", "sister"] == pytest.approx(1.0 / np.sqrt(X[:, 3].var() / 15))
    assert one_tree(X[:, :3]).explain(number)["sister"].abs().max() < 100.0


def test_sister_is_the_other_side_of_the_merge_above():
    children = np.array([[0, 1], [7, 2], [3, 4], [5, 6], [9, 10], [8, 11]])  # ((0, 1), 2), ((3, 4), (5, 6))

    def sister(*leaves):
        group = np.zeros(7, bool)
        group[list(leaves)] = True
        return np.flatnonzero(sister_of(children, group)).tolist()

    assert sister(0, 1) == [2]
    assert sister(0, 1, 2) == [3, 4, 5, 6]
    assert sister(3, 4) == [5, 6]
    assert sister(0, 2) == [3, 4, 5, 6]  # whose closest clade has one more, and 1 is not a sister of what is in it
    assert sister(3, 4, 5) == [6] or sister(3, 4, 5) == [0, 1, 2]
    assert sister(0, 1, 3, 4, 5, 6) == [2]


def test_explain_refuses_what_has_nothing_to_be_compared_with(found):
    post, number = found
    with pytest.raises(InputError, match="at least two clusters"):
        post.explain(np.zeros(len(number), int))
    with pytest.raises(InputError, match="data or covariance, which explain needs"):
        random_posterior(0).explain([0, 0, 0, 1, 1, 1, 1])
