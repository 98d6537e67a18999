"""Answers as pandas objects, with the index that the user's table had."""

import numpy as np
import pandas as pd
import pytest

import coaltree as ct
from coaltree.posterior.frames import INDEX, describe_index, leaf_index
from tests.posteriors import random_posterior

DATES = pd.date_range("2024-02-28", periods=7, freq="D", name="day")


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(list("abcdefg"), name="who"),
        pd.Index([30, 10, 20, -1, 7, 8, 9]),
        DATES,
        pd.date_range("2024-02-28", periods=7, freq="17min"),
    ],
    ids=["text", "integers", "dates", "times"],
)
def test_the_index_of_the_table_comes_back(index, tmp_path):
    frame = pd.DataFrame(np.zeros((7, 2)), index=index)
    post = random_posterior(1, weighted=False, labels=map(str, index), info={INDEX: describe_index(frame)})
    assert leaf_index(post).equals(index) and leaf_index(post).name == index.name
    post.save(tmp_path / "post.npz")
    again = ct.load(tmp_path / "post.npz")
    labels = again.cut(3, min_size=1, output="pandas")
    np.testing.assert_array_equal(labels, again.cut(3, min_size=1))
    assert labels.loc[index[2]] == labels.iloc[2]
    assert labels.name == "cluster"


def test_fit_keeps_what_the_index_was_made_of():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((6, 2)), index=[5, 3, 1, 9, 7, 2], columns=["p", "q"])
    with pytest.warns(ct.ConvergenceWarning):
        post = ct.fit(frame, "spherical", n_samples=8, n_warmup=2, random_state=0, progress=False)
    assert list(post.cut(2, min_size=1, output="pandas").index) == [5, 3, 1, 9, 7, 2]
    assert isinstance(post.cut(2, min_size=1), np.ndarray)
    assert post.set_output(transform="pandas") is post
    assert list(post[:4].cut(2, min_size=1).index) == [5, 3, 1, 9, 7, 2]
    assert isinstance(post.set_output(transform="default").cut(2, min_size=1), np.ndarray)


def test_frames_of_clusters_and_merges():
    post = random_posterior(2, weighted=False, n_trees=60).set_output(transform="pandas")
    tree = post.summary_tree()
    labels = post.cut(2, min_size=1)
    members = post.membership(labels)
    assert list(members.columns) == [0, 1]
    assert list(members.index) == list(post.labels)
    np.testing.assert_array_equal(members, post.membership(labels, output="numpy"))
    support = post.clade_support(tree, kind="transfer")
    assert support.name == "transfer support"
    assert support.index.name == "merge"
    np.testing.assert_array_equal(support, post.clade_support(tree, kind="transfer", output="numpy"))
    times = post.node_times(tree)
    assert list(times.columns) == ["time", "low", "high"]
    np.testing.assert_array_equal(times[["low", "high"]], post.node_times(tree, output="numpy"))
    np.testing.assert_array_equal(times["time"], tree.times)
    odd = np.where(np.arange(7) == 0, -1, labels)
    assert list(post.membership(odd).columns)[-1] == -1


def test_pictures_and_pages_do_not_mind_the_output(tmp_path):
    post = random_posterior(3, weighted=False).set_output()
    ct.plotting.dendrogram(post.summary_tree(), support=post, intervals=post, n_clusters=2)
    ct.report.write_report(post, tmp_path / "page.html", n_clusters=2)
    assert "posterior=" in post.annotated_tree()


def test_other_outputs_are_refused():
    post = random_posterior(1)
    with pytest.raises(ct.InputError, match="output must be"):
        post.cut(2, output="polars")
    with pytest.raises(ct.InputError, match="transform must be"):
        post.set_output(transform="polars")


def test_an_index_that_no_longer_fits_is_text():
    post = random_posterior(1, labels=list("abcdefg"), info={INDEX: {"kind": "integer", "name": 3}})
    assert list(leaf_index(post)) == list("abcdefg")
