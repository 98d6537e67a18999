"""One tree and clusters that are its clades, wherever a user looks: posterior, estimator, files, SciPy."""

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_iris

import coaltree as ct
from coaltree.cli import main
from coaltree.report import report_html
from tests.pages import content_of
from tests.posteriors import random_posterior

NUMBERS = range(1, 9)
FEW = {"n_samples": 12, "n_warmup": 8, "n_chains": 2, "random_state": 0, "progress": False}
pytestmark = pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")


def iris_rows():
    return load_iris().data[::3]


def rows_with_gaps():
    """Three clusters, an outlier, and missing values."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 4)) + 5.0 * np.eye(4)[np.arange(45) % 3]
    X[rng.random(X.shape) < 0.1] = np.nan
    X[7] = 30.0
    return X


@cache
def fitted_iris():
    return ct.fit(iris_rows(), **FEW)


@cache
def with_missing_values():
    return ct.fit(rows_with_gaps(), **FEW)


@cache
def with_groups():
    groups = np.random.default_rng(1).permutation(np.repeat(np.arange(25), 2))
    return ct.fit(iris_rows(), groups=groups, **FEW)


@cache
def with_duplicates():
    return ct.fit(np.repeat(iris_rows()[::2], 2, axis=0), noise=0.0, **FEW)


@cache
def of_one_tree():
    return fitted_iris()[7:8]


@cache
def of_particles():
    """Weighted, more than are averaged."""
    return ct.sample_trees(iris_rows()[::2], np.eye(4), ct.PostPost(n_particles=150), random_state=0)


@cache
def without_data():
    return random_posterior(3, n=40, n_trees=30)


MADE = (fitted_iris, with_missing_values, with_groups, with_duplicates, of_one_tree, of_particles, without_data)


@pytest.fixture(scope="module", params=MADE, ids=lambda make: make.__name__)
def post(request):
    return request.param()


# The posterior


def test_cut_clusters_are_those_of_the_mean_tree(post):
    tree = post.mean_tree()
    for k in NUMBERS:
        for how in ({}, {"outliers": True}):
            np.testing.assert_array_equal(post.cut(k, **how), tree.cut(k, **how))
        assert post.cut(k).max() + 1 == k
    for time in (0.0, *tree.times[[0, len(tree.times) // 2, -3]], 1e9):
        np.testing.assert_array_equal(post.cut(time=time), tree.cut(time=time))


# The estimator


@pytest.fixture(scope="module", params=[iris_rows, rows_with_gaps], ids=lambda make: make.__name__)
def model(request):
    X = request.param()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ct.CoalescentClustering(3, n_samples=12, n_warmup=8, random_state=0).fit(X), X


def test_estimator_predicts_the_clusters_of_rows_that_are_sure_of_them(model):
    """Rows whose own cluster has a probability of less than 0.9 may be told another one."""
    model, X = model
    membership = model.posterior_.membership(model.labels_)
    sure = membership[np.arange(len(X)), model.labels_] >= 0.9
    assert sure.sum() > 15
    np.testing.assert_array_equal(model.predict(X)[sure], model.labels_[sure])


@pytest.mark.parametrize("k", [0, 51])
def test_estimator_refuses_more_clusters_than_rows(k):
    with pytest.raises(ct.InputError, match="n_clusters must be a whole number from 1 to 50"):
        ct.CoalescentClustering(k, n_samples=2, n_warmup=1).fit(iris_rows())


# Which columns make a cluster


def test_explanations_are_the_same_in_python_on_the_page_and_on_the_command_line(tmp_path, capsys):
    post = fitted_iris()
    frame = post.explain(post.cut(3))
    pages = {part["k"]: part["differences"] for part in content_of(report_html(post, n_clusters=3))["partitions"]}
    assert pages[1] is None
    post.save(tmp_path / "posterior.npz")
    assert main(["explain", str(tmp_path), "--clusters", "3", "--columns", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    printed = [line.split()[0] for line in lines if line.startswith("  ") and "(" in line]
    assert printed == [name.split()[0] for name in frame["column"]]
    for cluster, part in frame.groupby("cluster"):
        sure = part[part["sister_low"] * part["sister_high"] > 0][:3].itertuples()
        said = [f"{row.column} {row.sister:+.1f} ({row.sister_low:.1f} to {row.sister_high:.1f})" for row in sure]
        assert pages[3]["words"][cluster] == ", ".join(said)
        for row in part.itertuples():
            at = pages[3]["columns"].index(row.column)
            assert pages[3]["effect"][at][cluster] == pytest.approx(row.sister, abs=0.051)


# Many rows
