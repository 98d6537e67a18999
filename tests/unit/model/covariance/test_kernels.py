"""Covariances of kernels: matrices entry by entry, and what is refused."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from coaltree.errors import InputError
from coaltree.model.covariance import Kernel, Matern32, SquaredExponential
from tests.reference import covariance as reference
from tests.refusals import assert_refused


def test_squared_exponential_is_the_kernel_of_the_paper():
    made = SquaredExponential(2.5, 0.3, amplitude=1.7).matrix(6)
    np.testing.assert_allclose(made, reference.squared_exponential(6, 1.7, 2.5, 0.3), rtol=1e-14)


def test_squared_exponential_takes_inputs_of_any_dimension():
    inputs = np.random.default_rng(0).normal(size=(5, 3))
    made = SquaredExponential(0.7, 0.1, inputs).matrix(5)
    np.testing.assert_allclose(made, reference.squared_exponential(5, 1.0, 0.7, 0.1, inputs), rtol=1e-13)


def test_kernel_reads_scikit_learn_kernels():
    k = RBF(1.3) + WhiteKernel(0.4)
    inputs = np.linspace(0, 3, 6)
    slow = reference.squared_exponential(6, 2.0, 1.3**2, 0.4, inputs)
    np.testing.assert_allclose(Kernel(k, inputs, amplitude=2.0).matrix(6), slow, rtol=1e-9)


def test_kernel_noise_has_a_documented_floor():
    smooth = SquaredExponential(1e4, 0.0, learn=False)
    assert np.linalg.eigvalsh(smooth.matrix(30))[0] > 0.5e-10
    np.testing.assert_allclose(smooth.matrix(30), SquaredExponential(1e4, 1e-10, learn=False).matrix(30), rtol=0)
    assert np.isfinite(Matern32(1e6, 0.0, (5, 6), learn=False).whitener(30).log_det)


def test_learn_moves_only_the_named_parameter():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 5))
    start = SquaredExponential(1.0, 0.2, amplitude=1.5, learn="length2").adapt(X)
    moved = start.update(start.statistics(X), rng)
    assert moved.length2 != start.length2
    assert (moved.amplitude, moved.noise) == (1.5, 0.2)
    assert moved.scale_move(3.0, 19, rng) == (1.0, moved)


def test_kernel_may_have_fixed_factors():
    fixed = ConstantKernel(2.0, constant_value_bounds="fixed")
    assert Kernel(fixed * RBF(1.0)).learnt == ("amplitude", "k2__length_scale")
    assert "k1__noise_level" in Kernel(WhiteKernel(0.1) + DotProduct(1.0)).learnt


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(1.0, "fixed"),
        RBF(1e5) + WhiteKernel(1e-5),  # both at their bounds
        ConstantKernel(1, "fixed"),
    ],
)
def test_kernel_with_nothing_free_or_at_its_bounds_is_learnt(kernel):
    rng = np.random.default_rng(0)
    U = rng.normal(size=(20, 4))
    covariance = Kernel(kernel).adapt(U)
    for _ in range(5):
        before, covariance = covariance, covariance.update(covariance.statistics(U), rng)
        assert all(np.all(covariance.theta[name] != before.theta[name]) for name in covariance.learnt)
        assert np.isfinite(covariance.log_prior())


def test_kernel_that_is_not_positive_definite_is_refused():
    singular = Kernel(DotProduct(1e-9, sigma_0_bounds="fixed"), np.full((4, 1), 1e9))
    assert np.isfinite(singular.whitener(4).log_det)
    with pytest.raises(InputError, match="positive definite"):
        Kernel(ConstantKernel(0.0, constant_value_bounds="fixed")).whitener(3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: SquaredExponential(0.0, 0.1), "length2"),
        (lambda: SquaredExponential(1.0, -0.1), "noise"),
        (lambda: SquaredExponential(1.0, 0.0, learn="noise"), "noise=0"),
        (lambda: SquaredExponential(1.0, 0.1, [0.0, np.inf]), "inputs"),
        (lambda: SquaredExponential(1.0, 0.1, [0.0, 1.0]).matrix(3), "one per column"),
        (lambda: Kernel("rbf"), "scikit-learn"),
        (lambda: Kernel(RBF([1.0, 2.0])).check(3), "inputs of 1 column"),
        (lambda: Kernel(RBF(1.0, (0.1, np.inf))).adapt(np.eye(3)), "finite bounds"),
        (lambda: Kernel(RBF(1.0), [0.0, 1.0]).matrix(3), "one per column"),
    ],
)
def test_kernel_covariances_refuse_bad_input_in_one_sentence(make, says):
    assert_refused(make, says)
