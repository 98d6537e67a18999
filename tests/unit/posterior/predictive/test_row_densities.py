"""Densities of rows given all others and a draw, against brute force."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.predictive import row_densities as module
from coaltree.posterior.predictive.row_densities import row_densities
from tests.posteriors import grouped_posterior, posterior_of_rows
from tests.reference import leave_one_out as reference
from tests.reference.likelihood import cophenetic


def test_row_densities_of_one_leaf_hold_its_place():
    """A row beside others of its leaf is normal (or Student) given all other rows: the tree need not change."""
    post = grouped_posterior(tail_scale=None, noise=0.3, theta={}, n_trees=2)
    found = row_densities(post, np.array([1]))
    children, times = post.draws.children[1], post.draws.times[1]
    groups, X = post.model.leaves.groups, post.model.X
    covariance = (times[-1] - cophenetic(children, times))[np.ix_(groups, groups)] + 0.3 * np.eye(len(groups))
    precision = np.linalg.inv(covariance + 1e6)  # a root that is known hardly at all
    for i in np.flatnonzero(np.bincount(groups)[groups] > 1):
        variance = 2.0 / precision[i, i]
        mean = X[i] - (precision[i] @ X) / precision[i, i]
        exact = -0.5 * np.sum(np.log(2 * np.pi * variance) + (X[i] - mean) ** 2 / variance)
        assert found.log_density[0, i] == pytest.approx(exact, abs=1e-3)


def test_row_densities_of_one_leaf_with_tails():
    post = grouped_posterior(n_trees=2)
    i = int(np.flatnonzero(np.bincount(post.model.leaves.groups)[post.model.leaves.groups] > 1)[0])
    found = row_densities(post, np.array([0])).log_density[0, i]
    level, amplitude = post.theta["noise_level"][0], post.theta["amplitude"][0]
    children, times, groups, X = post.draws.children[0], post.draws.times[0], post.model.leaves.groups, post.model.X
    among = (times[-1] - cophenetic(children, times))[np.ix_(groups, groups)] + 1e6
    y, total = np.linspace(-5, 10, 2001), []
    for s in np.exp(y):
        scales = np.array(post.draws.tail_scale[0])
        scales[i] = s
        precision = np.linalg.inv(among + np.diag(level * scales))
        variance, mean = amplitude / precision[i, i], X[i] - (precision[i] @ X) / precision[i, i]
        log_normal = -0.5 * np.sum(np.log(2 * np.pi * variance) + (X[i] - mean) ** 2 / variance)
        total.append(np.exp(log_normal + 2.0 * (math.log(2.0) - math.log(s) - 1.0 / s)))
    assert found == pytest.approx(math.log(np.trapezoid(total, y)), abs=0.01)


def test_row_densities_are_of_the_observed_entries():
    X = np.random.default_rng(1).normal(size=(5, 3))
    X[1, 2] = np.nan
    Phi = np.array([[1.0, 0.6, 0.2], [0.6, 2.0, -0.3], [0.2, -0.3, 0.5]])
    imputed = np.full((3, 1), 0.4)
    post = posterior_of_rows(5, X=X, covariance=ct.Fixed(Phi), imputed=imputed, noise=0.1)
    found = row_densities(post, np.array([2])).log_density[0]
    full = np.where(np.isnan(X), 0.4, X)
    for row, columns in ((1, [0, 1]), (3, [0, 1, 2])):
        block = Phi[np.ix_(columns, columns)]
        W = np.linalg.solve(np.linalg.cholesky(block), full[:, columns].T).T.tolist()
        brute = reference.log_density_of_leaf(post.draws.children[2], post.draws.times[2], W, row, [0.1] * 5)
        assert found[row] == pytest.approx(brute - 0.5 * np.linalg.slogdet(block)[1], abs=0.01)


def test_row_densities_scale_a_row_s_own_noise_by_its_error():
    post = posterior_of_rows(5, errors=[1.0, 2.0, 1.0, 0.5, 3.0])
    W = (post.model.X / math.sqrt(2.0)).tolist()
    variances = (0.2 * np.array([1.0, 4.0, 1.0, 0.25, 9.0])).tolist()
    brute = reference.log_density_of_leaf(post.draws.children[0], post.draws.times[0], W, 4, variances) - math.log(2.0)
    assert row_densities(post, np.array([0])).log_density[0, 4] == pytest.approx(brute, abs=0.01)


def test_row_densities_of_many_rows_look_at_near_branches_and_a_sample(monkeypatch):
    post = posterior_of_rows(40, n_trees=2)
    every = row_densities(post, np.array([0, 1])).log_density
    monkeypatch.setattr(module, "MAX_ROWS_ALL_BRANCHES", 10)
    np.testing.assert_allclose(row_densities(post, np.array([0, 1])).log_density, every, atol=0.1)
