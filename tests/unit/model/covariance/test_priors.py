"""Priors: densities, draws, marginals."""

import math

import numpy as np
import pytest
from scipy import stats

from coaltree._runtime.threads import single_threaded_blas
from coaltree.model.covariance import InverseGamma, InverseWishart, LogNormal, LogUniform
from tests.reference import covariance as reference
from tests.refusals import assert_refused


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


def test_priors_of_arrays_multiply():
    both = InverseGamma([1.0, 2.0], [3.0, 4.0]).log_density(np.array([0.5, 0.6]))
    assert both == pytest.approx(InverseGamma(1.0, 3.0).log_density(0.5) + InverseGamma(2.0, 4.0).log_density(0.6))
    shared = LogNormal(1.0, 2.0).log_density(np.array([0.5, 0.6]))
    assert shared == pytest.approx(LogNormal(1.0, 2.0).log_density(0.5) + LogNormal(1.0, 2.0).log_density(0.6))


@pytest.mark.parametrize("prior", [InverseGamma(3.0, 2.0), LogNormal(0.4, 1.2), LogUniform(0.1, 10.0)])
def test_priors_draw_from_their_densities(prior):
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
def test_priors_have_marginals_by_bayes_rule(prior):
    rng = np.random.default_rng(0)
    d = np.ndim(prior.scale)  # 0, or 2 columns
    sums, by_bayes = [], []
    for _ in range(2):
        U = rng.normal(size=(5, max(d, 1)))
        squares = U.T @ U if d else float(np.vdot(U, U))
        value = np.array([[1.1, -0.2], [-0.2, 0.6]]) if d else 1.3
        likelihood = stats.multivariate_normal(np.zeros(max(d, 1)), value).logpdf(U).sum()
        by_bayes.append(likelihood + prior.log_density(value) - prior.updated(5, squares).log_density(value))
        sums.append(prior.log_marginal(5, squares))
    assert sums[0] - sums[1] == pytest.approx(by_bayes[0] - by_bayes[1], abs=1e-10)


not_definite = np.array([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: InverseGamma(-1.0, 1.0), "positive"),
        (lambda: LogNormal(1.0, 0.0), "positive"),
        (lambda: LogUniform(2.0, 1.0), "low"),
        (lambda: LogNormal(np.nan, 1.0), "finite"),
        (lambda: InverseWishart(1.0, np.eye(3)), "df"),
        (lambda: InverseWishart(5.0, not_definite), "positive definite"),
        (lambda: InverseGamma(0, 0).sample(np.random.default_rng(0)), "improper"),
    ],
)
def test_priors_refuse_bad_input_in_one_sentence(make, says):
    assert_refused(make, says)
