"""Messages to the leaves, against the dense conditional."""

import numpy as np
import pytest

from coaltree.model.process.leaf_messages import begin_walk, expected_leaves, expected_var, next_leaf
from tests.reference import likelihood as reference
from tests.strategies import coalescent_tree


def test_leaf_messages_are_the_dense_conditionals():
    rng = np.random.default_rng(4)
    children, times = coalescent_tree(5)
    X, variances = rng.standard_normal((5, 2)), rng.exponential(size=5)
    walk = begin_walk(children, times, X, variances)
    covariance = times[-1] - reference.cophenetic(children, times) + 1e7  # a root that is all but flat
    seen = []
    while (i := next_leaf(walk)) >= 0:
        seen.append(i)
        others = np.delete(np.arange(5), i)
        S = covariance[np.ix_(others, others)] + np.diag(variances[others])
        gain = np.linalg.solve(S, covariance[others, i])
        assert walk.outward[walk.depth[0]] == pytest.approx(gain @ X[others], abs=1e-5)
        assert expected_var(walk) == pytest.approx(covariance[i, i] - gain @ covariance[others, i], abs=1e-5)
        X[i] = walk.mean[i] = rng.standard_normal(2)  # the leaves met later must see what has changed
        variances[i] = walk.var[i] = rng.exponential()
    assert sorted(seen) == list(range(5))


def test_expected_leaves_are_the_dense_conditional_means():
    rng = np.random.default_rng(5)
    children, times = coalescent_tree(6)
    X, variances = rng.standard_normal((6, 2)), rng.exponential(size=6)
    variances[2] = 0.0  # known exactly
    covariance = times[-1] - reference.cophenetic(children, times) + 1e7
    dense = covariance @ np.linalg.solve(covariance + np.diag(variances), X)
    found = expected_leaves(children, times, X, variances)
    np.testing.assert_allclose(found, dense, atol=1e-5)
    np.testing.assert_allclose(found[2], X[2], rtol=1e-12)
