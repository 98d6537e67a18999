"""R-hat and effective sample sizes: ArviZ's, computed for many scalars at once."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from coaltree.numerics.ess import mixing


def chains(n_chains, length, seed=0, k=12):
    """Autoregressive series from alternating to slow; some with a chain apart, one with equal values."""
    rng = np.random.default_rng(seed)
    shocks = rng.standard_normal((k, n_chains, length))
    draws = shocks.copy()
    for t in range(1, length):
        draws[..., t] = np.linspace(-0.6, 0.98, k)[:, None] * draws[..., t - 1] + shocks[..., t]
    draws[:3, 0] += 1.0
    draws[3, 0] *= 3.0
    draws[4] = np.round(draws[4])
    return draws


@pytest.mark.parametrize(("n_chains", "length"), [(2, 100), (2, 501), (4, 40)])
def test_mixing_is_arviz_s(n_chains, length):
    draws = chains(n_chains, length)
    r_hat, ess = mixing(draws)
    np.testing.assert_allclose(r_hat, array_stats.rhat(draws), rtol=1e-12)
    np.testing.assert_allclose(ess, array_stats.ess(draws, method="bulk"), rtol=0.01)


def test_mixing_compares_one_chain_with_itself():
    draws = chains(1, 200)
    draws[5, 0, 100:] += 3.0
    r_hat, ess = mixing(draws)
    assert r_hat[5] > 1.2
    np.testing.assert_allclose(ess, array_stats.ess(draws, method="bulk"), rtol=0.01)


def test_mixing_of_what_never_changes_is_nan():
    r_hat, ess = mixing(np.ones((2, 2, 10)))
    assert np.isnan(r_hat).all()
    assert np.isnan(ess).all()
