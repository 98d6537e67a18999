"""Draws: parts of them, and several put together."""

import numpy as np

from coaltree.model.draws import Draws, concatenate


def test_draws_are_cut_and_concatenated():
    children, named = np.zeros((4, 1, 2), np.int32), {"a": np.arange(4.0)}
    draws = Draws(children, np.ones((4, 1)), np.zeros(4), np.arange(4.0), info=named, theta=named)
    first, last = draws.part(slice(0, 1)), draws.part(slice(1, None))
    both = concatenate([first, last])
    np.testing.assert_array_equal(both.theta["a"], draws.theta["a"])
    np.testing.assert_array_equal(both.log_joint, draws.log_joint)
    assert concatenate([first, last._replace(info={})]).info == {}  # which only some blocks have
