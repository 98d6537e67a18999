"""Rows of the same leaf put together: under normal noise nothing is lost."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.inference.chains.chain import Plan, rows_put_together
from coaltree.inference.chains.gibbs_parameters import Known
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


def both(errors=None):
    """The same rows as they are, and put together."""
    rng = np.random.default_rng(3)
    values = 100.0 + rng.standard_normal((len(LEAF), 4)) + 3.0 * rng.standard_normal((5, 4))[LEAF]
    noise = noise_model(ct.Noise(0.4), values, errors)
    plan = Plan(ct.Regraft(), noise, replicates_of(LEAF), None, 0)
    return (plan, values), rows_put_together(plan, values)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("errors", [None, np.linspace(0.5, 2.0, len(LEAF))], ids=["equal", "errors"])
def test_statistics_and_densities_are_those_of_the_rows(family, errors):
    draw = NoiseDraw(0.7, None)
    found = []
    for plan, values in both(errors):
        covariance = FAMILIES[family].adapt(values[: len(LEAF)]) if len(values) == len(LEAF) else found[0][0]
        known = Known(values, TREE[0], plan.noise, plan.replicates, plan.within)
        variances = row_variances(plan.noise, draw)
        U = contrasts(*known.over_rows(TREE[1]), values, variances)
        problem = make_problem(values, covariance, variances, replicates=plan.replicates)
        whitener = covariance.whitener(4)
        joint = problem.log_likelihood(*TREE) + known.log_within(whitener, variances)
        found.append((covariance, known.statistics(covariance, U, variances), joint))
    (covariance, of_rows, joint), (_, of_leaves, joint_of_leaves) = found
    assert of_leaves.n == of_rows.n == len(LEAF) - 1
    assert joint_of_leaves == pytest.approx(joint, rel=1e-12)
    draws = [covariance.update(one, np.random.default_rng(0)).theta for one in (of_rows, of_leaves)]
    for name, value in draws[0].items():
        np.testing.assert_allclose(draws[1][name], value, rtol=1e-9)


def test_rows_are_put_together_only_where_they_enter_by_sums():
    (plan, values), (put_together, leaves) = both()
    assert leaves.shape == (5, 4)
    assert put_together.replicates is None
    np.testing.assert_allclose(leaves[1], values[LEAF == 1].mean(axis=0))
    np.testing.assert_allclose(put_together.noise.error2, 1.0 / np.bincount(LEAF))
    odd = plan._replace(noise=noise_model(ct.Noise(0.4, tails="student"), values))
    gaps = plan._replace(missing=np.zeros(values.shape, dtype=bool))
    for kept in (odd, gaps, plan._replace(replicates=None)):
        assert rows_put_together(kept, values)[0] is kept


@pytest.mark.parametrize("noise", ["learn", 0.3])
def test_a_fit_of_many_rows_a_leaf_has_the_joint_density_of_its_rows(noise):
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


@pytest.mark.filterwarnings("ignore::coaltree.ConvergenceWarning")
def test_a_checkpoint_of_rows_put_together_is_gone_on_from(tmp_path):
    rng = np.random.default_rng(1)
    leaf = np.repeat(np.arange(5), 6)
    X = 4.0 * rng.standard_normal((5, 2))[leaf] + rng.standard_normal((30, 2))
    settings = {"groups": leaf, "noise": "learn", "n_warmup": 2, "random_state": 0, "progress": False}
    whole, again = (ct.fit(X, "scaled", n_samples=6, checkpoint=tmp_path / "run", **settings) for _ in range(2))
    np.testing.assert_array_equal(whole.times, again.times)
