"""Tables that users hand in: arrays and data frames of every kind."""

import warnings

import numpy as np
import pandas as pd
import pytest

import coaltree as ct
from coaltree.errors import InputError
from coaltree.model.data.table import Table, aligned, as_frame, read_table


def test_table_is_read_as_a_dataframe():
    pandas = pytest.importorskip("pandas")
    table = Table(np.arange(6.0).reshape(3, 2), ("p", "q", "r"), ("a", "b"))
    ours, theirs = read_table(table), read_table(pandas.DataFrame(table.values, table.labels, table.features))
    assert ours[1:] == theirs[1:]
    np.testing.assert_array_equal(ours.values, theirs.values)


def test_table_takes_masked_entries_as_missing():
    X = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    assert np.isnan(read_table(X, allow_missing=True).values[0, 1])
    with pytest.raises(ct.InputError, match="1 missing value"):
        read_table(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([["2020-01-01"], ["2020-01-02"]], dtype="M8[D]"), "datetime64"),
        (np.array([[1], [2]], dtype="m8[D]"), "timedelta64"),
        ([[10**400], [1]], "table of numbers"),
        ([[1.0, 2.0], [3.0]], "table of numbers"),
        (np.ones((2, 2), dtype=complex), "complex"),
    ],
)
def test_table_refuses_what_is_not_numbers(X, message):
    with pytest.raises(ct.InputError, match=message):
        read_table(X)


@pytest.mark.parametrize("make", [np.asfortranarray, np.float32, lambda X: X[::-1][::-1], lambda X: X.astype(">f8")])
def test_table_never_writes_into_its_input(make):
    X = make(np.arange(12.0).reshape(4, 3) ** 2)
    X.flags.writeable = False
    values = read_table(X).values
    values[:] = 0.0
    assert X[3, 2] == 121.0


def test_table_gives_the_same_bits_however_memory_is_laid_out():
    X, _ = ct.simulate(30, 7, random_state=0)
    one = ct.sample_trees(X, np.eye(7), "regraft", n_samples=3, random_state=0)
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(
            ct.sample_trees(other, np.eye(7), n_samples=3, random_state=0).draws.times, one.draws.times
        )


def test_every_column_of_text_is_named():
    frame = pd.DataFrame({"a": [1.0, 2.0], "kind": ["x", "y"], "b": [1, 2], "place": ["p", "q"]})
    with pytest.raises(InputError, match=r"columns 'kind', 'place' of X hold .*, not numbers; drop or encode them\."):
        read_table(frame)


def test_tables_of_other_packages_are_read_by_their_own_conversion():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 7.0]})

    class Polars:
        columns = ("a", "b")

        def to_pandas(self):
            return frame

    class Broken:
        def to_pandas(self):
            raise ValueError("no such thing")

    tables = [Polars()]
    pyarrow, xarray = pytest.importorskip("pyarrow"), pytest.importorskip("xarray")
    tables += [
        pyarrow.table(frame),
        xarray.DataArray(frame.to_numpy(), coords={"x": range(3), "y": ["a", "b"]}, dims=("x", "y")),
    ]
    for table in tables:
        found = read_table(table)
        np.testing.assert_array_equal(found.values, frame)
        assert found.features == ("a", "b")
    assert as_frame(frame) is frame and as_frame([[1.0]]) == [[1.0]]
    with pytest.raises(InputError, match="Broken that cannot be made a DataFrame: no such thing"):
        read_table(Broken())


@pytest.mark.parametrize("package", ["polars", "pyarrow", "xarray"])
def test_fit_and_estimator_take_tables_of_other_packages(package):
    other = pytest.importorskip(package, reason=f"{package} is not installed")
    X = np.random.default_rng(0).normal(size=(8, 2))
    X[:4] += 9.0
    if package == "xarray":
        table = other.Dataset({"a": ("row", X[:, 0]), "b": ("row", X[:, 1])})
    else:
        table = (other.DataFrame if package == "polars" else other.table)({"a": X[:, 0], "b": X[:, 1]})
    short = {"n_samples": 4, "n_warmup": 2, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        post = ct.fit(table, progress=False, **short)
        model = ct.CoalescentClustering(2, **short).fit(table)
    np.testing.assert_array_equal(post.model.X, X)
    assert post.model.columns == model.posterior_.model.columns == ("a", "b")
    np.testing.assert_array_equal(model.predict(table), model.labels_)


def test_tables_that_are_not_in_memory_are_refused_with_what_to_do():
    class LazyFrame:
        columns = ("a", "b")

        def collect(self):
            return None

    with pytest.raises(InputError, match=r"LazyFrame, which is not in memory; give X\.collect\(\)"):
        read_table(LazyFrame())


def test_equal_names_of_columns_are_numbered_and_of_rows_hint_at_groups():
    frame = pd.DataFrame(np.arange(8.0).reshape(2, 4), columns=["a", "a", "a.2", "a"])
    with pytest.warns(ct.CoaltreeWarning, match=r"columns of X have equal names, which are numbered: 'a\.3', 'a\.4'\."):
        assert read_table(frame).features == ("a", "a.3", "a.2", "a.4")
    rows = frame.set_axis(["p", "p"])
    with pytest.raises(InputError, match=r"'p' twice; .* groups=X\.index where rows of one name measure the same"):
        read_table(rows[["a.2"]])
    assert read_table(rows[["a.2"]], are_groups_named=True).labels == ("p", "p.2")


def test_aligned_puts_a_series_into_the_order_of_the_index():
    series = pd.Series([1.0, 2.0, 3.0], list("cab"))
    assert list(aligned("errors", series, pd.Index(list("abc")))) == [2.0, 3.0, 1.0]
    assert aligned("errors", series, None) is series  # rows of an array have no names
    assert aligned("errors", [1.0, 2.0], pd.Index(list("abc"))) == [1.0, 2.0]
    for other in (series.iloc[:2], pd.Series(range(3)), series.set_axis(list("aab"))):
        with pytest.raises(InputError, match="the index of errors must name the same as X does, each once"):
            aligned("errors", other, pd.Index(list("abc")))
