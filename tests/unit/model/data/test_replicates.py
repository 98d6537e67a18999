"""Replicates: groups of rows as leaves, their means and likelihood against dense transcriptions."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.data.replicates import replicates_of
from coaltree.model.process.diffusion import contrasts, log_likelihood
from coaltree.model.process.whitened import make_problem
from tests.reference import likelihood as reference
from tests.strategies import coalescent_tree

PHI = np.array([[1.0, 0.4], [0.4, 2.0]])
GROUPS = np.array([0, 1, 1, 2, 0, 1, 3])


def rows_covariance(children, times, leaf, variances):
    """Of the rows of leaves that diffused from the root."""
    leaves = times[-1] - reference.cophenetic(children, times)
    return leaves[np.ix_(leaf, leaf)] + np.diag(variances)


def test_replicates_have_the_dense_likelihood():
    rng = np.random.default_rng(2)
    children, times = coalescent_tree(4)
    X, variances = rng.standard_normal((7, 2)), rng.exponential(size=7) + 0.1
    difference = np.hstack([-np.ones((6, 1)), np.eye(6)])
    covariance = np.kron(difference @ rows_covariance(children, times, GROUPS, variances) @ difference.T, PHI)
    y = (X[1:] - X[0]).ravel()
    exact = -0.5 * (
        len(y) * math.log(2 * math.pi) + np.linalg.slogdet(covariance)[1] + y @ np.linalg.solve(covariance, y)
    )
    replicates = replicates_of(GROUPS)
    assert make_problem(X, ct.Fixed(PHI), variances, replicates=replicates).log_likelihood(
        children, times
    ) == pytest.approx(exact, rel=1e-10)
    whitener = ct.Fixed(PHI).whitener(2)
    rows = replicates.expand(children, times)
    assert log_likelihood(*rows, whitener.whiten(X), 2, whitener.log_det, variances) == pytest.approx(exact, rel=1e-10)
    assert contrasts(*rows, X, variances).shape == (6, 2)


def test_replicates_make_leaves_of_weighted_means():
    rng = np.random.default_rng(3)
    X, variances = rng.standard_normal((7, 2)), rng.exponential(size=7) + 0.1
    problem = make_problem(X, ct.Fixed(np.eye(2)), variances, replicates=replicates_of(GROUPS))
    for leaf in range(4):
        weights = 1.0 / variances[leaf == GROUPS]
        assert problem.leaf_vars()[leaf] == pytest.approx(1.0 / weights.sum())
        mean = weights @ (X - X.mean(axis=0))[leaf == GROUPS] / weights.sum()
        assert problem.W[leaf] == pytest.approx(mean)
