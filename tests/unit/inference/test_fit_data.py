"""From a table to what chains see of it: what is merged, left out, warned of and refused."""

import warnings

import numpy as np
import pandas as pd
import pytest

from coaltree.errors import CoaltreeWarning, ConvergenceWarning, InputError
from coaltree.inference.fit import fit
from tests.fits import QUICK, assert_same, data, quick_fit


def test_copies_are_merged_at_time_0():
    X = data()
    X[5] = X[2]
    with pytest.warns(CoaltreeWarning, match="duplicate row"):
        post = quick_fit(X)
    assert post.n == 8
    assert np.all(post.times[:, 0] == 0)
    assert np.all(post.times[:, 1] > 0)


def test_equal_rows_end_in_a_tree():
    with pytest.warns(CoaltreeWarning, match="duplicate row"):
        post = quick_fit(np.ones((4, 3)), "spherical")
    assert np.all(post.times == 0)
    assert np.all(np.isfinite(post.log_joint))
    assert np.all(post.theta["amplitude"] > 0)


def test_empty_rows_are_left_out():
    X = data()
    X[[1, 4]] = np.nan
    with pytest.warns(CoaltreeWarning, match="2 rows with missing values only are left out of the tree: '1', '4'"):
        post = quick_fit(X)
    assert post.n == len(X) - 2 and post.info["empty_rows"] == {"names": ["1", "4"], "places": [1, 4]}
    assert post.labels == tuple(str(i) for i in range(len(X)) if i not in (1, 4))
    assert_same(post, quick_fit(np.delete(X, [1, 4], axis=0)))


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_rows_equal_where_both_have_values_are_kept_apart():
    """It is not transitive: b and c differ, and a agrees with both."""
    X = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, np.nan], [1.0, 2.0, 4.0], [0.0, 5.0, 3.0], [0.5, 5.0, 1.0]])
    with pytest.warns(CoaltreeWarning, match="rows '1' and '0' are equal in every column that both have, so that"):
        post = quick_fit(X, "spherical")
    assert post.n == 5 and (post.times > 0.0).all() and np.isfinite(post.log_joint).all()
    assert post.fitted is not None and len(np.unique(post.fitted[:3, 0])) == 3
    np.testing.assert_array_equal(post.X, X)
    assert quick_fit(X, "spherical", noise=0.1).fitted is None


def test_empty_columns_are_refused():
    X = data()
    X[:, 1] = np.nan
    with pytest.raises(InputError, match="column 1 of X has only missing values"):
        quick_fit(X)


def test_full_covariance_announces_its_cost(monkeypatch):
    monkeypatch.setattr("coaltree.inference.fit_data.MANY_COLUMNS", 4)
    with pytest.warns(CoaltreeWarning, match=r"a full covariance of 4 columns .* takes some .* per iteration; use"):
        quick_fit(data(8, 4), "full")


def test_columns_of_very_different_scale_are_named_under_spherical():
    frame = pd.DataFrame(data() * [1.0, 1.0, 1e4], columns=["x", "y", "z"])
    with pytest.warns(CoaltreeWarning, match=r"'z' vary most, .*'[xy]'.*least.*scaled"):
        quick_fit(frame, "spherical")
    with warnings.catch_warnings():
        warnings.simplefilter("error", CoaltreeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit(frame, "diagonal", QUICK, n_samples=4, n_warmup=0, random_state=0)
        constant = frame.assign(z=1.0)
        fit(constant, "spherical", QUICK, n_samples=4, n_warmup=0, random_state=0)
