"""Convergence: figures, limits, and what the warning says."""

import math
import warnings

import numpy as np
import pytest

from coaltree.errors import ConvergenceWarning
from coaltree.model.process.coalescent import simulate_tree
from coaltree.posterior import Posterior
from coaltree.posterior.diagnostics import convergence


def test_warning_says_what_would_help():
    bad = {"log_joint": {"r_hat": 1.3, "ess": 7.0}, "split_frequency_sd": 0.0}
    with pytest.warns(ConvergenceWarning, match=r"n_warmup and n_samples.*start=posterior\.$") as caught:
        convergence.warn_if_bad(bad)
    assert caught[0].message.findings == (
        "R-hat of log_joint is 1.30 (above 1.05)",
        "effective sample size of log_joint is 7 (below 100)",
    )
    with pytest.warns(
        ConvergenceWarning, match=r"increase max_iterations, or continue this run with start=posterior\.$"
    ):
        convergence.warn_if_bad(bad, increase="max_iterations")


def test_figures_see_a_chain_apart():
    rng = np.random.default_rng(0)
    tree = simulate_tree(4, rng)
    T = 400
    children, times = np.repeat(tree.children[None], T, 0), np.repeat(tree.times[None], T, 0)
    chain = np.repeat([0, 1], T // 2)
    times = times * np.exp(0.1 * rng.normal(size=(T, 1)))
    good = Posterior(children, times, log_joint=rng.normal(size=T), chain=chain, theta={"a": rng.normal(size=(T, 2))})
    found = convergence.figures(good)
    assert set(found) == {"log_joint", "root_time", "a", "split_frequency_sd"}
    assert found["log_joint"]["r_hat"] < 1.02
    assert found["log_joint"]["ess"] > 250
    assert found["split_frequency_sd"] == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        convergence.warn_if_bad(found)
    apart = Posterior(children, times, log_joint=rng.normal(size=T) + 2.0 * chain, chain=chain)
    with pytest.warns(ConvergenceWarning, match=r"R-hat of log_joint is 1\.\d"):
        convergence.warn_if_bad(convergence.figures(apart))
    constant = Posterior(children, np.repeat(tree.times[None], T, 0), log_joint=np.zeros(T), chain=chain)
    assert np.isnan(convergence.figures(constant)["root_time"]["r_hat"])


MET = {"r_hat": 1.01, "ess": 150.0, "topology_ess": 120.0, "split_frequency_sd": 0.03}


def test_targets_say_how_many_more_draws_are_needed():
    assert convergence.is_converged(MET)
    for change, factor in (({"r_hat": 1.06}, 3.0), ({"ess": 50.0}, 2.0), ({"topology_ess": 25.0}, 4.0)):
        assert not convergence.is_converged(MET | change)
        assert convergence.times_more_draws(MET | change) == pytest.approx(factor)
    assert convergence.times_more_draws(MET | {"split_frequency_sd": 0.1}) == pytest.approx(4.0)
    assert convergence.is_converged(dict.fromkeys(MET, math.nan))  # of what never changes
    assert not convergence.is_converged(MET | {"r_hat": math.inf})  # chains that never move


def test_limits_are_in_order():
    """A run that stops by itself is not warned of, and what is bad is warned of."""
    assert 1.0 < convergence.R_HAT_TARGET < convergence.R_HAT_ABOVE < convergence.R_HAT_BAD
    assert convergence.ESS_BELOW > convergence.ESS_BAD and convergence.SPLIT_SD_ABOVE < convergence.SPLIT_SD_BAD
