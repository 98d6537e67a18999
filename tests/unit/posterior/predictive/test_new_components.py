"""Placing new rows where components carry the tree: densities are densities of x."""

import numpy as np
import pytest
from scipy.stats import multivariate_t

import coaltree as ct
from coaltree.errors import InputError
from coaltree.posterior.predictive import new_components, placement


@pytest.fixture(scope="module")
def posterior():
    X, _ = ct.simulate(14, 3, "spherical", random_state=3, noise=0.2)
    X = (X @ [[2.0, 0.5, 1.0], [0.0, 1.0, -1.0], [0.1, 0.0, 0.2]]) * [1.0, 30.0, 0.2] + [5.0, -100.0, 0.0]
    options = {"n_samples": 20, "n_warmup": 30, "n_chains": 1, "noise": 0.3, "random_state": 0, "progress": False}
    return ct.fit(X, ct.Components(2), **options)


N_REPLICATES = 16  # each with points of its own and, for what is missing, draws of its own


def mean_ratio(posterior, observed, n_points, monkeypatch, factor=1.0):
    """The integral of the density over observed entries, and its standard error, by points of a wide distribution."""
    X = posterior.model.X[:, observed]
    wide = multivariate_t(X.mean(axis=0), 1.5**2 * np.cov(X.T), df=4)
    totals = []
    for seed in range(N_REPLICATES):
        monkeypatch.setattr(new_components, "_SEED", seed)
        placement._kept.clear()
        points = np.full((n_points // N_REPLICATES, posterior.model.X.shape[1]), np.nan)
        points[:, observed] = wide.rvs(len(points), random_state=seed).reshape(len(points), -1)
        proposal = wide.logpdf(points[:, observed])
        log_density = posterior.place(points, n_clades=0, random_state=0).log_density
        totals.append(np.exp(log_density - proposal).mean() * factor ** len(observed))
    return np.mean(totals), np.std(totals, ddof=1) / np.sqrt(N_REPLICATES)


@pytest.mark.parametrize(
    ("observed", "n_points"),
    [([0, 1, 2], 6000), ([0, 2], 3000), *(pytest.param(o, 30_000, marks=pytest.mark.slow) for o in ([0, 1, 2], [1]))],
)
def test_density_integrates_to_one(posterior, observed, n_points, monkeypatch):
    total, error = mean_ratio(posterior, observed, n_points, monkeypatch)
    assert error < 0.1
    assert abs(total - 1.0) < 4.5 * error
    wrong, error = mean_ratio(posterior, observed, n_points, monkeypatch, factor=2.0)
    assert abs(wrong - 1.0) > 4.5 * error


def test_density_of_a_row_does_not_depend_on_those_beside_it(posterior):
    X = posterior.model.X + 0.01
    X[3, 1] = np.nan
    together = posterior.place(X, random_state=0).log_density
    alone = [posterior.place(X[i : i + 1], random_state=0).log_density[0] for i in range(len(X))]
    np.testing.assert_allclose(together, alone, rtol=1e-9)


def test_density_is_that_of_x_in_its_own_unit(posterior):
    X = posterior.model.X
    scaled = ct.fit(
        1000.0 * X, ct.Components(2), n_samples=20, n_warmup=30, n_chains=1, noise=0.3, random_state=0, progress=False
    )
    ours, others = posterior.place(X + 0.01).log_density, scaled.place(1000.0 * (X + 0.01)).log_density
    np.testing.assert_allclose(others, ours - 3.0 * np.log(1000.0), atol=1e-3)


def test_leave_one_out_is_refused_and_held_out_rows_are_not(posterior):
    with pytest.raises(InputError, match=r"components are found from all rows.*X_heldout"):
        posterior.loo()
    with pytest.raises(InputError, match="X_heldout"):
        ct.compare({"a": posterior, "b": posterior})
    assert ct.compare({"a": posterior, "b": posterior}, posterior.model.X + 0.1).names == ("a", "b")
