import numpy as np

from coaltree.numerics.weighted import pick_evenly, shortest_interval, weighted_quantile


def test_pick_evenly_follows_the_weights():
    np.testing.assert_array_equal(pick_evenly(np.full(5, 0.2), 100), np.arange(5))
    np.testing.assert_array_equal(np.bincount(pick_evenly(np.array([0.5, 0.0, 0.3, 0.2]), 10)), [5, 0, 3, 2])
    np.testing.assert_array_equal(pick_evenly(np.full(100, 0.01), 4), [12, 37, 62, 87])


def test_pick_evenly_never_picks_a_draw_without_weight_from_the_right():
    weights = np.array([0.0, 0.5, 0.0, 0.5, 0.0])
    np.testing.assert_array_equal(pick_evenly(weights, 4, offset=0.0, side="right"), [1, 1, 3, 3])


def test_weighted_quantile_is_numpys_inverted_cdf():
    rng = np.random.default_rng(5)
    for _ in range(50):
        values, weights = rng.integers(0, 8, 20).astype(float), rng.random(20)
        q = rng.random(4)
        expected = np.quantile(values, q, weights=weights, method="inverted_cdf")
        np.testing.assert_array_equal(weighted_quantile(values, weights, q), expected)


def test_shortest_interval_is_the_best_of_all_pairs():
    rng = np.random.default_rng(6)
    for _ in range(50):
        values, weights = rng.gamma(2.0, size=15), rng.integers(0, 4, 15).astype(float)
        share = rng.uniform(0.1, 0.95)
        values[3], weights[3], weights[4] = np.nan, 1.0, 1.0
        known = ~np.isnan(values)
        total = weights[known].sum()
        inside = [
            (high - low, low, high)
            for low in values[known]
            for high in values[known]
            if weights[(values >= low) & (values <= high)].sum() >= share * total - 1e-9
        ]
        low, high = shortest_interval(values, weights, share)
        assert high - low == min(inside)[0]
        assert weights[(values >= low) & (values <= high)].sum() >= share * total - 1e-9
    assert np.isnan(shortest_interval(np.array([np.nan]), np.ones(1), 0.9)).all()
    np.testing.assert_array_equal(shortest_interval(np.array([3.0, 2.0]), np.array([1.0, 0.0]), 0.9), [3.0, 3.0])
