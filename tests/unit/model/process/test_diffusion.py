"""Messages, likelihood, contrasts and simulation, against the full multivariate normal of the leaves."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.covariance import as_covariance
from coaltree.model.process import diffusion
from coaltree.model.process.coalescent import simulate_tree
from coaltree.samplers.regraft.working_tree import empty_working_tree, load
from tests.reference import likelihood as reference


def random_case(seed, n=7, d=3):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((d, d))
    Phi = root @ root.T + 0.5 * np.eye(d)
    tree = simulate_tree(n, rng)
    return rng, tree, Phi, rng.standard_normal((n, d))


@pytest.mark.parametrize("noise", [0.0, 0.37])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (3, 2), (7, 3), (6, 9)])
def test_likelihood_equals_the_transcription(n, d, noise):
    _, tree, Phi, X = random_case(n + d, n, d)
    expected = reference.log_likelihood(tree.children, tree.times, X, Phi, noise)
    whitener = as_covariance(Phi, d).whitener(d)
    W = whitener.whiten(X)
    args = (d, whitener.log_det, noise)
    assert diffusion.log_likelihood(tree.children, tree.times, W, *args) == pytest.approx(expected, rel=1e-10)
    assert tree.log_likelihood(X, Phi, noise=noise) == pytest.approx(expected, rel=1e-10)


def test_contrasts_are_independent_with_covariance_phi():
    rng, tree, Phi, _ = random_case(1, n=6, d=2)
    color = as_covariance(Phi, 2).whitener(2).color
    U = np.array([diffusion.contrasts(tree.children, tree.times, diffusion.simulate_data(tree, 2, rng, color))
                  for _ in range(4000)])  # fmt: skip
    flat = U.reshape(len(U), -1)
    found, expected = flat.T @ flat / len(flat), np.kron(np.eye(5), Phi)
    variance = np.outer(np.diag(expected), np.diag(expected))
    worst = np.abs(found - expected) / np.sqrt((expected**2 + variance) / len(flat))
    assert worst.max() < 4.5
    wrong = np.kron(np.eye(5), Phi + 0.1 * np.ones((2, 2)))
    assert (np.abs(found - wrong) / np.sqrt((wrong**2 + variance) / len(flat))).max() > 4.5


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_simulate_data_has_the_covariance_of_the_tree(noise):
    rng, tree, _, _ = random_case(2, n=5)
    X = np.array([diffusion.simulate_data(tree, 1, rng, leaf_var=noise)[:, 0] for _ in range(6000)])
    differences = X[:, 1:] - X[:, :1]
    leaf = tree.times[-1] - reference.cophenetic(tree.children, tree.times) + noise * np.eye(5)
    D = np.hstack([-np.ones((4, 1)), np.eye(4)])
    expected = D @ leaf @ D.T
    found = differences.T @ differences / len(X)
    error = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / len(X))
    assert (np.abs(found - expected) / error).max() < 4.5


def test_likelihood_of_duplicates_at_time_zero_has_no_factor():
    _, tree, Phi, X = random_case(3, n=4, d=3)
    doubled = np.vstack([X, X[2]])
    node = {0: 0, 1: 1, 2: 5, 3: 3, 4: 6, 5: 7, 6: 8}
    children = [[2, 4]] + [[node[a], node[b]] for a, b in tree.children]
    with_copy = ct.Tree(children, [0.0, *tree.times])
    assert with_copy.log_likelihood(doubled, Phi) == pytest.approx(tree.log_likelihood(X, Phi), rel=1e-12)
    assert diffusion.contrasts(with_copy.children, with_copy.times, doubled).shape == (3, 3)
    doubled[4] += 1e-3  # different rows cannot have merged at time 0
    assert with_copy.log_likelihood(doubled, Phi) == -np.inf


def test_squared_distances_keep_their_precision_next_to_large_values():
    rng = np.random.default_rng(5)
    W = 1e4 + rng.standard_normal((40, 6))
    W[7] = W[3] + 1e-6 * rng.standard_normal(6)
    W[9] = W[8]
    exact = ((W[:, None] - W[None]) ** 2).sum(-1)
    found = diffusion.squared_distances(W)
    np.testing.assert_allclose(found, exact, rtol=1e-8)
    assert found[8, 9] == 0.0
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("unit", [1.0, 1e-5, 1e-12, 1e-20, 1e-33])
@pytest.mark.parametrize("offset", [1.0, 0.1, 1e6])
@pytest.mark.parametrize("seed", [0, 1])
def test_messages_keep_equal_coordinates_equal_however_short_the_branches(seed, offset, unit):
    """Three columns are the same number in every row: a digit lost in one of them is 1e-16 against √v of 1e-33."""
    rng = np.random.default_rng(seed)
    tree = simulate_tree(12, rng)
    X = np.full((12, 5), offset * np.array([1.0, 1 / 3, 0.7, 0.0, 0.0]))
    X[:, 3:] = unit * rng.standard_normal((12, 2))
    times = tree.times * unit**2
    expected = reference.log_likelihood_in_many_digits(tree.children, times, X)
    assert diffusion.log_likelihood(tree.children, times, X) == pytest.approx(expected, rel=1e-12)
    assert ct.Tree(tree.children, times).log_likelihood(X) == pytest.approx(expected, rel=1e-12)
    found = working_tree_means(tree.children, times, X)
    assert np.array_equal(found[:, :3], np.broadcast_to(X[0, :3], (23, 3)))
    wrong = X.copy()
    wrong[0, 0] = np.nextafter(offset, np.inf)  # what one digit would do
    if unit <= 1e-20:
        assert diffusion.log_likelihood(tree.children, times, wrong) < expected - 1e6


def working_tree_means(children, times, X):
    tree = empty_working_tree(*X.shape)
    load(tree, np.asarray(children, dtype=np.int64), times, X, np.zeros(len(X)))
    return tree.mean


def test_likelihood_of_ties_beside_columns_that_differ_agrees_with_many_digits():
    """Two columns without differences beside one whose differences are far below a digit of them."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = int(rng.integers(3, 10))
        tree = simulate_tree(n, rng)
        times = tree.times * 10.0 ** -rng.uniform(0, 40, n - 1).cumsum()[::-1]
        times = np.sort(times)
        X = np.column_stack([np.full(n, 0.1), rng.standard_normal(n) * np.sqrt(times[0]), np.full(n, 1e5 / 3)])
        expected = reference.log_likelihood_in_many_digits(tree.children, times, X)
        assert diffusion.log_likelihood(tree.children, times, X) == pytest.approx(expected, rel=1e-10)
