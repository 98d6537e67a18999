"""Every summary against the brute-force one, weights included, on posteriors small enough to list."""

import math

import numpy as np
import pytest

from coaltree.posterior.of_trees import posterior_of_trees

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
