"""Saved posteriors: everything comes back, and what is not ours or not whole is refused."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import random_posterior

LABELS = ["a", "b b", "it's", "x_1", "[y]", "7", "gamma-γ"]


def full_posterior(covariance=None, **extra):
    return random_posterior(
        1,
        labels=LABELS,
        theta={"amplitude": np.linspace(1, 2, 12), "variances": np.ones((12, 3))},
        chain=np.arange(12) // 6,
        log_evidence=-12.5,
        X=np.arange(21.0).reshape(7, 3),
        covariance=covariance,
        noise=0.25,
        **extra,
    )


def assert_same(a, b):
    for name in ("children", "times", "log_weights", "weights", "chain", "log_joint"):
        found, expected = getattr(a.draws, name), getattr(b.draws, name)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(a.model.X, b.model.X)
    assert (a.labels, a.log_evidence, a.model.columns) == (b.labels, b.log_evidence, b.model.columns)
    assert (a.model.noise.settings, a.draws.is_chain) == (b.model.noise.settings, b.draws.is_chain)
    assert a.theta.keys() == b.theta.keys()
    for name in a.theta:
        np.testing.assert_array_equal(a.theta[name], b.theta[name])


def test_a_part_of_weighted_draws_keeps_its_weight_beside_others(tmp_path):
    whole = random_posterior(0)
    part = whole[np.argsort(whole.weights)[:3]]
    assert part.draws.log_weights.max() < -0.5
    part.save(tmp_path / "part.npz")
    np.testing.assert_array_equal(ct.load(tmp_path / "part.npz").draws.log_weights, part.draws.log_weights)


def test_load_returns_what_was_saved(tmp_path):
    post = full_posterior(info={"seconds": 1.5, "accepted": np.array([0.5, 0.7])}, columns=["u", "v", "w"])
    post.save(tmp_path / "post.ct")
    again = ct.load(tmp_path / "post.ct")
    assert_same(again, post)
    assert again.model.columns == ("u", "v", "w")
    assert again.info["seconds"] == 1.5
    np.testing.assert_array_equal(again.info["accepted"], [0.5, 0.7])
    assert again.mcc_tree() == post.mcc_tree()
    again.save(tmp_path / "post.ct")  # over the file that was loaded
    assert_same(ct.load(str(tmp_path / "post.ct")), post)


def test_load_returns_missing_entries(tmp_path):
    X = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 4.0]])
    children, times = [[[0, 1], [2, 3]]] * 2, [[1.0, 2.0]] * 2
    post = posterior_of_trees(children, times, X=X, imputed=[[0.1, 0.2], [0.3, 0.4]])
    post.save(tmp_path / "post.ct")
    again = ct.load(tmp_path / "post.ct")
    np.testing.assert_array_equal(again.model.completed(again.draws, 1), [[1.0, 0.3], [0.4, 2.0], [3.0, 4.0]])


def kernels():
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    return [
        ct.Fixed(np.diag([1.0, 2.0, 3.0])),
        ct.Spherical(amplitude=2.0, priors={"amplitude": ct.InverseGamma(2.0, 3.0)}),
        ct.Diagonal([1.0, 2.0, 3.0], learn=("variances",)),
        ct.SquaredExponential(2.0, 0.5, inputs=[0.0, 1.0, 3.0], priors={"length2": ct.LogNormal(1.0, 2.0)}),
        ct.Kernel(RBF(0.7, (0.1, 10.0)) + ConstantKernel(0.1, "fixed") * WhiteKernel(0.3), learn="amplitude"),
    ]


@pytest.mark.parametrize("covariance", kernels(), ids=lambda c: type(c).__name__)
def test_load_returns_covariances(tmp_path, covariance):
    covariance = covariance.adapt(np.random.default_rng(0).normal(size=(7, 3)))
    full_posterior(covariance).save(tmp_path / "post.ct")
    again = ct.load(tmp_path / "post.ct").model.covariance
    assert type(again) is type(covariance)
    np.testing.assert_array_equal(again.matrix(3), covariance.matrix(3))
    assert again.learnt == covariance.learnt
    assert again.log_prior() == covariance.log_prior()
