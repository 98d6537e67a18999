import math
import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

from coaltree._runtime.threads import single_threaded_blas
from coaltree.errors import InputError
from coaltree.model.covariance import (
    Diagonal,
    Fixed,
    Full,
    InverseGamma,
    InverseWishart,
    Kernel,
    LogNormal,
    LogUniform,
    Matern32,
    Scaled,
    Spherical,
    SquaredExponential,
    as_covariance,
)
from tests.reference import covariance as reference

# -- matrices, against the definition entry by entry ----------------------------------------------------------------


def test_squared_exponential_is_the_paper_s_kernel():
    made = SquaredExponential(2.5, 0.3, amplitude=1.7).matrix(6)
    np.testing.assert_allclose(made, reference.squared_exponential(6, 1.7, 2.5, 0.3), rtol=1e-14)


def test_squared_exponential_takes_inputs_of_any_dimension():
    inputs = np.random.default_rng(0).normal(size=(5, 3))
    made = SquaredExponential(0.7, 0.1, inputs).matrix(5)
    np.testing.assert_allclose(made, reference.squared_exponential(5, 1.0, 0.7, 0.1, inputs), rtol=1e-13)


@pytest.mark.parametrize(
    ("grid", "length"), [((3, 4), (1.5, 4.0)), ((3, 4), 2.0), ((2, 3, 2), (1.0, 2.0, 3.0)), (None, 2.0)]
)
def test_matern32_is_separable_over_the_axes(grid, length):
    axes = grid or (5,)
    made = Matern32(length, 0.2, grid, amplitude=0.6).matrix(math.prod(axes))
    slow = reference.matern32_grid(axes, 0.6, np.broadcast_to(length, len(axes)), 0.2)
    np.testing.assert_allclose(made, slow, rtol=1e-13)


def test_one_axis_of_matern32_is_scikit_learn_s():
    np.testing.assert_allclose(
        Matern32(2.0, 0.2).matrix(7), Kernel(Matern(2.0, nu=1.5) + WhiteKernel(0.2)).matrix(7), rtol=1e-9
    )


def test_kernel_reads_scikit_learn_kernels():
    k = RBF(1.3) + WhiteKernel(0.4)
    inputs = np.linspace(0, 3, 6)
    slow = reference.squared_exponential(6, 2.0, 1.3**2, 0.4, inputs)
    np.testing.assert_allclose(Kernel(k, inputs, amplitude=2.0).matrix(6), slow, rtol=1e-9)


def test_noise_has_a_documented_floor():
    smooth = SquaredExponential(1e4, 0.0, learn=False)
    assert np.linalg.eigvalsh(smooth.matrix(30))[0] > 0.5e-10
    np.testing.assert_allclose(smooth.matrix(30), SquaredExponential(1e4, 1e-10, learn=False).matrix(30), rtol=0)
    assert np.isfinite(Matern32(1e6, 0.0, (5, 6), learn=False).whitener(30).log_det)


# -- priors ---------------------------------------------------------------------------------------------------------


def test_priors_are_their_densities():
    x = 0.7
    assert InverseGamma(2.0, 3.0).log_density(x) == pytest.approx(reference.log_inverse_gamma(x, 2.0, 3.0), abs=1e-12)
    assert LogNormal(0.4, 1.2).log_density(x) == pytest.approx(reference.log_normal_of_log(x, 0.4, 1.2), abs=1e-12)
    assert LogUniform(0.1, 10.0).log_density(x) == pytest.approx(-math.log(x) - math.log(math.log(100.0)), abs=1e-12)
    assert LogUniform(0.1, 10.0).log_density(11.0) == -math.inf
    assert InverseGamma(0, 0).log_density(x) == pytest.approx(-math.log(x))
    Phi, scale = np.array([[1.0, 0.3], [0.3, 0.5]]), np.array([[2.0, -0.4], [-0.4, 1.0]])
    slow = reference.log_inverse_wishart(Phi, 4.0, scale)
    assert InverseWishart(4.0, scale).log_density(Phi) == pytest.approx(slow, abs=1e-11)


def test_array_priors_multiply():
    both = InverseGamma([1.0, 2.0], [3.0, 4.0]).log_density(np.array([0.5, 0.6]))
    assert both == pytest.approx(InverseGamma(1.0, 3.0).log_density(0.5) + InverseGamma(2.0, 4.0).log_density(0.6))
    shared = LogNormal(1.0, 2.0).log_density(np.array([0.5, 0.6]))
    assert shared == pytest.approx(LogNormal(1.0, 2.0).log_density(0.5) + LogNormal(1.0, 2.0).log_density(0.6))


@pytest.mark.parametrize("prior", [InverseGamma(3.0, 2.0), LogNormal(0.4, 1.2), LogUniform(0.1, 10.0)])
def test_prior_draws_follow_the_density(prior):
    draws = np.sort(prior.sample(np.random.default_rng(1), size=4000))
    x = np.exp(np.linspace(math.log(1e-4), math.log(1e4), 20001))
    density = np.exp([prior.log_density(value) for value in x]) * x
    cdf = np.cumsum(density)
    assert cdf[-1] * math.log(x[1] / x[0]) == pytest.approx(1.0, abs=2e-3)
    assert stats.kstest(draws, lambda q: np.interp(q, x, cdf / cdf[-1])).pvalue > 1e-4


def test_inverse_wishart_draws_have_its_mean_and_marginals():
    scale, df = np.array([[2.0, -0.4], [-0.4, 1.0]]), 9.0
    rng = np.random.default_rng(2)
    with single_threaded_blas():
        draws = np.array([InverseWishart(df, scale).sample(rng) for _ in range(4000)])
    error = draws.std(axis=0) / math.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - scale / (df - 3)) < 4.5 * error)
    # A diagonal entry is inverse gamma with (df - d + 1)/2 and scale/2.
    assert stats.kstest(draws[:, 0, 0], stats.invgamma((df - 1) / 2, scale=1.0).cdf).pvalue > 1e-4


@pytest.mark.parametrize("prior", [InverseGamma(1.5, 0.7), InverseWishart(4.0, np.array([[1.0, 0.3], [0.3, 0.8]]))])
def test_marginals_are_likelihood_times_prior_over_posterior(prior):
    rng = np.random.default_rng(0)
    d = np.ndim(prior.scale)  # 0, or 2 columns
    sums, by_bayes = [], []
    for _ in range(2):
        U = rng.normal(size=(5, max(d, 1)))
        squares = U.T @ U if d else float(np.vdot(U, U))
        value = np.array([[1.1, -0.2], [-0.2, 0.6]]) if d else 1.3
        likelihood = stats.multivariate_normal(np.zeros(max(d, 1)), value).logpdf(U).sum()
        by_bayes.append(likelihood + prior.log_density(value) - prior.given(5, squares).log_density(value))
        sums.append(prior.log_marginal(5, squares))
    assert sums[0] - sums[1] == pytest.approx(by_bayes[0] - by_bayes[1], abs=1e-10)


# -- as_covariance and values ---------------------------------------------------------------------------------------


def test_names_arrays_and_objects_are_understood():
    assert isinstance(as_covariance("spherical", 3), Spherical)
    assert isinstance(as_covariance("diagonal", 3), Diagonal)
    assert isinstance(as_covariance("full", 3), Full)
    assert as_covariance("squared_exponential", 3).matrix(3).shape == (3, 3)
    fixed = as_covariance([[2.0, 0.0], [0.0, 1.0]], 2)
    assert isinstance(fixed, Fixed)
    assert as_covariance(fixed, 2) is fixed


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


def test_only_the_named_parameter_moves():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 5))
    start = SquaredExponential(1.0, 0.2, amplitude=1.5, learn="length2").adapt(X)
    moved = start.update(start.statistics(X), rng)
    assert moved.length2 != start.length2
    assert (moved.amplitude, moved.noise) == (1.5, 0.2)
    assert moved.scale_move(3.0, 19, rng) == (1.0, moved)


def test_theta_goes_round():
    for made in [Spherical(amplitude=2.0), Diagonal([1.0, 2.0]), Full(2 * np.eye(2)), SquaredExponential(2.0, 0.3)]:
        again = type(made)().with_theta(made.theta)
        np.testing.assert_array_equal(again.matrix(2), made.matrix(2))
    k = Kernel(RBF([1.0, 2.0]) + WhiteKernel(0.2), np.ones((2, 2)))
    other = k.with_theta({"k1__length_scale": np.array([3.0, 4.0]), "amplitude": 5.0})
    np.testing.assert_allclose(other.theta["k1__length_scale"], [3.0, 4.0])
    assert other.theta["amplitude"] == 5.0
    assert other.theta["k2__noise_level"] == pytest.approx(0.2)
    np.testing.assert_array_equal(k.theta["k1__length_scale"], [1.0, 2.0])


def test_values_are_immutable_and_can_be_sent_to_workers():
    made = Diagonal([1.0, 2.0])
    with pytest.raises(AttributeError):
        made.amplitude = 3.0
    with pytest.raises(ValueError, match="read-only"):
        made.variances[0] = 3.0
    again = pickle.loads(pickle.dumps(Matern32(1.0, 0.1, (2, 3)).adapt(np.random.default_rng(0).normal(size=(4, 6)))))
    np.testing.assert_array_equal(again.matrix(6), again.with_theta(again.theta).matrix(6))


# -- adapt ----------------------------------------------------------------------------------------------------------


def test_defaults_follow_the_scale_of_the_data():
    X = np.random.default_rng(4).normal(size=(30, 4)) * [1.0, 2.0, 3.0, 4.0]
    for family in [Spherical(), Diagonal(), Full(), SquaredExponential(), Matern32()]:
        small, large = family.adapt(X), family.adapt(1000 * X)
        np.testing.assert_allclose(large.matrix(4), 1e6 * small.matrix(4), rtol=1e-9)
        for name in small.theta:
            if name in ("amplitude", "variances"):
                np.testing.assert_allclose(large.priors[name].scale, 1e6 * np.asarray(small.priors[name].scale))
        assert np.trace(small.matrix(4)) == pytest.approx(X.var(axis=0, ddof=1).sum())


def test_adapt_leaves_what_was_given():
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


def test_values_beyond_variances_are_refused():
    with pytest.raises(InputError, match="rescale X"):
        Spherical().adapt(np.array([[1e200], [-1e200]]))
    for scale in (1e-160, 1e-300):  # their squares would be 0, or could not be inverted
        with pytest.raises(InputError, match="differ too little"):
            Full().adapt(scale * np.eye(3))


def test_adapt_sees_through_missing_and_constant_columns():
    X = np.random.default_rng(6).normal(size=(40, 3))
    X[:, 1] = 5.0
    X[3, 0] = np.nan
    adapted = Diagonal().adapt(X)
    assert adapted.variances[0] == pytest.approx(np.nanvar(X[:, 0], ddof=1))
    assert adapted.variances[1] > 0
    assert Spherical().adapt(np.full((3, 2), 7.0)).amplitude == 1.0


def test_every_column_has_a_prior_of_its_own_unit():
    X = np.random.default_rng(7).normal(size=(30, 4))
    units = np.array([1e-9, 1.0, 1e5, 1e9])
    for family in (Scaled(), Diagonal(), Full()):
        one, other = family.adapt(X), family.adapt(X * units)
        np.testing.assert_allclose(other.matrix(4), one.matrix(4) * np.outer(units, units), rtol=1e-12)
        assert other.log_prior() == pytest.approx(
            one.log_prior() - {Scaled: 0, Diagonal: 2, Full: 5}[type(family)] * np.log(units).sum(), rel=1e-12
        )


def test_scaled_has_the_variances_of_the_columns_and_one_parameter():
    X = np.random.default_rng(8).normal(size=(50, 3)) * [1.0, 10.0, 1e-4]
    X[4, 1] = np.nan
    adapted = Scaled().adapt(X)
    np.testing.assert_allclose(adapted.variances, np.nanvar(X, axis=0, ddof=1), rtol=1e-12)
    assert adapted.theta == {"amplitude": 1.0}
    assert (adapted.priors["amplitude"].shape, adapted.priors["amplitude"].scale) == (0.5, 0.5)
    np.testing.assert_allclose(Scaled(learn=False).adapt(X).variances, adapted.variances)
    given = Scaled([1.0, 2.0, 4.0]).adapt(X)
    np.testing.assert_array_equal(given.variances, [1.0, 2.0, 4.0])
    assert given.amplitude == pytest.approx(np.mean(adapted.variances / given.variances))
    with pytest.raises(InputError, match="no parameter 'variances'"):
        Scaled(learn="variances")
    with pytest.raises(InputError, match="variances is for 3 columns"):
        given.check(4)


# -- the joint move -------------------------------------------------------------------------------------------------


def scale_cases():
    S0 = np.array([[2.0, 0.5], [0.5, 1.0]])
    shapes, scales = np.array([2.0, 3.0]), np.array([1.0, 4.0])
    yield (
        Spherical(amplitude=1.5, priors={"amplitude": InverseGamma(2.0, 3.0)}),
        lambda c: reference.log_inverse_gamma(1.5 / c, 2.0, 3.0),
        1,
    )
    yield (
        Scaled([1.5, 0.4], amplitude=1.5, priors={"amplitude": InverseGamma(2.0, 3.0)}),
        lambda c: reference.log_inverse_gamma(1.5 / c, 2.0, 3.0),
        1,
    )
    yield (
        Diagonal([1.5, 0.4], priors={"variances": InverseGamma(shapes, scales)}),
        lambda c: sum(
            reference.log_inverse_gamma(v / c, *ab) for v, *ab in zip([1.5, 0.4], shapes, scales, strict=True)
        ),
        2,
    )
    Phi = np.array([[1.0, 0.2], [0.2, 0.8]])
    yield (
        Full(Phi, priors={"Phi": InverseWishart(5.0, S0)}),
        lambda c: reference.log_inverse_wishart(Phi / c, 5.0, S0),
        3,
    )
    yield (
        SquaredExponential(2.0, 0.1, amplitude=0.7, priors={"amplitude": InverseGamma(2.0, 3.0)}),
        lambda c: reference.log_inverse_gamma(0.7 / c, 2.0, 3.0),
        1,
    )


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
    wrong = [
        T * Spherical(amplitude=s, priors={"amplitude": prior}).scale_move(T, m, rng)[0]
        for T, s in zip(before_T, before_s, strict=True)
    ]
    assert stats.kstest(wrong, stats.gamma(m, scale=1 / 1.7).cdf).pvalue < 1e-6


# -- refusals -------------------------------------------------------------------------------------------------------

not_definite = np.array([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Fixed(not_definite), "positive definite"),
        (lambda: Fixed([[1.0, 0.0]]), "square"),
        (lambda: Fixed([[1.0, np.nan], [np.nan, 1.0]]), "finite"),
        (lambda: Fixed([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (lambda: Fixed("abc"), "matrix"),
        (lambda: Full(not_definite), "positive definite"),
        (lambda: Full(priors={"Phi": InverseGamma(1, 1)}), "InverseWishart"),
        (lambda: Full(learn=("Phi", "amplitude")), "not both"),
        (lambda: Spherical(amplitude=0.0), "positive"),
        (lambda: Spherical(amplitude=np.inf), "amplitude must be a positive number, not inf"),
        (lambda: Spherical(amplitude="big"), "number"),
        (lambda: Spherical(learn="length"), "no parameter"),
        (lambda: Spherical(learn=None), "learn"),
        (lambda: Spherical(priors=InverseGamma(1, 1)), "dict"),
        (lambda: Spherical(priors={"length": LogNormal(1, 1)}), "no parameter"),
        (lambda: Spherical(priors={"amplitude": LogNormal(1, 1)}), "InverseGamma"),
        (lambda: Spherical(priors={"amplitude": 3.0}), "prior such as"),
        (lambda: Spherical().with_theta({"length": 1.0}), "no parameter"),
        (lambda: Diagonal([1.0, -1.0]), "positive"),
        (lambda: Diagonal([[1.0]]), "1-d"),
        (lambda: Diagonal(priors={"variances": InverseGamma([1, 1, 1], 1)}).check(2), "2 columns"),
        (lambda: SquaredExponential(0.0, 0.1), "length2"),
        (lambda: SquaredExponential(1.0, -0.1), "noise"),
        (lambda: SquaredExponential(1.0, np.nan), "noise"),
        (lambda: SquaredExponential(1.0, 0.0, learn="noise"), "noise=0"),
        (lambda: SquaredExponential(1.0, 0.1, [0.0, np.inf]), "inputs"),
        (lambda: SquaredExponential(1.0, 0.1, ["a", "b"]), "inputs"),
        (lambda: SquaredExponential(1.0, 0.1, [0.0, 1e200]), "inputs"),
        (lambda: SquaredExponential(1.0, 0.1, [0.0, 1.0]).matrix(3), "one per column"),
        (lambda: Matern32(1.0, 0.1, (3, 4)).check(13), "3 × 4"),
        (lambda: Matern32(1.0, 0.1, (3, 4.5)), "grid"),
        (lambda: Matern32(1.0, 0.1, 12), "grid"),
        (lambda: Matern32((1.0, 2.0, 3.0), 0.1, (3, 4)), "axes"),
        (lambda: Matern32((1.0, -2.0), 0.1, (3, 4)), "length"),
        (lambda: Kernel("rbf"), "scikit-learn"),
        (lambda: Kernel(RBF), "scikit-learn"),
        (lambda: Kernel(RBF([1.0, 2.0])).check(3), "inputs of 1 column"),
        (lambda: Kernel(RBF(1.0, (0.1, np.inf))).adapt(np.eye(3)), "finite bounds"),
        (lambda: Kernel(ConstantKernel(2.0) * RBF(1.0)), "ConstantKernel"),
        (lambda: Kernel(RBF(1.0) * (ConstantKernel(2.0) * RBF(2.0))), "ConstantKernel"),
        (lambda: Kernel(ConstantKernel(2.0) * RBF(1.0) + WhiteKernel(0.1)), "ConstantKernel"),
        (lambda: Kernel(RBF(1.0), [0.0, 1.0]).matrix(3), "one per column"),
        (lambda: as_covariance("sphere"), "sphere"),
        (lambda: as_covariance(Spherical), "not the class"),
        (lambda: as_covariance(3.0), "covariance"),
        (lambda: as_covariance(np.eye(3), 4), "4"),
        (lambda: InverseGamma(-1.0, 1.0), "positive"),
        (lambda: LogNormal(1.0, 0.0), "positive"),
        (lambda: LogUniform(2.0, 1.0), "low"),
        (lambda: LogNormal(np.nan, 1.0), "finite"),
        (lambda: InverseWishart(1.0, np.eye(3)), "df"),
        (lambda: InverseWishart(5.0, not_definite), "positive definite"),
        (lambda: InverseGamma(0, 0).sample(np.random.default_rng(0)), "improper"),
        (lambda: Spherical().log_prior(), "adapt"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, says):
    with pytest.raises(InputError, match=says) as caught:
        make()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message


def test_fixed_factors_inside_a_kernel_are_fine():
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
def test_kernels_with_nothing_free_or_at_their_bounds_are_learnt(kernel):
    rng = np.random.default_rng(0)
    U = rng.normal(size=(20, 4))
    covariance = Kernel(kernel).adapt(U)
    for _ in range(5):
        before, covariance = covariance, covariance.update(covariance.statistics(U), rng)
        assert all(np.all(covariance.theta[name] != before.theta[name]) for name in covariance.learnt)
        assert np.isfinite(covariance.log_prior())


def test_a_prior_stands_in_for_bounds_that_are_not_finite():
    covariance = Kernel(RBF(1.0, (0.1, np.inf)), priors={"length_scale": LogNormal(1.0, 1.0)}).adapt(np.eye(3))
    assert covariance.update(covariance.statistics(np.eye(3)), np.random.default_rng(0)).theta["length_scale"] > 0.1


def test_a_kernel_that_is_not_positive_definite_says_so():
    singular = Kernel(DotProduct(1e-9, sigma_0_bounds="fixed"), np.full((4, 1), 1e9))
    assert np.isfinite(singular.whitener(4).log_det)
    with pytest.raises(InputError, match="positive definite"):
        Kernel(ConstantKernel(0.0, constant_value_bounds="fixed")).whitener(3)
