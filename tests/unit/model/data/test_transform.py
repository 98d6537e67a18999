"""Transformers: what `Preprocessor` does, that it is undone, saved and repeated with new rows, and what is refused."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import coaltree as ct
from coaltree.cli import main
from coaltree.model.data.table import Table, read_table
from coaltree.model.data.transform import Preprocessor, fit_transform, transformed

RNG = np.random.default_rng(0)
VALUES = np.exp(RNG.standard_normal((7, 4))) * [1.0, 10.0, 100.0, 0.1]
VALUES[2, 1] = np.nan
NAMES = ("a", "b", "c", "d")
TABLE = Table(VALUES, tuple("pqrstuv"), NAMES)
SHORT = {"n_samples": 10, "n_warmup": 5, "random_state": 0, "progress": False}
pytestmark = pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
PLAIN = {"n_samples": 10, "n_warmup": 5, "random_state": 0}
DENSITIES = [Preprocessor(log=True), Preprocessor(log1p=True), Preprocessor(center="columns", scale="columns")]
DENSITIES += [Preprocessor(log=True, scale="columns"), StandardScaler()]
CASES = [
    {"log": True},
    {"log1p": True},
    {"log": ["c", "a"], "log1p": ["d"]},
    {"log": [1]},
    {"center": "columns", "scale": "columns"},
    {"log": ["b"], "center": "columns"},
    {"center": "rows", "scale": "rows"},
    {"center": "columns", "scale": "rows"},
]


@pytest.mark.parametrize("steps", CASES, ids=str)
def test_preprocessor_is_undone_repeated_and_saved(steps):
    new, fitted = fit_transform(TABLE, Preprocessor(**steps))
    assert new.labels == TABLE.labels and new.features == NAMES
    again = Preprocessor(**vars(fitted))
    for one in (fitted, again):
        np.testing.assert_array_equal(transformed(TABLE, one).values, new.values)
        if one.is_by_columns:
            np.testing.assert_allclose(one.inverse_transform(new.values), VALUES, rtol=1e-12)
        else:
            with pytest.raises(ct.InputError, match="cannot be transformed back"):
                one.inverse_transform(new.values)
    row = transformed(Table(VALUES[3:4], ("x",), NAMES), fitted).values  # a row needs no others
    np.testing.assert_allclose(row, new.values[3:4], rtol=1e-12)


def test_preprocessor_takes_logarithms_then_centres_then_scales():
    new, fitted = fit_transform(TABLE, Preprocessor(scale="rows", center="rows", log=["a"]))
    logs = VALUES.copy()
    logs[:, 0] = np.log(logs[:, 0])
    centred = logs - np.nanmean(logs, axis=1, keepdims=True)
    np.testing.assert_allclose(new.values, centred / np.nanstd(logs, axis=1, keepdims=True), rtol=1e-12)
    assert repr(fitted) == "Preprocessor(log=['a'], center='rows', scale='rows')"
    columns = Preprocessor(center="columns", scale="columns").fit_transform(VALUES)
    np.testing.assert_allclose(columns, (VALUES - np.nanmean(VALUES, 0)) / np.nanstd(VALUES, 0), rtol=1e-12)
    np.testing.assert_array_equal(Preprocessor(log1p=True).fit_transform(VALUES), np.log1p(VALUES))
    constant = Preprocessor(center="rows", scale="rows").fit_transform([[3.0, 3.0, 3.0], [1.0, 2.0, 6.0]])
    assert constant[0].tolist() == [0.0, 0.0, 0.0]  # divided by 1


def test_what_has_no_logarithm_is_refused_with_its_place():
    values = VALUES.copy()
    values[4, 2] = 0.0
    with pytest.raises(ct.InputError, match="column 'c' has 0 in row 't', which has no logarithm"):
        fit_transform(Table(values, TABLE.labels, NAMES), Preprocessor(log=True))
    with pytest.raises(ct.InputError, match="column 2 has 0 in row '4'"):
        fit_transform(read_table(values, allow_missing=True), Preprocessor(log=[2]))
    with pytest.raises(
        ct.InputError, match=r"column 'a' has -.* which has no logarithm; leave the column out of log1p"
    ):
        fit_transform(Table(-TABLE.values - 1.0, TABLE.labels, NAMES), Preprocessor(log1p=True))


def test_saved_values_are_checked():
    _, fitted = fit_transform(TABLE, Preprocessor(log=["a"], center="columns", scale="rows"))
    assert repr(Preprocessor(**vars(fitted))) == repr(fitted)
    for change in ({"log": [4]}, {"center": "both"}, {"mean_": np.zeros(3)}, {"scale_": np.zeros(4)}):
        with pytest.raises(ct.InputError):
            Preprocessor(**(vars(fitted) | change))


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    values = np.exp(rng.standard_normal((16, 3)) * 0.3 + 2.0 * (np.arange(16) % 2)[:, None])
    values[5, 1] = np.nan
    return pd.DataFrame(values, [f"r{i}" for i in range(16)], list("abc"))


def test_fit_keeps_a_preprocessor_and_undoes_it(frame, tmp_path):
    post = ct.fit(frame, transform=ct.Preprocessor(log=["a", "b"], scale="columns"), **SHORT)
    ready = np.array(frame)
    ready[:, :2] = np.log(ready[:, :2])
    ready = ready / np.nanstd(ready, axis=0)
    np.testing.assert_allclose(post.model.X, ready, rtol=1e-12)
    same = ct.fit(pd.DataFrame(np.array(post.model.X), frame.index, frame.columns), **SHORT)
    np.testing.assert_array_equal(post.draws.times, same.draws.times)
    np.testing.assert_allclose(post.model.leaf_values(), frame, rtol=1e-12)
    filled = post.model.completed(post.draws, 2)
    assert filled[5, 1] == pytest.approx(np.exp(post.draws.imputed[2, 0] * np.nanstd(np.log(frame["b"]))))
    assert post.info["transform"] == "Preprocessor(log=['a', 'b'], scale='columns')"
    post.save(tmp_path / "p.npz")
    loaded = ct.load(tmp_path / "p.npz")
    np.testing.assert_array_equal(loaded.model.given_values(), post.model.given_values())
    for one in (post, loaded, post[::2]):
        placed = one.place(frame.iloc[:4])
        by_hand = one.place(frame.iloc[:4][["c", "b", "a"]])
        np.testing.assert_array_equal(placed.log_density, by_hand.log_density)
    ready = pd.DataFrame(np.array(post.model.X)[:4], frame.index[:4], frame.columns)
    expected = same.place(ready).log_density + post.model.log_jacobian(post.model.X[:4])
    np.testing.assert_allclose(loaded.place(frame.iloc[:4]).log_density, expected, rtol=1e-12)
    at_hand = post.loo(progress=False), same.loo(progress=False)
    np.testing.assert_allclose(at_hand[0].pointwise, at_hand[1].pointwise + post.model.log_jacobian(post.model.X))
    with pytest.raises(ct.InputError, match="no logarithm"):
        post.place(-frame.iloc[:2])


def test_fit_takes_a_transformer(frame, tmp_path):
    X = frame.fillna(1.0)
    scaler = StandardScaler()
    post = ct.fit(X, transform=scaler, **SHORT)
    assert not hasattr(scaler, "mean_")  # a copy was fitted
    np.testing.assert_allclose(post.model.X, StandardScaler().fit_transform(X), rtol=1e-12)
    assert post.model.columns == ("a", "b", "c") and post.info["transform"] == "StandardScaler()"
    np.testing.assert_array_equal(post.model.leaf_values(), post.model.X)  # only a `Preprocessor` is undone
    small = ct.fit(X, transform=PCA(2), **SHORT)
    assert small.model.columns == ("pca0", "pca1") and small.place(X.iloc[:2]).log_density.shape == (2,)
    small.save(tmp_path / "p.npz")
    loaded = ct.load(tmp_path / "p.npz")
    ready = pd.DataFrame(small.model.transform.transform(X.iloc[:2]), columns=small.model.columns)
    with pytest.warns(ct.CoaltreeWarning, match=r"PCA\(n_components=2\) was not saved with the posterior"):
        placed = loaded.place(ready)
    np.testing.assert_array_equal(placed.log_density, small.place(X.iloc[:2]).log_density)
    with pytest.raises(ct.InputError, match="PCA cannot take these rows"):
        ct.fit(frame, transform=PCA(2), **SHORT)


@pytest.mark.parametrize("transform", [None, *DENSITIES], ids=str)
def test_densities_are_of_the_table_as_given(transform, tmp_path, capsys):
    """One column: its density integrates to 1 through every door."""
    X = np.exp(np.random.default_rng(1).standard_normal((10, 1)))
    steps = np.sinh(np.linspace(-11.0, 11.0, 1001))
    y = steps[np.abs(steps) < 30.0]
    grid = np.expm1(y) if "log1p" in repr(transform) else np.exp(y) if "log" in repr(transform) else 2.0 + 0.01 * steps
    post = ct.fit(X, "spherical", noise=0.2, transform=transform, **SHORT)
    clusterer = ct.CoalescentClustering(2, covariance="spherical", noise=0.2, preprocess=transform, **PLAIN).fit(X)
    placed = post.place(grid[:, None], n_trees=4).log_density
    doors = [placed, ct.compare({"one": post}, grid[:, None]).rows[0]]
    doors.append(clusterer.posterior_.place(grid[:, None]).log_density)
    if transform is None or isinstance(transform, Preprocessor):  # which a file keeps
        post.save(tmp_path / "posterior.npz")
        pd.DataFrame({"x": grid}).to_csv(tmp_path / "new.csv", index=False)
        assert main(["place", str(tmp_path), str(tmp_path / "new.csv"), "--clusters", "1"]) == 0
        doors.append(pd.read_csv(io.StringIO(capsys.readouterr().out)).log_density.to_numpy())
    for log_density in doors:
        assert np.trapezoid(np.exp(log_density), grid) == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(clusterer.score(grid[7:8, None]), doors[2][7])
    if transform is not None:  # leave-one-out: of transformed rows, times the derivative
        inside = ct.fit(post.model.X, "spherical", noise=0.2, **SHORT).loo().pointwise
        rise = post.model.transform.transform(X * 1.00001) - post.model.transform.transform(X * 0.99999)
        np.testing.assert_allclose(post.loo().pointwise, inside + np.log(rise / (2e-5 * X))[:, 0], rtol=1e-4)


def test_densities_of_other_transformers_are_refused(frame):
    X = frame.fillna(1.0)
    post = ct.fit(X, transform=PCA(2), **SHORT)
    assert np.isnan(post.place(X.iloc[:2]).log_density).all()
    for ask in (post.loo, lambda: ct.compare({"a": post}, X.iloc[:2]), lambda: ct.compare({"a": post})):
        with pytest.raises(ct.InputError, match=r"needs densities of rows as they were given, and PCA\("):
            ask()
