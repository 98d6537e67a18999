"""Stability in words, and labels of any kind."""

import numpy as np
import pytest

from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import random_posterior


def test_read_labels_of_any_kind():
    post = random_posterior(4, n=10)
    labels = np.arange(10) % 3
    names = np.array(["a", "b", "c"])[labels]
    np.testing.assert_array_equal(post.membership(names), post.membership(labels))
    assert post.stability(names).clusters.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(("n_others", "word"), [(0, "stable"), (4, "stable"), (6, "doubtful"), (90, "dissolved")])
def test_stability_word_needs_the_lower_end_of_the_90_percent_interval(n_others, word):
    # Of a hundred trees some have (0 4) and (1 5) in place of (0 1), which has a similarity of 1 / 2 with a leaf alone.
    same = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    other = [[0, 4], [1, 5], [2, 3], [6, 7], [8, 9]]
    children = np.array([other] * n_others + [same] * (100 - n_others))
    post = posterior_of_trees(children, np.tile([1.0, 1.1, 1.2, 3.0, 5.0], (100, 1)))
    labels = np.array([0, 0, 1, 1, 2, 2])
    for level in (0.5, 0.9, 0.99):  # which is of the interval that is shown
        assert post.stability(labels, level=level).words[0] == word
