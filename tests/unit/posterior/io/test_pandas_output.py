"""Answers as pandas objects, with the index that the user's table had."""

import pickle

import numpy as np
import pandas as pd
import pytest

import coaltree as ct

DATES = pd.date_range("2024-02-28", periods=7, freq="D", name="day")


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
@pytest.mark.parametrize(
    ("index", "is_kept"),
    [
        (pd.Index(list("abcdefg"), name="who"), True),
        (pd.Index([30, 10, 20, -1, 7, 8, 9]), True),
        (DATES, False),
        (pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1), ("b", 2), ("c", 1), ("d", 1), ("d", 2)]), False),
    ],
    ids=["text", "integers", "dates", "levels"],
)
def test_answers_have_the_index_of_the_table(index, is_kept, tmp_path):
    """Files keep whole numbers, and anything else as text."""
    post = ct.sample_trees(frame_of(index), "spherical", n_samples=8, random_state=0, progress=False)
    assert post.cut(3).index.equals(index)
    assert pickle.loads(pickle.dumps(post[::2])).cut(3).index.equals(index)
    post.save(tmp_path / "post.npz")
    again = ct.load(tmp_path / "post.npz").cut(3)
    assert again.index.equals(index if is_kept else pd.Index(list(map(str, index))))
    assert again.name == "cluster" and again.index.name == index.name
    np.testing.assert_array_equal(again, post.cut(3))


def frame_of(index):
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_normal((len(index), 2)), index=index, columns=["p", "q"])


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
def test_posterior_answers_with_pandas_objects_where_a_frame_was_fitted():
    settings = {"n_samples": 8, "n_warmup": 2, "random_state": 0, "progress": False}
    numbers = [5, 3, 1, 9, 7, 2]
    post = ct.fit(frame_of(numbers), "spherical", **settings)
    tree = post.mean_tree()
    labels = post.cut(2)
    assert list(labels.index) == numbers
    assert list(post.membership(labels).index) == numbers
    assert isinstance(post.clade_support(tree), pd.Series)
    assert isinstance(post.node_times(tree), pd.DataFrame)
    assert list(post[:4].cut(2).index) == numbers
    assert list(ct.concat([post, post]).cut(2).index) == numbers
    assert isinstance(ct.fit(frame_of(numbers).to_numpy(), "spherical", **settings).cut(2), np.ndarray)


def test_summary_has_a_line_for_each_cluster():
    X = np.repeat([[0.0, 0.0], [9.0, 1.0]], 6, axis=0) + np.random.default_rng(0).standard_normal((12, 2))
    frame = pd.DataFrame(X, columns=["long", "wide"], index=list("abcdefghijkl"))
    post = ct.fit(frame, "scaled", noise="student", n_samples=30, n_warmup=30, random_state=0, progress=False)
    table, labels = post.summary(2), post.cut(2)
    assert table.index.tolist() == [1, 2] and table.index.name == "cluster"
    assert list(table) == ["size", "stability", "formed_at", "outliers", "stands_out"]
    assert table["size"].tolist() == np.bincount(labels).tolist()
    np.testing.assert_allclose(table["stability"], post.stability(labels).jaccard, atol=5e-4)
    tree = post.mean_tree()
    for c, time in enumerate(table["formed_at"]):
        rows = np.flatnonzero(labels == c)
        inside = tree.cophenetic()[np.ix_(rows, rows)]
        assert inside.max() == pytest.approx(time)
    assert all(text.startswith("long") for text in table["stands_out"])
    assert table["outliers"].tolist() == ["", ""]
    assert post.summary(1)["size"].tolist() == [12]
