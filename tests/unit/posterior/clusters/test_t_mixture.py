"""Mixtures against scikit-learn's and SciPy's densities, their evidence against quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import invwishart, multivariate_normal, multivariate_t, norm
from sklearn.mixture import GaussianMixture

from coaltree.posterior.clusters import t_mixture
from coaltree.posterior.clusters.t_mixture import DEGREES_OF_FREEDOM, fit_mixture, mixture_evidence


def shares(labels):
    return np.eye(labels.max() + 1)[labels]


def two_groups(rng, n=80, p=3, apart=3.0):
    labels = np.arange(n) % 2
    return rng.standard_normal((n, p)) + apart * labels[:, None], labels


def test_fit_mixture_of_normals_is_scikit_learns():
    """One variance for all components is scikit-learn's "tied" where the rows are many and spherical."""
    rows, labels = two_groups(np.random.default_rng(0), n=4000, p=2)
    ours = fit_mixture(rows, shares(labels), np.inf)
    theirs = GaussianMixture(2, covariance_type="tied", means_init=[[0, 0], [3, 3]], tol=1e-6).fit(rows)
    np.testing.assert_allclose(ours.centres, theirs.means_, atol=0.02)
    assert ours.shape.whitening**-2 == pytest.approx(np.trace(theirs.covariances_) / 2, rel=0.01)
    assert ours.log_likelihood == pytest.approx(4000 * theirs.score(rows), abs=3.0)  # two parameters more


@pytest.mark.parametrize("df", [4.0, 10.0])
def test_fit_mixture_likelihood_is_that_of_students_t(df):
    rows, labels = two_groups(np.random.default_rng(1))
    found = fit_mixture(rows, shares(labels), df)
    density = sum(
        share * multivariate_t(centre, found.shape.whitening**-2 * np.eye(3), df).pdf(rows)
        for share, centre in zip(found.share.mean(axis=0), found.centres, strict=True)
    )
    assert found.log_likelihood == pytest.approx(np.log(density).sum(), abs=0.05)
    assert found.share.sum(axis=1) == pytest.approx(np.ones(80))


def test_fit_mixture_of_students_t_is_not_moved_by_an_outlier():
    rows, labels = two_groups(np.random.default_rng(2))
    rows[0] = 60.0
    heavy, light = (fit_mixture(rows, shares(labels), df) for df in (4.0, np.inf))
    assert np.abs(heavy.centres[0]).max() < 0.7
    assert np.abs(light.centres).max() > 5


def test_mixture_cost_of_centres_against_quadrature():
    """Two groups of one column, far apart: ∫ L(c) N(apart; 0, u) d apart, the middle of the centres held where it is.

    With u, v and the shares as they were fitted; the shares cost log(n) / 2.
    """
    rng = np.random.default_rng(3)
    groups = rng.standard_normal(40) - 6.0, rng.standard_normal(40) + 6.0
    found = fit_mixture(np.concatenate(groups)[:, None], shares(np.repeat([0, 1], 40)), np.inf)
    first, second = found.centres[:, 0]
    middle, apart = (first + second) / 2, (second - first) / np.sqrt(2)
    sd = 1 / found.shape.whitening

    def log_likelihood(apart):
        centres = middle - apart / np.sqrt(2), middle + apart / np.sqrt(2)
        return sum(norm.logpdf(group, centre, sd).sum() for group, centre in zip(groups, centres, strict=True))

    def relative(x):
        return np.exp(log_likelihood(x) - log_likelihood(apart)) * norm.pdf(x, 0, apart)

    integral, _ = quad(relative, apart - 2, apart + 2)
    assert found.cost() == pytest.approx(-np.log(integral) + 0.5 * np.log(80), abs=0.01)


def test_mixture_evidence_has_every_shape_and_tail_and_names_the_components():
    rows, labels = two_groups(np.random.default_rng(4))
    evidence, components = mixture_evidence(rows, labels)
    assert evidence.shape == (2, len(DEGREES_OF_FREEDOM))
    assert np.mean(components == labels) > 0.9
    assert evidence.max() > mixture_evidence(rows, np.zeros(80, int))[0].max() + 10
    assert mixture_evidence(rows[:, :1], labels)[0].shape == (1, len(DEGREES_OF_FREEDOM))


def long_component(rng, n=150, p=4):
    return rng.standard_normal((n, p)) * np.array([6.0, 2.0, 1.0, 1.0])


@pytest.mark.parametrize(("stretch", "p"), [(1.0, 12), (6.0, 6)])
def test_mixture_evidence_leaves_out_only_what_adds_nothing(stretch, p, monkeypatch):
    """Whichever shape comes first, and although one of them is not fitted to its end."""
    rows, labels = two_groups(np.random.default_rng(5), n=300, p=p)
    rows = rows * np.linspace(1.0, stretch, p)
    in_order = [mixture_evidence(rows, labels, expected) for expected in (None, np.array([[0.0], [1.0]]))]
    monkeypatch.setattr(t_mixture, "_NEGLIGIBLE", np.inf)
    whole, components = mixture_evidence(rows, labels)
    assert whole.max() - whole.max(axis=1).min() > 45.0
    for found, others in in_order:
        assert np.logaddexp.reduce(found, axis=None) == pytest.approx(np.logaddexp.reduce(whole, axis=None), abs=1e-9)
        np.testing.assert_array_equal(others, components)


def test_shape_cost_is_that_of_inverse_wishart_densities():
    """∫ N(S | W) p(W) dW = N(S | W) p(W) / p(W | S) at any W, the last two inverse Wishart densities."""
    rng = np.random.default_rng(5)
    rows = long_component(rng)
    found = fit_mixture(rows, np.ones((150, 1)), np.inf, learn_shape=True)
    W = np.linalg.inv(found.shape.whitening @ found.shape.whitening.T)
    scatter = (rows - found.centres).T @ (rows - found.centres)
    df = 6 + 5
    variance = (156 * W - scatter)[0, 0] / 6
    prior = 6 * variance * np.eye(4)
    np.testing.assert_allclose(W, (scatter + prior) / 156, rtol=1e-9, atol=1e-9)
    for at in (W, 1.3 * W + 0.1 * np.eye(4)):
        log_likelihood = multivariate_normal(found.centres[0], at).logpdf(rows).sum()
        log_marginal = (
            log_likelihood + invwishart.logpdf(at, df, prior) - invwishart.logpdf(at, df + 150, prior + scatter)
        )
        cost = multivariate_normal(found.centres[0], W).logpdf(rows).sum() - log_marginal
        assert found.shape.cost() == pytest.approx(cost, rel=1e-6)
    marginal = {v: _marginal(scatter, 150, df, 6 * v * np.eye(4)) for v in (0.9 * variance, variance, 1.1 * variance)}
    assert max(marginal, key=marginal.__getitem__) == variance
    assert found.log_likelihood == pytest.approx(multivariate_normal(found.centres[0], W).logpdf(rows).sum(), abs=1e-6)


def _marginal(scatter, n, df, prior):
    """log ∫ N(S | W) p(W) dW up to what does not depend on the prior's scale."""
    return 0.5 * df * np.linalg.slogdet(prior)[1] - 0.5 * (df + n) * np.linalg.slogdet(prior + scatter)[1]


def test_mixture_evidence_of_a_long_component_is_highest_for_one_where_its_shape_is_learnt():
    rows = long_component(np.random.default_rng(6))
    halves = (rows[:, 0] > np.median(rows[:, 0])).astype(int)
    one, two = mixture_evidence(rows, np.zeros(150, int))[0], mixture_evidence(rows, halves)[0]
    assert two[0].max() > one[0].max() + 10  # spherical components
    assert one[1].max() > max(one[0].max(), two.max()) + 2


@pytest.mark.filterwarnings("error")
def test_mixture_evidence_of_equal_rows_is_highest_for_one_component():
    one, two = (mixture_evidence(np.zeros((12, 2)), start)[0] for start in (np.zeros(12, int), np.arange(12) // 6))
    assert np.isfinite(one).all() and one.max() > two.max()
