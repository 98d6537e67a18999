"""Every summary against the brute-force one, weights included, on posteriors small enough to list."""

import math

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import random_posterior

# What it holds


def test_weights_are_normalised_from_logs():
    children = np.tile([[0, 1], [2, 3]], (3, 1, 1))
    post = posterior_of_trees(
        children, np.tile([1.0, 2.0], (3, 1)), log_weights=[1000.0, 1000.0 + math.log(2), -np.inf]
    )
    np.testing.assert_allclose(post.weights, [1 / 3, 2 / 3, 0.0])
    assert post.ess == pytest.approx(1 / (1 / 9 + 4 / 9))
    assert post.log_evidence is None
    np.testing.assert_array_equal(post.draws.chain, [0, 0, 0])
    assert post.labels == ("0", "1", "2")


def test_posterior_is_read_only(post):
    draws = post.draws
    for array in (draws.children, draws.times, post.weights, draws.log_weights, draws.chain, post.log_joint):
        with pytest.raises(ValueError):
            array[0] = 1
    for name in ("model", "draws", "info", "labels", "weights"):
        with pytest.raises(AttributeError):
            setattr(post, name, None)


# Clades


def test_map_tree(post):
    possible = [t for t in range(len(post)) if post.weights[t] > 0]
    best = max(possible, key=lambda t: post.log_joint[t])
    assert post.map_tree() == post.trees[best]


# Parts and wholes


def test_thin_and_slices_keep_draws_together():
    chain = np.repeat([0, 1], 6)
    post = random_posterior(6, chain=chain, theta={"ell": np.arange(12.0), "m": np.ones((12, 2, 2))})
    part = post[3:9]
    assert [t.times.tolist() for t in part.trees] == [post.trees[t].times.tolist() for t in range(3, 9)]
    np.testing.assert_allclose(part.weights, post.weights[3:9] / post.weights[3:9].sum())
    assert part.theta["ell"].tolist() == list(range(3, 9))
    assert part.theta["m"].shape == (6, 2, 2)
    assert part.draws.chain.tolist() == [0, 0, 0, 1, 1, 1]
    assert part.log_evidence is None and post[:].log_evidence == post.log_evidence
    thinned = post.thin(4)
    assert thinned.theta["ell"].tolist() == [0, 4, 6, 10]
    assert post[np.arange(12) % 2 == 0].theta["ell"].tolist() == [0, 2, 4, 6, 8, 10]
    with pytest.raises(ct.InputError, match=r"post\.trees"):
        post[3]
    with pytest.raises(ct.InputError, match="at least one"):
        post[12:]
    with pytest.raises(ct.InputError, match="whole number"):
        post.thin(0)
