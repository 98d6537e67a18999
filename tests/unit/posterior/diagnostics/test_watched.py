"""What is watched from draw to draw, and that two chains held in two halves of a posterior are seen by it."""

from functools import cache

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.process.coalescent import simulate_tree
from coaltree.posterior.diagnostics import convergence
from coaltree.posterior.diagnostics.watched import watched


def test_watched_are_the_oldest_merges_and_functions_of_the_covariance():
    rng = np.random.default_rng(0)
    tree = simulate_tree(20, rng)
    half = rng.normal(size=(5, 3, 3))
    matrices = half @ half.swapaxes(1, 2)
    theta = {"Phi": matrices, "noise_level": np.ones(5), "lengths": np.ones((5, 2))}
    found = watched(np.repeat(tree.times[None], 5, 0), np.zeros(5), theta)
    np.testing.assert_array_equal([found["root_time"][0], found["merge_2"][0]], tree.times[[-1, -2]])
    assert found["merge_10"][0] == tree.times[-10]
    assert found["mean_of_oldest"][0] == pytest.approx(tree.times[-10:].mean())
    branches = np.append(np.zeros(20), tree.times)
    length = sum(branches[20 + k] - branches[child] for k, pair in enumerate(tree.children) for child in pair)
    assert found["tree_length"][0] == pytest.approx(length)
    np.testing.assert_allclose(found["log_determinant"], np.linalg.slogdet(matrices)[1])
    np.testing.assert_allclose(found["largest_eigenvalue"], np.linalg.norm(matrices, 2, axis=(1, 2)))
    assert {"log_joint", "noise_level", "lengths"} <= set(found) and found["Phi"] is matrices
    diagonal = watched(tree.times[None], None, {"variances": np.array([[2.0, 3.0]])})
    assert diagonal["largest_eigenvalue"] == [3.0]
    assert np.exp(diagonal["log_determinant"]) == pytest.approx([6.0])


@cache
def converged():
    X, _ = ct.simulate(16, 2, noise=0.05, random_state=2)
    return ct.fit(X, "full", n_samples=120, n_warmup=20, random_state=0, progress=False)


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
@pytest.mark.parametrize(
    "name", ["log_joint", "root_time", "merge_2", "merge_5", "merge_10", "mean_of_oldest", "tree_length", "noise_level",
             "log_determinant", "largest_eigenvalue"],
)  # fmt: skip
def test_watched_sees_two_chains_held_in_two_halves_of_the_posterior(name):
    """One chain below the median of a scalar and one above: R-hat of that scalar says so; shuffled it does not."""
    post = converged()
    values = convergence.series(post)[name]
    halves = np.argsort(np.argsort(values)) >= len(values) // 2
    order = np.random.default_rng(0).permutation(len(values))
    in_halves = convergence.scalar_figures(values[order], halves[order].astype(int))
    mixed = convergence.scalar_figures(values[order], post.draws.chain)
    assert in_halves["r_hat"] > 1.2
    assert in_halves["ess"] < convergence.LIMITS["ess"].limit
    assert mixed["r_hat"] < convergence.LIMITS["r_hat"].limit
