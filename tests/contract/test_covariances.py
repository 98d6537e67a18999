"""What every covariance must do, whatever its family."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from coaltree._runtime.threads import single_threaded_blas
from coaltree.model.covariance import (
    Components,
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
)
from tests.reference import covariance as reference

D = 6
A = np.random.default_rng(0).normal(size=(D, D))
AMPLITUDE = InverseGamma(4.0, 3.0)
LENGTH = LogNormal(1.5, 0.5)
NOISE = LogNormal(0.2, 0.6)

COVARIANCES = {
    "fixed": Fixed(A @ A.T + np.eye(D)),
    "spherical": Spherical(amplitude=2.0, priors={"amplitude": AMPLITUDE}),
    "scaled": Scaled(np.arange(1.0, D + 1), amplitude=2.0, priors={"amplitude": AMPLITUDE}),
    "diagonal": Diagonal(np.arange(1.0, D + 1), priors={"variances": InverseGamma(3.0, np.arange(1.0, D + 1))}),
    "diagonal, amplitude": Diagonal(np.arange(1.0, D + 1), learn="amplitude", priors={"amplitude": AMPLITUDE}),
    "full": Full(A @ A.T + np.eye(D), priors={"Phi": InverseWishart(D + 4.0, A @ A.T + np.eye(D))}),
    "full, amplitude": Full(A @ A.T + np.eye(D), learn="amplitude", priors={"amplitude": AMPLITUDE}),
    "components": Components(
        D,
        Phi=A @ A.T + np.eye(D),
        residual_variance=0.5,
        learn="Phi",
        priors={"Phi": InverseWishart(D + 4.0, A @ A.T + np.eye(D))},
        loadings=np.linalg.qr(np.random.default_rng(1).normal(size=(D + 2, D)))[0],
        centre=np.zeros(D + 2),
        scale=np.ones(D + 2),
    ),
    "squared exponential": SquaredExponential(
        2.0, 0.2, amplitude=1.5, priors={"amplitude": AMPLITUDE, "length2": LENGTH, "noise": NOISE}
    ),
    "squared exponential, length2": SquaredExponential(2.0, 0.2, learn="length2", priors={"length2": LENGTH}),
    "matern32, shared length": Matern32(
        1.5, 0.2, (2, 3), amplitude=1.5, priors={"amplitude": AMPLITUDE, "length": LENGTH, "noise": NOISE}
    ),
    "matern32, length per axis": Matern32(
        (1.5, 3.0), 0.2, (2, 3), priors={"amplitude": AMPLITUDE, "length": LENGTH, "noise": NOISE}
    ),
    "matern32, one axis": Matern32(
        1.5, 0.2, amplitude=1.5, priors={"amplitude": AMPLITUDE, "length": LENGTH, "noise": NOISE}
    ),
    "kernel": Kernel(
        RBF(1.5) + WhiteKernel(0.2),
        priors={"amplitude": AMPLITUDE, "k1__length_scale": LogUniform(0.5, 5.0), "k2__noise_level": NOISE},
    ),
}
LEARNT = {name: covariance for name, covariance in COVARIANCES.items() if covariance.learnt}


@pytest.fixture(autouse=True)
def _one_blas_thread():
    with single_threaded_blas():
        yield


def over(covariances):
    return pytest.mark.parametrize("covariance", covariances.values(), ids=covariances.keys())


@over(COVARIANCES)
def test_covariance_is_symmetric_and_positive_definite(covariance):
    Phi = covariance.matrix(D)
    np.testing.assert_allclose(Phi, Phi.T)
    assert np.linalg.eigvalsh(Phi)[0] > 0


@over(COVARIANCES)
def test_whitening_has_unit_covariance(covariance):
    whitener = covariance.whitener(D)
    Phi = covariance.matrix(D)
    B = whitener.whiten(np.eye(D))  # W = X B
    np.testing.assert_allclose(B.T @ Phi @ B, np.eye(D), atol=1e-10)
    C = whitener.color(np.eye(D))  # X = W C
    np.testing.assert_allclose(C.T @ C, Phi, atol=1e-10 * np.trace(Phi))
    X = np.random.default_rng(1).normal(size=(4, D))
    np.testing.assert_allclose(whitener.color(whitener.whiten(X)), X, atol=1e-10)
    assert whitener.log_det == pytest.approx(np.linalg.slogdet(Phi)[1])


@over(COVARIANCES)
def test_log_prior_and_theta_name_the_same_parameters(covariance):
    total = (
        sum(covariance.priors[name].log_density(value) for name, value in covariance.theta.items())
        if covariance.learnt
        else 0
    )
    assert covariance.log_prior() == pytest.approx(total)
    assert tuple(covariance.theta) == covariance.learnt


@over(LEARNT)
@pytest.mark.parametrize("n", [3, 40])
def test_update_does_not_change_its_argument_and_repeats(covariance, n):
    U = np.random.default_rng(2).normal(size=(n, D))
    before = covariance.matrix(D)
    first, second = (covariance.update(covariance.statistics(U), np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(first.matrix(D), second.matrix(D))
    np.testing.assert_array_equal(covariance.matrix(D), before)
    assert not np.array_equal(first.matrix(D), before)


def drawn_from_prior(covariance, rng):
    theta = {
        name: covariance.priors[name].sample(rng, size=np.shape(value) or None)
        for name, value in covariance.theta.items()
    }
    return covariance.with_theta(theta)


def scalars(covariance):
    """A few numbers that say where a covariance stands: log parameters, or log-diagonal and a correlation."""
    values = []
    for value in covariance.theta.values():
        if np.ndim(value) == 2:
            values += [*np.log(np.diag(value)[:2]), value[0, 1] / math.sqrt(value[0, 0] * value[1, 1])]
        else:
            values += list(np.log(np.ravel(value))[:2])
    return values


@pytest.mark.parametrize("n_draws", [pytest.param(500, marks=pytest.mark.slow), 120])
@over(LEARNT)
def test_update_keeps_the_joint_distribution(covariance, n_draws):
    """θ ~ prior, U ~ N(0, Φ_θ), θ' ~ update(U): θ' must again follow the prior, and (θ', U) the joint law."""
    rng = np.random.default_rng(4)
    before, after, wrong = [], [], []
    for _ in range(n_draws):
        drawn = drawn_from_prior(covariance, rng)
        U = drawn.whitener(D).color(rng.normal(size=(8, D)))
        statistics = drawn.statistics(U)
        updated = drawn.update(statistics, rng)
        before.append(scalars(drawn))
        after.append(scalars(updated))
        wrong.append(scalars(drawn.update(drawn.statistics(1.25 * U), rng)))
    before, after, wrong = np.array(before), np.array(after), np.array(wrong)
    fresh = np.array([scalars(drawn_from_prior(covariance, rng)) for _ in range(1000)])
    p_values = [stats.ks_2samp(after[:, j], fresh[:, j]).pvalue for j in range(fresh.shape[1])]
    assert min(p_values) > 1e-4
    assert np.all(before != after)
    # Negative control: contrasts that are too large by 25 % move the overall scale (where there is one to move).
    if covariance.learnt != ("length2",):
        assert min(stats.ks_2samp(wrong[:, j], fresh[:, j]).pvalue for j in range(fresh.shape[1])) < 1e-4


N_DRAWS = 1500


def test_update_of_conjugate_families_draws_from_the_analytic_posterior():
    rng = np.random.default_rng(5)
    U = rng.normal(size=(12, D)) * np.arange(1.0, D + 1)
    spherical = COVARIANCES["spherical"]
    draws = [spherical.update(spherical.statistics(U), rng).amplitude for _ in range(N_DRAWS)]
    exact = stats.invgamma(4.0 + 12 * D / 2, scale=3.0 + 0.5 * np.sum(U**2))
    assert stats.kstest(draws, exact.cdf).pvalue > 1e-4
    scaled = COVARIANCES["scaled"]
    draws = [scaled.update(scaled.statistics(U), rng).amplitude for _ in range(N_DRAWS)]
    exact = stats.invgamma(4.0 + 12 * D / 2, scale=3.0 + 0.5 * np.sum(U**2 / scaled.variances))
    assert stats.kstest(draws, exact.cdf).pvalue > 1e-4
    diagonal = COVARIANCES["diagonal"]
    draws = np.array([diagonal.update(diagonal.statistics(U), rng).variances for _ in range(N_DRAWS)])
    for j in range(D):
        exact = stats.invgamma(3.0 + 6, scale=(j + 1.0) + 0.5 * np.sum(U[:, j] ** 2))
        assert stats.kstest(draws[:, j], exact.cdf).pvalue > 1e-4
    full = COVARIANCES["full"]
    df, scale = D + 4.0 + 12, full.Phi + U.T @ U
    draws = np.array([full.update(full.statistics(U), rng).Phi for _ in range(N_DRAWS)])
    error = draws.std(axis=0) / math.sqrt(N_DRAWS)
    assert np.all(np.abs(draws.mean(axis=0) - scale / (df - D - 1)) < 4.5 * error)


@pytest.mark.parametrize(
    "family", ["squared exponential", *(pytest.param(slow, marks=pytest.mark.slow) for slow in ("matern32", "kernel"))]
)
def test_update_by_slice_sampling_agrees_with_a_grid_posterior(family):
    d, n = 4, 10
    rng = np.random.default_rng(6)
    truth = reference.squared_exponential(d, 0.8, 2.0, 0.3)
    U = rng.normal(size=(n, d)) @ np.linalg.cholesky(truth).T
    priors = {"amplitude": AMPLITUDE}
    if family == "squared exponential":
        start = SquaredExponential(2.0, 0.2, priors=priors | {"length2": LENGTH, "noise": NOISE})
        matrix = reference.squared_exponential
    elif family == "matern32":
        start = Matern32(2.0, 0.2, (2, 2), priors=priors | {"length": LENGTH, "noise": NOISE})

        def matrix(d, amplitude, length, noise):
            return reference.matern32_grid((2, 2), amplitude, (length, length), noise)
    else:
        bounds = {"k1__length_scale": LENGTH, "k2__noise_level": NOISE}
        start = Kernel(RBF(1.5) + WhiteKernel(0.2), priors=priors | bounds)

        def matrix(d, amplitude, length, noise):
            return reference.squared_exponential(d, amplitude, length**2, noise)

    def log_posterior(a, length, noise):
        """Density of (log amplitude, log length, log noise)."""
        values = [math.exp(v) for v in (a, length, noise)]
        log_prior = reference.log_inverse_gamma(values[0], 4.0, 3.0)
        log_prior += reference.log_normal_of_log(values[1], 1.5, 0.5) + reference.log_normal_of_log(values[2], 0.2, 0.6)
        return log_prior + a + length + noise + reference.log_normal_rows(U, matrix(d, *values))

    axes = [np.linspace(-1.8, 1.6, 18), np.linspace(-1.2, 2.2, 22), np.linspace(-4.2, 0.8, 18)]
    exact = reference.grid_moments(log_posterior, axes)
    statistics, draws = start.statistics(U), []
    covariance = start
    length = 40 if family != "kernel" else 15
    for _ in range(40 * length):
        covariance = covariance.update(statistics, rng)
        draws.append([math.log(value) for value in covariance.theta.values()])
    batches = np.array(draws).reshape(40, length, 3)
    for j, (mean, sd) in enumerate(exact):
        error = batches[:, :, j].mean(axis=1).std(ddof=1) / math.sqrt(40)
        assert error < 0.2 * sd
        assert abs(batches[:, :, j].mean() - mean) < 4.5 * error + 0.01 * sd
        spread = batches[:, :, j].std(axis=1)
        assert batches[:, :, j].std() == pytest.approx(
            sd, rel=0.05 + 4.5 * spread.std() / spread.mean() / math.sqrt(40)
        )
