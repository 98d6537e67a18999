"""Convergence in sentences: figures beside limits, what is warned of, and how a run ended."""

import math
import warnings

import numpy as np
import pytest

from coaltree.errors import ConvergenceWarning
from coaltree.posterior.diagnostics.convergence import Figure, worst_figures
from coaltree.posterior.diagnostics.convergence_summary import ending, summarize, warn_if_poor
from coaltree.posterior.of_trees import posterior_of_trees
from tests.browser.posteriors import chain_posterior

FINE = {"log_joint": {"r_hat": 1.0, "ess": 400.0}}
LENGTH = ("n_warmup", "n_samples")


def settled(**changes):
    rng = np.random.default_rng(0)
    post = chain_posterior(12, 4, 800, amplitude=rng.gamma(30, 0.1, 800))
    options = {"theta": dict(post.theta), "chain": post.draws.chain, "log_joint": post.log_joint} | changes
    return posterior_of_trees(post.draws.children, post.draws.times, **options)


def figures_of(summary):
    return {figure.key: figure for figure in summary.figures}


def test_summary_sees_chains_that_disagree():
    summary = summarize(settled())
    assert {figure.grade for figure in summary.figures} == {"good"} == {summary.grade}
    assert set(summary.scalars) >= {"log_joint", "amplitude"}
    chain = np.arange(800) % 2
    amplitude = np.random.default_rng(0).normal(size=800) + 10 * chain
    figures = figures_of(summarize(settled(theta={"amplitude": amplitude}, chain=chain)))
    assert (figures["r_hat"].grade, figures["r_hat"].of) == ("poor", "amplitude")
    assert figures["ess"].grade == "poor"


def test_warning_says_what_is_poor_and_what_would_help():
    bad = {"log_joint": {"r_hat": 1.3, "ess": 7.0}}
    with pytest.warns(ConvergenceWarning, match=r"n_warmup and n_samples.*start=posterior\.$") as caught:
        warn_if_poor(worst_figures(bad), LENGTH)
    assert caught[0].message.findings == (
        "R-hat of log joint is 1.30 (at most 1.05)",
        "effective sample size of log joint is 7 (at least 50)",
    )
    with pytest.warns(ConvergenceWarning, match="they disagree about the clusters"):
        warn_if_poor([*worst_figures(FINE), Figure("clusters", 0.3)], LENGTH)
    with pytest.warns(ConvergenceWarning, match="their clusters are the same"):
        warn_if_poor([*worst_figures(bad), Figure("clusters", 0.0)], LENGTH)
    with pytest.warns(ConvergenceWarning, match="clusters, times and parameters may change") as caught:
        warn_if_poor(worst_figures(FINE | {"log_joint": {"r_hat": math.nan, "ess": math.nan}}), LENGTH)
    assert "R-hat is unknown" in caught[0].message.findings[0]
    assert "R-hat" not in str(caught[0].message)
    with warnings.catch_warnings(record=True) as caught:
        warn_if_poor([*worst_figures(FINE), Figure("clusters", 0.1)], LENGTH)
    assert caught == []


def test_ending_says_why_and_when():
    done = {"reason": "converged", "iterations": 1420, "thin": 1}
    expected = "converged after 1,420 iterations per chain, 30 of them warm-up"
    assert ending({"stopping": done, "n_warmup": 30}) == expected
    clock = done | {"reason": "max_seconds", "thin": 4}
    assert ending({"stopping": clock}) == "stopped at max_seconds after 1,420 iterations per chain, thinned by 4"
