"""What all covariances share: parameters, adapting to data, the joint move of times and scale."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from coaltree.errors import InputError
from coaltree.model.covariance import (
    Diagonal,
    Fixed,
    Full,
    InverseGamma,
    InverseWishart,
    Kernel,
    LogNormal,
    Matern32,
    Scaled,
    Spherical,
    SquaredExponential,
)
from tests.reference import covariance as reference
from tests.refusals import assert_refused


def test_learn_names_what_is_learnt():
    assert SquaredExponential(1.0, 0.1).learnt == ("amplitude", "length2", "noise")
    assert SquaredExponential(1.0, 0.1, learn=False).learnt == ()
    assert SquaredExponential(1.0, 0.1, learn="length2").learnt == ("length2",)
    assert SquaredExponential(1.0, 0.1, learn=("noise", "amplitude")).learnt == ("amplitude", "noise")
    assert SquaredExponential(1.0, 0.0).learnt == ("amplitude", "length2")
    assert Diagonal().learnt == ("variances",)
    assert Diagonal(learn="amplitude").learnt == ("amplitude",)
    assert Fixed(np.eye(2)).learnt == ()
    assert Kernel(RBF(1.0, length_scale_bounds="fixed") + WhiteKernel(0.1)).learnt == ("amplitude", "k2__noise_level")


def test_with_theta_gives_back_the_covariance():
    for made in [Spherical(amplitude=2.0), Diagonal([1.0, 2.0]), Full(2 * np.eye(2)), SquaredExponential(2.0, 0.3)]:
        again = type(made)().with_theta(made.theta)
        np.testing.assert_array_equal(again.matrix(2), made.matrix(2))
    k = Kernel(RBF([1.0, 2.0]) + WhiteKernel(0.2), np.ones((2, 2)))
    other = k.with_theta({"k1__length_scale": np.array([3.0, 4.0]), "amplitude": 5.0})
    np.testing.assert_allclose(other.theta["k1__length_scale"], [3.0, 4.0])
    assert other.theta["amplitude"] == 5.0
    assert other.theta["k2__noise_level"] == pytest.approx(0.2)
    np.testing.assert_array_equal(k.theta["k1__length_scale"], [1.0, 2.0])


def test_covariances_are_immutable_and_can_be_pickled():
    made = Diagonal([1.0, 2.0])
    with pytest.raises(AttributeError):
        made.amplitude = 3.0
    with pytest.raises(ValueError, match="read-only"):
        made.variances[0] = 3.0
    again = pickle.loads(pickle.dumps(Matern32(1.0, 0.1, (2, 3)).adapt(np.random.default_rng(0).normal(size=(4, 6)))))
    np.testing.assert_array_equal(again.matrix(6), again.with_theta(again.theta).matrix(6))


def test_adapt_follows_the_scale_of_the_data():
    X = np.random.default_rng(4).normal(size=(30, 4)) * [1.0, 2.0, 3.0, 4.0]
    for family in [Spherical(), Diagonal(), Full(), SquaredExponential(), Matern32()]:
        small, large = family.adapt(X), family.adapt(1000 * X)
        np.testing.assert_allclose(large.matrix(4), 1e6 * small.matrix(4), rtol=1e-9)
        for name in small.theta:
            if name in ("amplitude", "variances"):
                np.testing.assert_allclose(large.priors[name].scale, 1e6 * np.asarray(small.priors[name].scale))
        assert np.trace(small.matrix(4)) == pytest.approx(X.var(axis=0, ddof=1).sum())


def test_adapt_keeps_given_values_and_priors():
    X = np.random.default_rng(5).normal(size=(10, 3))
    given = SquaredExponential(
        2.0, 0.5, amplitude=7.0, priors={"amplitude": InverseGamma(3, 2), "length2": LogNormal(1, 1)}
    )
    adapted = given.adapt(X)
    assert adapted.theta == given.theta
    assert adapted.priors["amplitude"] is given.priors["amplitude"]
    assert adapted.priors["length2"] is given.priors["length2"]
    assert adapted.adapt(1000 * X).priors == adapted.priors
    assert Spherical(learn=False).adapt(1000 * X).amplitude == 1.0


def test_adapt_refuses_values_whose_variances_overflow():
    with pytest.raises(InputError, match="rescale X"):
        Spherical().adapt(np.array([[1e200], [-1e200]]))
    for scale in (1e-160, 1e-300):  # their squares would be 0, or could not be inverted
        with pytest.raises(InputError, match="differ too little"):
            Full().adapt(scale * np.eye(3))


def scale_cases():
    """Covariances, their log prior with the scale divided by c, and the number of parameters that it divides."""
    S0, Phi = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0, 0.2], [0.2, 0.8]])
    shapes, scales, amplitude = np.array([2.0, 3.0]), np.array([1.0, 4.0]), {"amplitude": InverseGamma(2.0, 3.0)}
    for made in (
        Spherical(amplitude=1.5, priors=amplitude),
        Scaled([1.5, 0.4], amplitude=1.5, priors=amplitude),
        SquaredExponential(2.0, 0.1, amplitude=0.7, priors=amplitude),
    ):
        yield made, lambda c, a=made.amplitude: reference.log_inverse_gamma(a / c, 2.0, 3.0), 1
    pairs = list(zip([1.5, 0.4], shapes, scales, strict=True))
    yield (
        Diagonal([1.5, 0.4], priors={"variances": InverseGamma(shapes, scales)}),
        lambda c: sum(reference.log_inverse_gamma(v / c, *ab) for v, *ab in pairs),
        2,
    )
    of_phi = {"Phi": InverseWishart(5.0, S0)}
    yield Full(Phi, priors=of_phi), lambda c: reference.log_inverse_wishart(Phi / c, 5.0, S0), 3


@pytest.mark.parametrize("case", list(scale_cases()), ids=lambda case: type(case[0]).__name__)
def test_scale_move_draws_its_exact_conditional(case):
    covariance, log_prior, dimension = case
    A, n_merges = 6.0, 4
    y = np.linspace(-6, 4, 4001)
    # Times have the Jacobian c^n_merges, the parameters c^-dimension; dy is the Haar measure of the scaling.
    log_p = np.array([log_prior(math.exp(v)) - A * math.exp(v) + (n_merges - dimension) * v for v in y])
    cdf = np.cumsum(np.exp(log_p - log_p.max()))
    rng = np.random.default_rng(7)
    draws = []
    for _ in range(3000):
        c, moved = covariance.scale_move(A, n_merges, rng)
        draws.append(math.log(c))
    np.testing.assert_allclose(moved.matrix(2) * c, covariance.matrix(2), rtol=1e-12)
    assert stats.kstest(draws, lambda q: np.interp(q, y, cdf / cdf[-1])).pvalue > 1e-4


def test_scale_move_with_noise_is_stationary():
    """Draws of (T, σ²) from p ∝ T^(m-1) e^{-AT} p(σ²) L(T, σ²), moved once, keep their distribution."""
    prior, m = InverseGamma(3.0, 2.0), 4
    rng = np.random.default_rng(8)

    # The move keeps T·σ² fixed and may change only T: with L depending on T, (T, σ²) are Gamma(m, 1.7) × prior.
    before_T = rng.standard_gamma(m, size=4000) / 1.7
    before_s = prior.sample(rng, size=4000)
    after = []
    for T, s in zip(before_T, before_s, strict=True):
        c, moved = Spherical(amplitude=s, priors={"amplitude": prior}).scale_move(
            T, m, rng, lambda c, T=T: -0.7 * c * T
        )
        after.append((T * c, moved.amplitude))
    after_T, after_s = np.array(after).T
    assert np.mean(after_T != before_T) > 0.99
    assert stats.kstest(after_T, stats.gamma(m, scale=1 / 1.7).cdf).pvalue > 1e-4
    assert stats.kstest(after_s, stats.invgamma(3.0, scale=2.0).cdf).pvalue > 1e-4
    # Negative control: forgetting the likelihood does not keep it.
    prior = {"amplitude": prior}
    pairs = zip(before_T, before_s, strict=True)
    wrong = [T * Spherical(amplitude=s, priors=prior).scale_move(T, m, rng)[0] for T, s in pairs]
    assert stats.kstest(wrong, stats.gamma(m, scale=1 / 1.7).cdf).pvalue < 1e-6


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Spherical(amplitude=0.0), "positive"),
        (lambda: Spherical(learn="length"), "no parameter"),
        (lambda: Spherical(priors={"length": LogNormal(1, 1)}), "no parameter"),
        (lambda: Spherical(priors={"amplitude": LogNormal(1, 1)}), "InverseGamma"),
        (lambda: Spherical(priors={"amplitude": 3.0}), "must be of type InverseGamma"),
        (lambda: Spherical().with_theta({"length": 1.0}), "no parameter"),
        (lambda: Spherical().log_prior(), "adapt"),
    ],
)
def test_covariances_refuse_bad_input_in_one_sentence(make, says):
    assert_refused(make, says)
