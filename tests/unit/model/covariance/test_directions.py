"""Principal directions, of complete and of incomplete tables, and whether columns are in one unit."""

import numpy as np
import pytest

from coaltree.model.covariance import directions
from coaltree.model.covariance.directions import principal_directions, why_not_one_unit


def low_rank(n, d, k=3, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, k)) * np.arange(k, 0, -1)) @ rng.normal(size=(k, d)) + noise * rng.normal(size=(n, d))


def test_few_singular_vectors_equal_those_of_all(monkeypatch):
    X = low_rank(40, 90)
    V, centre, rank = principal_directions(X, 3)
    monkeypatch.setattr(directions, "_MAX_DENSE", 10)
    few, _, few_rank = principal_directions(X, 3)
    np.testing.assert_allclose(few, V, atol=1e-8)
    np.testing.assert_array_equal(few, principal_directions(X, 3)[0])  # whatever was drawn before
    assert rank == few_rank == 4  # of at most one more than asked for
    np.testing.assert_allclose(centre, X.mean(axis=0))


def test_directions_that_rows_do_not_span_are_not_counted():
    X = low_rank(20, 30, k=2, noise=0.0)
    V, _, rank = principal_directions(X, 5)
    assert rank == 2
    assert V.shape == (30, 1)
    assert principal_directions(np.ones((4, 5)), 2)[2] == 0


def test_directions_of_an_incomplete_table_are_close_to_those_of_the_complete_one():
    X, rng = low_rank(80, 40), np.random.default_rng(1)
    V = principal_directions(X, 3)[0]
    hidden = rng.random(X.shape) < 0.3
    found, centre, _ = principal_directions(np.where(hidden, np.nan, X), 3)
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=1e-10)

    def angle(A):
        return np.arccos(np.clip(np.linalg.svd(A.T @ V)[1].min(), 0.0, 1.0))

    assert angle(found) < 0.08
    # filled with their means, columns would have these directions
    mean = np.where(hidden, np.nanmean(np.where(hidden, np.nan, X), axis=0), X)
    assert angle(np.linalg.svd(mean - mean.mean(axis=0))[2][:3].T) > 2.0 * angle(found)
    assert np.abs(centre - X.mean(axis=0)).max() < 0.5


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        (np.random.default_rng(0).normal(size=(20, 6)), ""),
        (np.random.default_rng(0).normal(size=(20, 6)) * 10.0 ** np.arange(6), "different ranges"),
        (np.random.default_rng(0).integers(0, 2, (20, 6)).astype(float), "few distinct values"),
    ],
)
def test_columns_in_one_unit(columns, reason):
    said = why_not_one_unit(columns.T)
    assert reason in said if reason else not said
