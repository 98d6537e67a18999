"""Distances as people have them: square, a triangle, R's `dist`, a condensed vector; squared or not; and a hint."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

import coaltree as ct
from coaltree.model.data.distances import check_metric, hint_of_distances, read_distances, square_table
from coaltree.model.data.table import Table, read_table

X = np.random.default_rng(0).standard_normal((6, 3))
CONDENSED = pdist(X)
SQUARE = squareform(CONDENSED)
NAMES = list("abcdef")
SHORT = {"n_samples": 8, "n_warmup": 4, "random_state": 0, "progress": False}
LOWER = np.where(np.tril(np.ones((6, 6)), -1) > 0, SQUARE, np.nan)


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        (SQUARE, "012345"),
        (CONDENSED, "012345"),
        (list(CONDENSED), "012345"),
        (CONDENSED[:, None], "012345"),
        (pd.DataFrame(SQUARE, NAMES, NAMES), "abcdef"),
        (pd.DataFrame(LOWER, NAMES, NAMES), "abcdef"),
        (pd.DataFrame(LOWER.T, NAMES, NAMES), "abcdef"),
        (pd.DataFrame(np.where(np.eye(6) > 0, 0.0, LOWER), NAMES, NAMES), "abcdef"),
        (pd.DataFrame(LOWER[1:, :-1], NAMES[1:], NAMES[:-1]), "abcdef"),
        (pd.DataFrame(LOWER.T[:-1, 1:], NAMES[:-1], NAMES[1:]), "abcdef"),
        (LOWER[1:, :-1], "012345"),
    ],
    ids=["square", "vector", "list", "column", "frame", "lower", "upper", "lower and 0", "R", "R upper", "R array"],
)
def test_distances_are_read_in_every_form(given, labels):
    found = read_distances(given, "distances")
    np.testing.assert_array_equal(found.values, np.square(SQUARE))
    assert found.labels == tuple(labels)
    np.testing.assert_array_equal(read_distances(given, "squared_distances").values, SQUARE)


def test_other_tables_are_left_as_they_are():
    holes = SQUARE.copy()
    holes[0, 3] = np.nan
    for values in (X, holes, SQUARE):
        table = Table(values, tuple(map(str, range(6))), None)
        assert square_table(table) is table


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (np.ones(4), "a condensed vector holds n"),
        (X, r"needs an \(n, n\) matrix of distances"),
        (SQUARE + np.eye(6), "distances must be 0 on the diagonal"),
        (-SQUARE, "nowhere negative"),
        (np.triu(SQUARE), "must be symmetric"),
        (np.where(SQUARE[0, 3] == SQUARE, np.nan, SQUARE), r"2 missing value\(s\)"),
        (1e200 * SQUARE, "too large to be squared"),
        (pd.DataFrame(SQUARE, NAMES, NAMES[::-1]), "in another order"),
        (np.zeros((1, 1)), "at least 2 rows"),
    ],
)
def test_what_are_no_distances_is_refused(given, sentence):
    with pytest.raises(ct.InputError, match=sentence):
        read_distances(given, "distances")


def test_precomputed_is_refused_with_both_names():
    for call in (ct.fit, ct.sample_trees):
        with pytest.raises(
            ct.InputError, match='metric="distances", which squares them, or metric="squared_distances"'
        ):
            call(SQUARE, metric="precomputed")
    with pytest.raises(ct.InputError, match="metric must be one of 'euclidean'"):
        check_metric(3)


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
def test_fit_squares_distances_and_says_so():
    plain = ct.fit(SQUARE, metric="distances", **SHORT)
    squared = ct.fit(np.square(SQUARE), metric="squared_distances", **SHORT)
    np.testing.assert_array_equal(plain.times, squared.times)
    assert plain.info["distances"].startswith("taken as distances, and squared; classical scaling: 3 dimensions")
    assert squared.info["distances"].startswith("taken as squared distances; classical scaling: 3 dimensions")
    fewer = ct.fit(CONDENSED, metric="distances", d=2, **SHORT)
    assert "classical scaling: 2 of 3 dimensions" in fewer.info["distances"] and fewer.X.shape == (6, 2)
    with pytest.raises(ct.InputError, match="d is the number of dimensions behind distances"):
        ct.fit(X, d=2, **SHORT)


def test_sample_trees_squares_distances():
    trees = [
        ct.sample_trees(given, sampler="mgreedy", metric=metric, d=3, progress=False).trees[0]
        for given, metric in ((CONDENSED, "distances"), (np.square(SQUARE), "squared_distances"))
    ]
    np.testing.assert_array_equal(trees[0].times, trees[1].times)


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
def test_a_table_that_looks_like_distances_gets_a_hint():
    with pytest.warns(ct.CoaltreeWarning, match=r'give metric="distances" \(--metric distances\)'):
        ct.fit(SQUARE, "spherical", **SHORT)
    correlations = np.corrcoef(X)
    for other in (X, correlations, SQUARE + np.triu(SQUARE), np.zeros((6, 6)), SQUARE[:2, :2]):
        assert hint_of_distances(read_table(other)) is None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ct.fit(SQUARE, metric="distances", **SHORT)
    assert not any("symmetric" in str(warning.message) for warning in caught)
