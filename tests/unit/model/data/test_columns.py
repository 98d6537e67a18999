"""Columns that carry nothing are left out, named and put back; the rule of "auto"."""

import warnings

import numpy as np
import pytest

from coaltree.errors import CoaltreeWarning, InputError
from coaltree.model.covariance import Diagonal, Full, InverseGamma, Scaled, Spherical
from coaltree.model.data.columns import choose_columns, constant_columns, dependent_columns, spread_ties

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))


def quiet(values, covariance, names=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoaltreeWarning)
        return choose_columns(values, names, covariance)


def choice_for(values):
    """What is told of "auto"."""
    return quiet(values, "auto")[2]["covariance_choice"]


def family_of(values):
    """What "auto" takes."""
    covariance, _, info = quiet(values, "auto")
    name = info["covariance_choice"].split(" (")[0]
    assert type(covariance).__name__.lower() == name
    return name


@pytest.mark.parametrize(("n", "d", "name"), [(14, 4, "spherical"), (15, 4, "full"), (4, 2, "scaled"), (2, 1, "full")])
def test_auto_is_full_where_rows_are_enough(n, d, name):
    assert family_of(X[:n, :d]) == name


def test_auto_says_why():
    assert choice_for(X[:15]) == "full (15 rows are enough for 4 columns)"
    assert choice_for(X[:2, :1]) == "full (2 rows are enough for 1 column)"
    assert choice_for(X[:14]) == (
        "spherical (columns have similar ranges, as in one unit: their differences in spread count)"
    )
    assert choice_for(X[:14] * [1.0, 1.0, 1.0, 100.0]) == (
        "scaled (columns have different ranges, as in different units; full needs 15 rows for 4 columns)"
    )
    assert choice_for(np.round(X[:14])) == "scaled (columns have few distinct values; full needs 15 rows for 4 columns)"


EVEN = np.linspace(0.0, 1.0, 60)[np.array([RNG.permutation(60) for _ in range(24)]).T]  # the same range in each column


@pytest.mark.parametrize(
    ("scales", "name"),
    [
        (np.ones(24), "spherical"),
        (np.repeat([1.0, 7.9], 12), "spherical"),
        (np.repeat([1.0, 8.1], 12), "scaled"),
        (np.repeat([1.0, 7.9], [23, 1]), "spherical"),
        (np.repeat([1.0, 8.1], [23, 1]), "scaled"),  # one column would outweigh all others
        (np.repeat([1.0, 1e-3], [22, 2]), "spherical"),  # a few that hardly vary are ignored
        (np.repeat([1.0, 1e-3], [18, 6]), "scaled"),
    ],
)
def test_auto_is_spherical_where_ranges_are_similar(scales, name):
    table = EVEN * scales + RNG.normal(size=24)
    assert family_of(table) == name
    said = choice_for(table)
    order, turned = RNG.permutation(60), RNG.permutation(24)
    for same in (table[order], table[:, turned], 1e9 * table, -1e-9 * table, table.astype(np.float32)):
        assert choice_for(same) == said


@pytest.mark.parametrize("scales", [np.ones(24), np.repeat([1.0, 30.0], 12)])
def test_auto_ignores_outliers_and_missing_cells(scales):
    table = EVEN * scales
    family = family_of(table)
    for spoilt in (1e6, -1e6):
        outlier = table.copy()
        outlier[7, 3] = spoilt
        assert family_of(outlier) == family
        outlier[7] = spoilt
        assert family_of(outlier) == family
    table[RNG.random(table.shape) < 0.2] = np.nan
    table[2:, 5] = np.nan  # of two cells nothing can be said
    assert family_of(table) == family


@pytest.mark.parametrize(("n_values", "name"), [(2, "scaled"), (4, "scaled"), (5, "spherical")])
def test_auto_gives_categories_no_unit(n_values, name):
    assert family_of(np.floor(EVEN * (n_values - 1e-9))) == name
    mixed = np.column_stack([np.floor(EVEN[:, :12] * (n_values - 1e-9)), EVEN[:, 12:] * n_values])
    assert family_of(mixed) == "spherical"


def test_constant_columns_to_within_rounding_and_beside_missing_values():
    table = np.column_stack([X[:, 0], np.full(30, 7.0), np.full(30, 0.1) + 1e-17, X[:, 1] * 1e-300, np.zeros(30)])
    table[3, 1] = np.nan
    table[::2, 2] = 0.1 * 3 / 3
    np.testing.assert_array_equal(constant_columns(table), [False, True, True, False, True])


def test_columns_left_out_are_named_in_one_warning():
    table = np.column_stack([X, np.ones((30, 9)), X[:, 0] - 3 * X[:, 2]])
    names = [f"c{j}" for j in range(14)]
    with pytest.warns(CoaltreeWarning) as caught:
        _, used, _ = choose_columns(table, names, "full")
    (warning,) = caught
    assert str(warning.message) == (
        "left out of the model, though kept in tables and pictures: columns 'c4', 'c5', 'c6', 'c7', 'c8', 'c9' and 3 "
        "more (constant) and column 'c13' (a linear function of columns before it)."
    )
    np.testing.assert_array_equal(used, range(4))
    for family in ("scaled", "diagonal"):
        np.testing.assert_array_equal(quiet(table, family)[1], [0, 1, 2, 3, 13])
    assert quiet(table, "spherical")[1] is None
    assert quiet(X, "full")[1] is None


@pytest.mark.parametrize("family", ["auto", "scaled", "diagonal", "full"])
def test_columns_that_are_all_constant_are_refused(family):
    with pytest.raises(InputError, match="every column of X is constant"):
        choose_columns(np.ones((5, 3)), None, family)
    assert isinstance(quiet(np.ones((5, 3)), "spherical")[0], Spherical)


def test_dependent_columns_are_found_in_any_unit():
    table = np.column_stack([X, 1e9 * X[:, 1], X[:, 0] + 1e-3, X @ [1.0, 2.0, -1.0, 0.5], RNG.normal(size=30)])
    expected = [False] * 4 + [True] * 3 + [False]
    np.testing.assert_array_equal(dependent_columns(table), expected)
    np.testing.assert_array_equal(dependent_columns(table * 10.0 ** np.arange(-8, 8, 2)), expected)
    table[2, 0] = np.nan
    np.testing.assert_array_equal(dependent_columns(table), expected)


def test_what_is_given_of_all_columns_is_refused_where_some_are_left_out():
    table = np.column_stack([X[:, :2], np.ones(30)])
    prior = InverseGamma([1.0, 2.0, 3.0], 1.0)
    S = np.diag([1.0, 2.0, 3.0])
    for of_three in (Diagonal([1.0, 2.0, 3.0]), Diagonal(priors={"variances": prior}), Full(S)):
        with pytest.raises(InputError, match=r"3 columns or components, but there are 2|for each of the 2 columns"):
            quiet(table, of_three)
    for kept in (Diagonal([1.0, 2.0, 3.0], learn="amplitude"), Scaled([1.0, 2.0, 3.0]), Full(S, learn=False)):
        assert quiet(table, kept)[1] is None  # a constant in known units says that branches are short


@pytest.mark.parametrize("scale", [1e-160, 1e-100, 1e100, 1e160, 1e300])
def test_dependent_columns_are_the_same_in_every_unit(scale):
    table = np.random.default_rng(0).normal(size=(20, 4))
    table[:, 2] = table[:, 0] - 2.0 * table[:, 1]
    np.testing.assert_array_equal(dependent_columns(table * scale), [False, False, True, False])
    np.testing.assert_array_equal(dependent_columns(table * [1.0, scale, 1.0, 1.0]), [False, False, True, False])


# Ties


def spread(x, rows=None, column=0):
    x = np.asarray(x, dtype=float)
    values, tied = spread_ties(x[:, None], np.arange(len(x)) if rows is None else rows, np.array([column]))
    return values[:, 0], bool(tied[0])


def test_ties_recorded_in_steps_stay_within_half_a_step():
    x = np.random.default_rng(0).integers(0, 6, 400) * 0.5
    found, tied = spread(x)
    assert tied and len(np.unique(found)) == 400
    assert np.all(np.abs(found - x) <= 0.25)
    for level in np.unique(x):  # evenly: variance step² / 12, standard error about a tenth of it
        assert np.var(found[x == level]) == pytest.approx(0.25 / 12, rel=0.45)
        assert np.mean(found[x == level]) == pytest.approx(level, abs=0.09)


def test_ties_reach_half_way_to_uneven_neighbours():
    x = np.repeat([0.0, 1.0, 5.0], 200)
    found, _ = spread(x)
    for level, low, high in ((0.0, -0.5, 0.5), (1.0, 0.5, 3.0), (5.0, 3.0, 7.0)):
        cell = found[x == level]
        assert low <= cell.min() < low + 0.1 * (high - low) and high - 0.1 * (high - low) < cell.max() <= high


def test_ties_of_many_zeros_are_spread_by_their_share():
    rng = np.random.default_rng(1)
    x = np.concatenate([np.zeros(60), rng.gamma(2.0, 1.0, 40)])
    found, _ = spread(x)
    np.testing.assert_array_equal(found[60:], x[60:])
    h = np.sqrt(3.0) * 0.6 * x.std()
    assert 0.9 * h < np.abs(found[:60]).max() <= h


def test_ties_are_spread_but_single_and_missing_values_stay():
    x = np.array([0.1, 0.2, np.nan, 0.2, 0.7, np.nan])
    found, tied = spread(x)
    assert tied
    np.testing.assert_array_equal(found[[0, 2, 4, 5]], x[[0, 2, 4, 5]])
    assert found[1] != found[3]
    untied, tied = spread(np.array([3.0, np.nan, 1.0]))
    assert not tied
    np.testing.assert_array_equal(untied, [3.0, np.nan, 1.0])
    assert not spread(np.full(4, 2.0))[1]  # a constant has no cell


def test_ties_are_spread_by_row_and_column_numbers_alone():
    x = np.random.default_rng(2).integers(0, 3, 50).astype(float)
    found, _ = spread(x, column=7)
    np.testing.assert_array_equal(spread(2.0**30 * x, column=7)[0], 2.0**30 * found)
    np.testing.assert_allclose(spread(1e-9 * x, column=7)[0], 1e-9 * found, rtol=1e-12, atol=1e-24)
    np.testing.assert_array_equal(spread(np.append(x, [1.0, 2.0]), column=7)[0][:50], found)
    some = np.arange(0, 50, 2)
    np.testing.assert_array_equal(spread(x[some], some, column=7)[0], found[some])
    assert not np.array_equal(spread(x, column=8)[0], found)
