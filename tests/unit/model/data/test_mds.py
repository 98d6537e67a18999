"""Rows from squared distances: the same distances again, negative eigenvalues, and the same tree as of the rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform

import coaltree as ct
from coaltree.model.data.mds import rows_of_distances
from coaltree.model.data.table import Table


def squared_distances(X):
    return squareform(pdist(X, "sqeuclidean"))


def scaled(D):
    return rows_of_distances(Table(D, tuple(map(str, range(len(D)))), None))


def test_mds_rows_have_the_given_distances():
    X = np.random.default_rng(0).standard_normal((20, 5)) * [1, 2, 3, 4, 5]
    D = squared_distances(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table, share, _ = scaled(D)
    assert table.values.shape == (20, 5)
    assert share < 1e-10
    np.testing.assert_allclose(squared_distances(table.values), D, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize(
    "rounded",
    [
        lambda D: D,
        lambda D: D.round(3),
        lambda D: np.sqrt(D).round(3) ** 2,
        lambda D: D.astype(np.float32).astype(float),
    ],
    ids=["exact", "3 decimals", "3 decimals, then squared", "float32"],
)
def test_mds_makes_no_axes_of_rounding(rounded, n):
    for seed in range(5):
        D = squared_distances(np.random.default_rng(seed).standard_normal((n, 2)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = scaled(rounded(D))
        assert found[0].values.shape == (n, 2)
        np.testing.assert_allclose(squared_distances(found[0].values), D, atol=0.02)


def test_mds_of_few_rows_has_as_many_axes_as_before_rounding():
    """Of five rows two eigenvalues are rounding, both positive in one table of five; 0.5 % of 600 tables keep them."""
    n_wrong = 0
    for seed in range(40):
        D = squared_distances(np.random.default_rng(seed).standard_normal((5, 2)))
        for rounded in (D.round(3), np.sqrt(D).round(3) ** 2, D.round(2)):
            n_wrong += scaled(rounded)[0].values.shape != (5, 2)
    assert n_wrong <= 4  # of 120, where the signs of the eigenvalues alone would leave some 26


def test_mds_of_few_rows_keeps_axes_that_rounding_cannot_explain():
    """Negative control: all digits, whole numbers, and three decimals of which the last axis takes more than one."""
    X = np.random.default_rng(0).standard_normal((5, 4)) * [1, 1, 0.1, 0.1]
    assert scaled(squared_distances(X))[0].values.shape == (5, 4)
    assert scaled(squared_distances(X).round(3))[0].values.shape == (5, 4)
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [3, 3, 1.0]])
    assert scaled(squared_distances(corners))[0].values.shape == (5, 3)


def test_mds_keeps_three_small_axes_that_are_real():
    """What rounding hides no more than a little is no rounding: variances down to a thousandth, and three decimals."""
    X = np.random.default_rng(0).standard_normal((30, 5)) * [1, 1, 0.1, 0.1, 0.1]
    assert scaled(squared_distances(X).round(3))[0].values.shape == (30, 5)


def test_mds_of_distances_far_from_euclidean_keeps_an_axis():
    random = np.triu(np.random.default_rng(1).random((30, 30)), 1)
    with pytest.warns(ct.CoaltreeWarning, match="dimensions no longer than the most negative one are left out"):
        found = scaled((random + random.T) ** 2)
    assert found[0].values.shape[1] >= 1
    with pytest.warns(ct.CoaltreeWarning):  # the most negative eigenvalue is larger than any other
        odd = scaled(np.where(np.add.outer(np.arange(6), np.arange(6)) % 2, 0.0, 1.0 - np.eye(6)))
    assert odd[0].values.shape[1] == 1


def test_mds_of_exact_distances_has_no_negative_share():
    """Of two rows only 0 and a positive eigenvalue are left: the share is 0, and not -0."""
    _, _, sentence = scaled(np.array([[0.0, 2.0], [2.0, 0.0]]))
    assert (
        sentence
        == "taken as squared distances; classical scaling: 1 dimension, negative eigenvalues: 0.0 % of the total"
    )


def test_mds_warns_of_distances_that_are_not_euclidean():
    """A star: three points at distance 1 from a fourth and 2 from each other lie on no plane of ours."""
    distance = np.array([[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0.0]])
    with pytest.warns(ct.CoaltreeWarning, match="negative eigenvalues: .* of the total"):
        _, share, _ = scaled(distance**2)
    values = np.linalg.eigvalsh(-0.5 * _centred(distance**2))
    assert share == pytest.approx(-values[values < 0].sum() / np.abs(values).sum())


def _centred(D):
    J = np.eye(len(D)) - 1 / len(D)
    return J @ D @ J


def test_fit_from_distances_is_fit_of_rows_with_these_distances():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((12, 4)) + 8.0 * (np.arange(12) % 2)[:, None]
    names = [f"row {i}" for i in range(12)]
    D = pd.DataFrame(squared_distances(X), index=names, columns=names)
    settings = {"n_samples": 12, "n_warmup": 4, "random_state": 0, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.ConvergenceWarning)
        post = ct.fit(D, metric="squared_distances", **settings)
        same = ct.fit(scaled(np.ascontiguousarray(D))[0].values, "spherical", **settings)
    assert post.labels == tuple(names)
    np.testing.assert_array_equal(post.times, same.times)
    np.testing.assert_array_equal(post.log_joint, same.log_joint)
    labels = post.cut(2)
    assert ct.metrics.agreement(labels, np.arange(12) % 2).ari == 1.0
    assert post.info["distances"].startswith("taken as squared distances; classical scaling: 4 dimensions")


@pytest.mark.parametrize(
    ("change", "settings", "sentence"),
    [
        (lambda D: D[:, :3], {}, r"needs an \(n, n\) matrix"),
        (lambda D: D + np.eye(5), {}, "0 on the diagonal"),
        (lambda D: np.triu(D), {}, "symmetric"),
        (lambda D: 0 * D, {}, "all distances are 0"),
        (lambda D: pd.DataFrame(D, list("abcde"), list("abced")), {}, "names of the rows in another order"),
        (lambda D: D, {"covariance": "full"}, 'give covariance="spherical"'),
        (lambda D: np.where(D > 1, np.nan, D), {}, "missing value"),
        (lambda D: D, {"metric": "cosine"}, "metric must be"),
    ],
)
def test_mds_refuses_what_are_no_distances(change, settings, sentence):
    D = squared_distances(np.arange(5.0)[:, None])
    with pytest.raises(ct.InputError, match=sentence):
        ct.fit(change(D), **{"metric": "squared_distances", **settings})


@pytest.mark.parametrize("n", [3, 4, 6, 11])
def test_mds_of_exact_whole_numbers_keeps_all_axes(n):
    assert scaled(1.0 - np.eye(n))[0].values.shape[1] == n - 1  # all equally far from each other
    bits = np.random.default_rng(n).integers(2, size=(n, 5)).astype(float)
    bits[:, 0] = np.arange(n) % 2
    differences = squared_distances(bits)  # the number of places where two differ
    np.testing.assert_allclose(squared_distances(scaled(differences)[0].values), differences, atol=1e-9)
