"""Mixtures of round clouds: the fit against scikit-learn's and SciPy's densities, the evidence against quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_t, norm
from sklearn.mixture import GaussianMixture

from coaltree.posterior.cloud_mixture import TAILS, _cost, _fitted, _shares, log_evidence


def two_groups(rng, n=80, p=3, apart=3.0):
    labels = np.arange(n) % 2
    return rng.standard_normal((n, p)) + apart * labels[:, None], labels


def test_normal_clouds_are_scikit_learns():
    """One variance for all clouds is scikit-learn's "tied" where the rows are many and round."""
    rows, labels = two_groups(np.random.default_rng(0), n=4000, p=2)
    ours = _fitted(rows, _shares(labels), np.inf)
    theirs = GaussianMixture(2, covariance_type="tied", means_init=[[0, 0], [3, 3]], tol=1e-6).fit(rows)
    np.testing.assert_allclose(ours.centres, theirs.means_, atol=0.02)
    assert ours.variance == pytest.approx(np.trace(theirs.covariances_) / 2, rel=0.01)
    assert ours.log_likelihood == pytest.approx(4000 * theirs.score(rows), abs=3.0)  # two parameters more


@pytest.mark.parametrize("df", [4.0, 10.0])
def test_the_likelihood_is_that_of_students_t(df):
    rows, labels = two_groups(np.random.default_rng(1))
    found = _fitted(rows, _shares(labels), df)
    density = sum(
        share * multivariate_t(centre, found.variance * np.eye(3), df).pdf(rows)
        for share, centre in zip(found.share.mean(axis=0), found.centres, strict=True)
    )
    assert found.log_likelihood == pytest.approx(np.log(density).sum(), abs=0.05)
    assert found.share.sum(axis=1) == pytest.approx(np.ones(80))


def test_an_odd_row_does_not_move_a_students_centre():
    rows, labels = two_groups(np.random.default_rng(2))
    rows[0] = 60.0
    heavy, light = (_fitted(rows, _shares(labels), df) for df in (4.0, np.inf))
    assert np.abs(heavy.centres[0]).max() < 0.7
    assert np.abs(light.centres).max() > 5


def test_the_cost_of_centres_against_quadrature():
    """Two groups of one column, far apart: ∫ L(c) N(apart; 0, u) d apart, the middle of the centres held where it is.

    With u, v and the shares as they were fitted; the shares cost log(n) / 2.
    """
    rng = np.random.default_rng(3)
    groups = rng.standard_normal(40) - 6.0, rng.standard_normal(40) + 6.0
    found = _fitted(np.concatenate(groups)[:, None], _shares(np.repeat([0, 1], 40)), np.inf)
    first, second = found.centres[:, 0]
    middle, apart = (first + second) / 2, (second - first) / np.sqrt(2)
    sd = np.sqrt(found.variance)

    def log_likelihood(apart):
        centres = middle - apart / np.sqrt(2), middle + apart / np.sqrt(2)
        return sum(norm.logpdf(group, centre, sd).sum() for group, centre in zip(groups, centres, strict=True))

    def relative(x):
        return np.exp(log_likelihood(x) - log_likelihood(apart)) * norm.pdf(x, 0, apart)

    integral, _ = quad(relative, apart - 2, apart + 2)
    assert _cost(found) == pytest.approx(-np.log(integral) + 0.5 * np.log(80), abs=0.01)


def test_the_best_start_counts():
    rows, labels = two_groups(np.random.default_rng(4))
    wrong = (np.arange(80) // 40).astype(int)
    both = log_evidence(rows, [wrong, labels])
    assert both.shape == (len(TAILS),)
    np.testing.assert_array_equal(both, log_evidence(rows, [labels, wrong]))
    assert both.max() > log_evidence(rows, [np.zeros(80, int)]).max() + 10
