"""Steps before clustering: what they do, that they can be undone and repeated with new rows, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import coaltree as ct
from coaltree.model.data.table import Table, read_table
from coaltree.model.data.transform import are_skewed, from_dict, transformed

RNG = np.random.default_rng(0)
VALUES = np.exp(RNG.standard_normal((7, 4))) * [1.0, 10.0, 100.0, 0.1]
VALUES[2, 1] = np.nan
NAMES = ("a", "b", "c", "d")
TABLE = Table(VALUES, tuple("pqrstuv"), NAMES)
SHORT = {"n_samples": 10, "n_warmup": 5, "random_state": 0, "progress": False}
pytestmark = pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
CASES = [
    {"log": True},
    "log",
    {"log": ["c", "a"]},
    {"center": "rows"},
    {"center": "columns", "scale": "columns"},
    {"log": ["b"], "center": "rows", "scale": "rows"},
    {"center": "columns", "scale": "rows"},
    {"scale": "columns", "center": "rows"},
]


@pytest.mark.parametrize("steps", CASES, ids=str)
def test_steps_can_be_undone_and_repeated(steps):
    new, transform = transformed(TABLE, steps)
    np.testing.assert_allclose(transform.undo(new.values), VALUES, rtol=1e-12)
    assert new.labels == TABLE.labels and new.features == NAMES
    again, _ = transform.apply(TABLE)
    np.testing.assert_array_equal(again.values, new.values)
    one, _ = transform.apply(Table(VALUES[3:4], ("x",), NAMES))
    np.testing.assert_allclose(one.values, new.values[3:4], rtol=1e-12)  # a row needs no others
    same, _ = transformed(TABLE, transform.words())
    np.testing.assert_array_equal(same.values, new.values)


def test_steps_are_log_then_center_then_scale():
    new, transform = transformed(TABLE, {"scale": "rows", "center": "rows", "log": ["a"]})
    logs = VALUES.copy()
    logs[:, 0] = np.log(logs[:, 0])
    centred = logs - np.nanmean(logs, axis=1, keepdims=True)
    np.testing.assert_allclose(new.values, centred / np.nanstd(logs, axis=1, keepdims=True), rtol=1e-12)
    assert transform.describe() == "logarithm of a, rows centred and rows divided by their standard deviations"
    columns, _ = transformed(TABLE, {"center": "columns", "scale": "columns"})
    np.testing.assert_allclose(columns.values, (VALUES - np.nanmean(VALUES, 0)) / np.nanstd(VALUES, 0), rtol=1e-12)


def test_constant_rows_are_divided_by_1():
    table = read_table([[3.0, 3.0, 3.0], [1.0, 2.0, 6.0]])
    assert transformed(table, {"center": "rows", "scale": "rows"})[0].values[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ({"log": ["z"]}, "log names a column 'z', which X does not have; its columns are a, b, c, d"),
        ({"square": True}, "it has 'square'"),
        ({"transpose": True}, r"give fit X\.T"),
        ({"center": "both"}, 'must be "rows" or "columns", not \'both\''),
        (3, "transform must be a mapping such as"),
        (StandardScaler, "or a scikit-learn transformer"),
    ],
)
def test_other_steps_are_refused(steps, sentence):
    with pytest.raises(ct.InputError, match=sentence):
        transformed(TABLE, steps)


def test_what_has_no_logarithm_is_refused_with_its_place():
    values = VALUES.copy()
    values[4, 2] = 0.0
    with pytest.raises(ct.InputError, match="column 'c' has 0 in row 't', which has no logarithm"):
        transformed(Table(values, TABLE.labels, NAMES), "log")
    with pytest.raises(ct.InputError, match="column 2 has 0 in row '4'"):
        transformed(read_table(values, allow_missing=True), {"log": [2]})


def test_saved_steps_are_checked():
    _, transform = transformed(TABLE, {"log": ["a"], "center": "columns", "scale": "rows"})
    content = transform.to_dict()
    again = from_dict(content, 7)
    assert again.columns == NAMES and again.describe() == transform.describe()
    for change in (
        {"log": np.array([4])},
        {"center": "x"},
        {"center": None},
        {"column_center": np.full(4, np.nan)},
        {"row_scale": np.zeros(7)},
        {"row_scale": None},
        {"columns": ["a"]},
        {"n_columns": "4"},
        {"more": 1},
    ):
        with pytest.raises(ValueError, match=r"transform\."):
            from_dict(content | change, 7)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    values = np.exp(rng.standard_normal((16, 3)) * 0.3 + 2.0 * (np.arange(16) % 2)[:, None])
    values[5, 1] = np.nan
    return pd.DataFrame(values, [f"r{i}" for i in range(16)], list("abc"))


def test_fit_takes_the_steps_and_undoes_them(frame, tmp_path):
    post = ct.fit(frame, transform={"log": ["a", "b"], "scale": "columns"}, **SHORT)
    ready = np.array(frame)
    ready[:, :2] = np.log(ready[:, :2])
    ready = ready / np.nanstd(ready, axis=0)
    np.testing.assert_allclose(post.X, ready, rtol=1e-12)
    same = ct.fit(pd.DataFrame(np.array(post.X), frame.index, frame.columns), **SHORT)
    np.testing.assert_array_equal(post.times, same.times)
    np.testing.assert_allclose(post.leaf_values(), frame, rtol=1e-12)
    np.testing.assert_array_equal(post.leaf_values(undo=False), post.X)
    filled = post.completed(2)
    assert filled[5, 1] == pytest.approx(np.exp(post.imputed[2, 0] * np.nanstd(np.log(frame["b"]))))
    assert "logarithm of a, b" in post.info["transform"]
    post.save(tmp_path / "p.npz")
    loaded = ct.load(tmp_path / "p.npz")
    np.testing.assert_array_equal(loaded.given_values(), post.given_values())
    for one in (post, loaded, post[::2]):
        placed = one.place(frame.iloc[:4])
        by_hand = one.place(frame.iloc[:4][["c", "b", "a"]])
        np.testing.assert_array_equal(placed.log_density, by_hand.log_density)
    np.testing.assert_array_equal(
        loaded.place(frame.iloc[:4]).log_density,
        same.place(pd.DataFrame(np.array(post.X)[:4], frame.index[:4], frame.columns)).log_density,
    )
    with pytest.raises(ct.InputError, match="no logarithm"):
        post.place(-frame.iloc[:2])


def test_extend_takes_the_steps_with_new_rows(frame):
    post = ct.fit(frame.iloc[:12], transform={"log": True, "center": "rows"}, **SHORT)
    more = post.extend(frame.iloc[12:], n_trees=4, n_iterations=1, random_state=0)
    assert more.n == 16
    np.testing.assert_allclose(more.given_values(), frame, rtol=1e-12)


def test_fit_takes_a_transformer(frame, tmp_path):
    X = frame.fillna(1.0)
    scaler = StandardScaler()
    post = ct.fit(X, transform=scaler, **SHORT)
    assert not hasattr(scaler, "mean_")  # a copy was fitted
    np.testing.assert_allclose(post.X, StandardScaler().fit_transform(X), rtol=1e-12)
    np.testing.assert_allclose(post.leaf_values(), X, rtol=1e-9)
    assert post.columns == ("a", "b", "c") and post.info["transform"] == "StandardScaler()"
    small = ct.fit(X, transform=PCA(2), **SHORT)
    assert small.columns == ("pca0", "pca1") and small.place(X.iloc[:2]).log_density.shape == (2,)
    np.testing.assert_array_equal(small.leaf_values(), small.X)  # two columns cannot be shown as three
    small.save(tmp_path / "p.npz")
    loaded = ct.load(tmp_path / "p.npz")
    with pytest.raises(
        ct.InputError, match=r"the transformer of this posterior \(PCA\) was not saved .* cannot be placed"
    ):
        loaded.place(X.iloc[:2])
    with pytest.raises(ct.InputError, match="PCA cannot take these rows"):
        ct.fit(frame, transform=PCA(2), **SHORT)


def test_estimator_takes_the_steps(frame):
    model = ct.CoalescentClustering(2, preprocess={"log": True}, n_samples=10, n_warmup=5, random_state=0).fit(frame)
    assert model.posterior_.transform.describe() == "logarithm of all columns"
    assert model.predict(frame.iloc[:4]).tolist() == model.labels_[:4].tolist()


def skewed_table(names=("tail", "normal", "negative", "two", "to the left", "few seen")):
    rng = np.random.default_rng(0)
    values = np.exp(rng.standard_normal((60, 6)))
    values[:, 1] = 9.0 + rng.standard_normal(60)
    values[:, 2] -= 1.0
    values[:, 3] = np.where(np.arange(60) < 6, 9.0, 1.0)
    values[:, 4] = 30.0 - values[:, 4]
    values[:54, 5] = np.nan
    return Table(values, tuple(map(str, range(60))), names)


@pytest.mark.parametrize("given", ["skewed", ["skewed"], ("tail", "skewed")])
def test_log_of_skewed_columns_is_that_of_positive_ones_with_a_long_tail_to_the_right(given):
    _, transform = transformed(skewed_table(), {"log": given})
    assert transform.words() == {"log": ["tail"]}
    _, transform = transformed(skewed_table(None), {"log": given[-1] if isinstance(given, tuple) else given})
    assert transform.words() == {"log": [0]}
    _, transform = transformed(skewed_table(), {"log": ["normal", "skewed"]})
    assert transform.words() == {"log": ["tail", "normal"]}


def test_log_of_skewed_columns_may_be_of_none():
    _, transform = transformed(
        Table(np.arange(1.0, 21.0).reshape(10, 2), tuple("abcdefghij"), ("x", "y")), {"log": "skewed"}
    )
    assert transform.describe() == "nothing"


@pytest.mark.parametrize("word", ["skewed", "all"])
def test_log_of_a_column_that_is_called_like_a_word_is_of_that_column(word):
    table = skewed_table(("tail", word, "c", "d", "e", "f"))
    for given in (word, [word]):
        _, transform = transformed(table, {"log": given})
        assert transform.words() == {"log": [word]}
    values = TABLE.values
    if word == "all":
        _, transform = transformed(read_table(np.exp(np.nan_to_num(values)), allow_missing=True), {"log": ["all"]})
        assert transform.words() == {"log": True}


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_are_skewed_is_the_same_at_any_scale(scale):
    assert are_skewed(skewed_table().values * scale).tolist() == [True, *[False] * 5]
