"""Posteriors put together: weights, evidence, chains, and what is refused."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import grouped_posterior, random_posterior


def test_concat_of_parts_is_the_whole():
    post = random_posterior(6)
    again = ct.concat([post[:5], post[5:]])
    np.testing.assert_allclose(again.weights, post.weights, rtol=1e-12)
    assert list(again.trees) == list(post.trees)
    np.testing.assert_array_equal(again.log_joint, post.log_joint)


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


def test_concat_keeps_what_is_about_rows_where_all_have_the_same():
    post = grouped_posterior()
    both = ct.concat([post[:5], post[5:]])
    np.testing.assert_array_equal(both.model.X, post.model.X)
    np.testing.assert_array_equal(both.model.groups, post.model.groups)
    np.testing.assert_array_equal(both.draws.tail_scale, post.draws.tail_scale)
    assert both.model.row_labels == post.model.row_labels
    with pytest.raises(ct.InputError, match="Posterior 1 has another table than the first"):
        ct.concat([post, grouped_posterior(X=post.model.X + 1.0)])
