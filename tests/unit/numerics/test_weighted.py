import numpy as np

from coaltree.numerics.weighted import pick_evenly, weighted_quantile


def test_draws_are_picked_evenly_along_the_weights():
    np.testing.assert_array_equal(pick_evenly(np.full(5, 0.2), 100), np.arange(5))
    np.testing.assert_array_equal(np.bincount(pick_evenly(np.array([0.5, 0.0, 0.3, 0.2]), 10)), [5, 0, 3, 2])
    np.testing.assert_array_equal(pick_evenly(np.full(100, 0.01), 4), [12, 37, 62, 87])


def test_a_draw_without_weight_is_never_picked_from_the_right():
    weights = np.array([0.0, 0.5, 0.0, 0.5, 0.0])
    np.testing.assert_array_equal(pick_evenly(weights, 4, offset=0.0, side="right"), [1, 1, 3, 3])


def test_weighted_quantile_is_numpys_inverted_cdf():
    rng = np.random.default_rng(5)
    for _ in range(50):
        values, weights = rng.integers(0, 8, 20).astype(float), rng.random(20)
        q = rng.random(4)
        expected = np.quantile(values, q, weights=weights, method="inverted_cdf")
        np.testing.assert_array_equal(weighted_quantile(values, weights, q), expected)
