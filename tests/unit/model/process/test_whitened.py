"""Whitened data as a sampler sees them."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.covariance import as_covariance
from coaltree.model.process.whitened import make_problem
from tests.reference import likelihood as reference
from tests.strategies import coalescent_tree

PHI = np.array([[1.0, 0.4], [0.4, 2.0]])


def test_whitened_likelihood_with_unequal_variances_equals_the_dense_one():
    rng = np.random.default_rng(1)
    children, times = coalescent_tree(6)
    X, variances = rng.standard_normal((6, 2)), rng.exponential(size=6)
    problem = make_problem(X, ct.Fixed(PHI), variances)
    assert problem.log_likelihood(children, times) == pytest.approx(
        reference.log_likelihood(children, times, X, PHI, variances), rel=1e-10
    )


def test_whitened_values_that_are_too_large_are_refused():
    X = np.random.default_rng(0).standard_normal((300, 2))
    make_problem(1e150 * X, as_covariance("spherical", 2))
    for scale in (1e152, 1e307):
        with pytest.raises(ct.InputError, match="too large"):
            make_problem(scale * X, as_covariance("spherical", 2))


def test_whitened_rotation_keeps_the_digits_of_small_distances():
    rng = np.random.default_rng(0)
    far = rng.standard_normal((5, 40))
    for gap in (1.0, 1e-6, 1e-12):
        X = np.vstack([far, far[0] + gap * rng.standard_normal(40)])
        W = make_problem(X, as_covariance("spherical", 40), rotate=True).W
        expected = np.square(X[5] - X[0]).sum()
        assert np.square(W[5] - W[0]).sum() == pytest.approx(expected, rel=1e-3)
        assert W.shape[1] == (40 if gap < 1e-9 else 5)
