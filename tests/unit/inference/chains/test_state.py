"""Replicates collapsed into leaves: under normal noise nothing is lost."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.inference.chains.state import ChainData, ChainDraws, collapse_replicates, concatenate
from coaltree.model.data.replicates import replicates_of
from coaltree.model.process.diffusion import contrasts
from coaltree.model.process.noise import NoiseDraw, noise_model, row_variances
from coaltree.model.process.whitened import make_problem

LEAF = np.array([0, 1, 1, 2, 0, 3, 1, 3, 1, 2, 1, 1, 4])
TREE = np.array([[0, 1], [2, 3], [5, 4], [6, 7]]), np.array([0.2, 0.3, 0.9, 1.7])
FAMILIES = {
    "spherical": ct.Spherical(),
    "diagonal": ct.Diagonal(),
    "full": ct.Full(),
    "curve": ct.SquaredExponential(length2=2.0, noise=0.1),
    "grid": ct.Matern32(length=1.5, grid=(2, 2)),
}


def both(errors=None, family="spherical"):
    """The same rows as they are, and collapsed."""
    rng = np.random.default_rng(3)
    values = 100.0 + rng.standard_normal((len(LEAF), 4)) + 3.0 * rng.standard_normal((5, 4))[LEAF]
    noise = noise_model(ct.Noise(0.4), values, errors)
    data = ChainData(values, FAMILIES[family].adapt(values), noise, replicates_of(LEAF))
    return data, collapse_replicates(data)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("errors", [None, np.linspace(0.5, 2.0, len(LEAF))], ids=["equal", "errors"])
def test_collapse_keeps_statistics_and_densities(family, errors):
    draw = NoiseDraw(0.7, None)
    found = []
    for data in both(errors, family):
        variances = row_variances(data.noise, draw)
        U = contrasts(*data.over_rows(TREE), data.values, variances)
        problem = make_problem(data.values, data.covariance, variances, replicates=data.replicates)
        joint = problem.log_likelihood(*TREE) + data.log_within(data.covariance.whitener(4), variances)
        found.append((data.statistics(data.covariance, U, variances), joint))
    (of_rows, joint), (of_leaves, joint_of_leaves) = found
    assert of_leaves.n == of_rows.n == len(LEAF) - 1
    assert joint_of_leaves == pytest.approx(joint, rel=1e-12)
    draws = [data.covariance.update(one, np.random.default_rng(0)).theta for one in (of_rows, of_leaves)]
    for name, value in draws[0].items():
        np.testing.assert_allclose(draws[1][name], value, rtol=1e-9)


def test_collapse_needs_rows_that_enter_by_sums():
    data, collapsed = both()
    assert collapsed.values.shape == (5, 4)
    assert collapsed.replicates is None
    np.testing.assert_allclose(collapsed.values[1], data.values[LEAF == 1].mean(axis=0))
    np.testing.assert_allclose(collapsed.noise.error2, 1.0 / np.bincount(LEAF))
    student = data._replace(noise=noise_model(ct.Noise(0.4, tails="student"), data.values))
    gaps = data._replace(missing=np.zeros(data.values.shape, dtype=bool))
    for kept in (student, gaps, data._replace(replicates=None)):
        assert collapse_replicates(kept) is kept


@pytest.mark.parametrize("noise", ["learn", 0.3])
def test_collapse_keeps_the_joint_density_of_a_fit(noise):
    rng = np.random.default_rng(5)
    leaf = rng.integers(6, size=300)
    leaf[:6] = np.arange(6)
    X = 4.0 * rng.standard_normal((6, 2))[leaf] + rng.standard_normal((300, 2))
    with pytest.warns(ct.CoaltreeWarning):
        post = ct.fit(X, "full", groups=leaf, noise=noise, n_samples=6, n_warmup=4, random_state=0, progress=False)
    replicates = replicates_of(post.groups)
    for t in (0, 7):
        level = post.theta["noise_level"][t] if noise == "learn" else noise
        covariance = post.covariance.with_theta({"Phi": post.theta["Phi"][t]})
        problem = make_problem(X, covariance, np.full(300, level), replicates=replicates)
        tree = post.trees[t]
        expected = problem.log_likelihood(tree.children, tree.times) + tree.log_prior() + covariance.log_prior()
        if noise == "learn":
            expected += -np.log(level) - 0.5 * ((np.log(level) - np.log(0.1)) / 2.0) ** 2
        assert post.log_joint[t] == pytest.approx(expected, rel=1e-9)


def test_draws_are_cut_and_concatenated():
    children, named = np.zeros((4, 1, 2), np.int32), {"a": np.arange(4.0)}
    draws = ChainDraws(children, np.ones((4, 1)), np.arange(4.0), named, np.empty((4, 0)), np.empty((4, 0)), named)
    first, last = draws.part(slice(0, 1)), draws.part(slice(1, None))
    both = concatenate([first, last])
    np.testing.assert_array_equal(both.theta["a"], draws.theta["a"])
    np.testing.assert_array_equal(both.log_joint, draws.log_joint)
    assert concatenate([first, last._replace(info={})]).info == {}  # which only some blocks have


def test_filled_rows_are_a_copy():
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    data = ChainData(X, ct.Spherical(), noise_model(ct.Noise(0.1), X), missing=np.isnan(X))
    assert data.filled(np.array([5.0])).tolist() == [[1.0, 5.0], [2.0, 3.0]]
    assert np.isnan(X[0, 1])
