"""Data drawn from the model."""

import numpy as np
import pytest

import coaltree as ct


def test_simulate_returns_data_and_tree():
    X, tree = ct.simulate(n=12, d=5, covariance=ct.SquaredExponential(length2=2.0, noise=0.1), random_state=3)
    again, same = ct.simulate(n=12, d=5, covariance=ct.SquaredExponential(length2=2.0, noise=0.1), random_state=3)
    assert X.shape == (12, 5)
    assert np.array_equal(X, again) and tree == same
    with pytest.raises(ct.InputError, match="d must be a whole number of at least 1, not 0"):
        ct.simulate(n=4, d=0)
    with pytest.raises(ct.InputError, match="random_state"):
        ct.simulate(n=4, d=2, random_state="seed")
