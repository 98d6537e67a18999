"""Posteriors put together: weights, evidence, chains, and what is refused."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import random_posterior


def test_concat_weighs_runs_by_their_evidence():
    a, b = random_posterior(1, n_trees=4), random_posterior(2, n_trees=8)
    raw = [rng_weights + np.log(3.0) for rng_weights in (a.draws.log_weights, b.draws.log_weights)]
    a = posterior_of_trees(a.draws.children, a.draws.times, log_weights=raw[0], log_evidence=-10.0)
    b = posterior_of_trees(b.draws.children, b.draws.times, log_weights=raw[1], log_evidence=-11.0)
    both = ct.concat([a, b])
    # the mean unnormalised weight of a run is its evidence
    weights = np.concatenate([a.weights * 4 * math.exp(-10), b.weights * 8 * math.exp(-11)])
    np.testing.assert_allclose(both.weights, weights / weights.sum())
    assert both.log_evidence == pytest.approx(math.log(weights.sum() / 12))
    assert not both.draws.is_chain
