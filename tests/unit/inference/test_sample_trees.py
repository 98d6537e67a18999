"""`sample_trees`: a known covariance, from rows; every sampler is in tests/contract/test_samplers."""

import numpy as np
import pytest

import coaltree as ct

FEW = {"n_samples": 3, "random_state": 0, "progress": False}


def test_sample_trees_returns_a_posterior_of_the_table():
    X, _ = ct.simulate(8, 3, random_state=0)
    post = ct.sample_trees(X, **FEW)
    assert len(post) == 3 and post.n == 8 and not post.theta
    assert post.info["n_distinct"] == 8 and post.info["seconds"] > 0
    np.testing.assert_array_equal(post.draws.times, ct.sample_trees(X, **FEW).draws.times)


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_sample_trees_of_equal_rows_is_one_tree_at_time_0():
    for sampler in ("regraft", "mpost1"):
        post = ct.sample_trees(np.zeros((4, 4)), sampler=sampler)
        assert len(post) == 1 and post.draws.times.tolist() == [[0.0] * 3]


def test_sample_trees_takes_the_columns_own_variances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4)) + 8.0 * np.eye(2, 4)[np.arange(20) % 2]
    with pytest.warns(ct.CoaltreeWarning, match="column 4"):
        post = ct.sample_trees(np.column_stack([X, np.ones(20)]), "scaled", **FEW)
    same = ct.sample_trees(X, np.diag(X.var(axis=0, ddof=1)), **FEW)
    np.testing.assert_allclose(post.draws.times, same.draws.times, rtol=1e-8)
