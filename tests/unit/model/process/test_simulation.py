"""Data drawn from the model."""

import numpy as np
import pytest

import coaltree as ct


def test_simulate_returns_data_and_tree():
    X, tree = ct.simulate(n=12, d=5, covariance=ct.SquaredExponential(length2=2.0, noise=0.1), random_state=3)
    again, same = ct.simulate(n=12, d=5, covariance=ct.SquaredExponential(length2=2.0, noise=0.1), random_state=3)
    assert X.shape == (12, 5)
    assert np.array_equal(X, again) and tree == same
    with pytest.raises(ct.InputError, match="d must be a whole number from 1 to 1000000000, not 0"):
        ct.simulate(n=4, d=0)
    with pytest.raises(ct.InputError, match="random_state"):
        ct.simulate(n=4, d=2, random_state="seed")


def test_simulate_scales_noise_by_errors():
    errors = np.array([1e-9, 1e-9, 1e-9, 1e6])
    X, tree = ct.simulate(4, 2000, noise=1.0, errors=errors, random_state=0, labels=list("abcd"))
    assert tree.labels == ("a", "b", "c", "d")
    assert np.std(X[3] - X[0]) == pytest.approx(1e6, rel=0.1)
    assert np.var(X[1] - X[0]) == pytest.approx(2.0 * tree.cophenetic()[0, 1], rel=0.15)
