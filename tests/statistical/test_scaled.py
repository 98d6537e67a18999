"""`Scaled` under `fit`, against the posterior of two rows by quadrature: one merge at time t,

p(φ, t | X) ∝ p(φ) e^-t Π_j N(x_1j - x_2j | 0, 2 t φ v_j) .
"""

import math
import warnings

import numpy as np
import pytest

from coaltree import InverseGamma, Scaled, fit

VARIANCES = np.array([1.0, 100.0, 0.01])
X = np.array([[0.0, 3.0, 0.2], [1.1, -9.0, 0.05]])
PRIOR = InverseGamma(3.0, 2.0)


def moments(variances):
    """Mean and standard deviation of log φ and log t, on a grid."""
    log_phi, log_t = np.meshgrid(np.linspace(-6, 6, 601), np.linspace(-12, 4, 801), indexing="ij")
    v = 2.0 * np.exp(log_t + log_phi)
    eps = np.sum((X[0] - X[1]) ** 2 / variances)
    log_density = -3.0 * log_phi - 2.0 * np.exp(-log_phi) - np.exp(log_t) + log_t - 1.5 * np.log(v) - 0.5 * eps / v
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    found = []
    for values in (log_phi, log_t):
        mean = np.sum(weight * values)
        found.append((mean, math.sqrt(np.sum(weight * (values - mean) ** 2))))
    return found


@pytest.mark.parametrize(("n_samples", "max_error"), [pytest.param(2000, 0.1, marks=pytest.mark.slow), (800, 0.15)])
def test_scaled_posterior_of_two_rows_equals_quadrature(n_samples, max_error):
    settings = {"n_samples": n_samples, "n_warmup": 50, "n_chains": 1, "random_state": 0, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        covariance = Scaled(VARIANCES, priors={"amplitude": PRIOR})
        post = fit(X, covariance, noise=0.0, **settings)
    draws = np.log([post.theta["amplitude"], post.draws.times[:, -1]])
    errors = draws.reshape(2, 40, n_samples // 40).mean(axis=2).std(axis=1, ddof=1) / math.sqrt(40)
    for values, error, (mean, sd) in zip(draws, errors, moments(VARIANCES), strict=True):
        assert error < max_error * sd
        assert abs(values.mean() - mean) < 4.5 * error
        assert abs(values.std() / sd - 1.0) < 0.15
    # Negative control: without the columns' variances it is another posterior.
    off = [abs(values.mean() - mean) / error
           for values, error, (mean, _) in zip(draws, errors, moments(np.ones(3)), strict=True)]  # fmt: skip
    assert max(off) > 10.0
