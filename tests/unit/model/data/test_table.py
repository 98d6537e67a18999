"""What users hand in: tables of every kind, rows that are the same or nearly so, values at the ends of the scale."""

import warnings

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.covariance import as_covariance
from coaltree.model.data.duplicates import find_distinct
from coaltree.model.data.table import Table, read_table
from coaltree.model.process.whitened import make_problem


def test_a_table_of_the_command_line_is_read_as_a_dataframe():
    pandas = pytest.importorskip("pandas")
    table = Table(np.arange(6.0).reshape(3, 2), ("p", "q", "r"), ("a", "b"))
    ours, theirs = read_table(table), read_table(pandas.DataFrame(table.values, table.labels, table.features))
    assert ours[1:] == theirs[1:]
    np.testing.assert_array_equal(ours.values, theirs.values)


def test_a_masked_entry_is_missing():
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
def test_what_is_not_a_table_of_numbers_is_refused(X, message):
    with pytest.raises(ct.InputError, match=message):
        read_table(X)


@pytest.mark.parametrize("make", [np.asfortranarray, np.float32, lambda X: X[::-1][::-1], lambda X: X.astype(">f8")])
def test_input_is_never_written_into(make):
    X = make(np.arange(12.0).reshape(4, 3) ** 2)
    X.flags.writeable = False
    values = read_table(X).values
    values[:] = 0.0
    assert X[3, 2] == 121.0


def test_a_difference_that_centring_rounds_away_is_none():
    X = np.array([[0.0, 1.0], [1e-17, 1.0], [-5.0, 2.0], [-7.0, 1.0]])
    with pytest.warns(ct.CoaltreeWarning, match="merged at time 0"):
        distinct = find_distinct(X)
    assert distinct.group.tolist() == [0, 0, 1, 2]
    assert find_distinct(X, has_density=True).n_copies == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_distinct(X[1:]).n_copies == 0
        assert find_distinct(np.array([[1.7e308], [-1.7e308], [1.6e308]])).n_copies == 0


def test_values_too_large_for_rates_times_distances_are_refused():
    X = np.random.default_rng(0).standard_normal((300, 2))
    make_problem(1e150 * X, as_covariance("spherical", 2))
    for scale in (1e152, 1e307):
        with pytest.raises(ct.InputError, match="too large"):
            make_problem(scale * X, as_covariance("spherical", 2))


def test_rotation_keeps_the_digits_of_small_distances():
    rng = np.random.default_rng(0)
    far = rng.standard_normal((5, 40))
    for gap in (1.0, 1e-6, 1e-12):
        X = np.vstack([far, far[0] + gap * rng.standard_normal(40)])
        W = make_problem(X, as_covariance("spherical", 40), rotate=True).W
        expected = np.square(X[5] - X[0]).sum()
        assert np.square(W[5] - W[0]).sum() == pytest.approx(expected, rel=1e-3)
        assert W.shape[1] == (40 if gap < 1e-9 else 5)


def test_how_memory_is_laid_out_changes_no_bit():
    X, _ = ct.simulate(30, 7, random_state=0)
    one = ct.sample_trees(X, np.eye(7), "regraft", n_samples=3, random_state=0)
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(ct.sample_trees(other, np.eye(7), n_samples=3, random_state=0).times, one.times)
