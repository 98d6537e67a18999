"""Which outliers are moved together."""

import numpy as np

from coaltree.samplers.regraft import outlier_blocks
from coaltree.samplers.regraft.nearest import nearest


def test_neighborhoods_join_outliers_that_resemble_each_other():
    """Row 38 lies between a cluster and row 39: among all rows its neighbours are those of the cluster."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    X[38], X[39] = (6.0, 0.0, 0.0), (14.0, 0.0, 0.0)
    seeds, near, _ = outlier_blocks.neighborhoods(X, np.empty((0, 40, 0), np.int32))
    place = list(seeds).index(38)
    assert 39 not in near[0, place] and 39 in near[1, place]
    assert seeds[0] == 39 and set(near[1].ravel()) <= set(seeds)  # the farthest from others comes first


def test_neighborhoods_have_no_seeds_without_neighbors():
    """A search that is not exact may find too few neighbours, of outliers above all."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    seeds = outlier_blocks.neighborhoods(X, np.empty((0, 40, 0), np.int32)).seeds
    neighbors = nearest(X, X, 5, np.arange(40))[None]
    neighbors[0, seeds[0], 2:] = -1
    left = outlier_blocks.neighborhoods(X, neighbors).seeds
    assert seeds[0] not in left and len(left) > 0
    neighbors[0, :, -1] = -1
    assert len(outlier_blocks.neighborhoods(X, neighbors).seeds) == 0


def test_neighborhoods_of_four_neighbors_take_the_last_for_the_fifth():
    """So many are left of `Regraft(n_neighbors=2)`, which has more in the warm-up."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    neighbors = nearest(X, X, 4, np.arange(40))[None]
    around = outlier_blocks.neighborhoods(X, neighbors)
    expected = np.square(X - X[neighbors[0, :, 3]]).sum(axis=1)
    np.testing.assert_allclose(around.distance, expected, rtol=1e-12)
    np.testing.assert_array_equal(around.seeds, np.argsort(-expected, kind="stable")[:5])
    np.testing.assert_array_equal(around.near[0], neighbors[0, around.seeds])
    among_seeds = around.seeds[nearest(X[around.seeds], X[around.seeds], 4, np.arange(5))]
    np.testing.assert_array_equal(around.near[1], among_seeds)


def test_can_move_needs_enough_rows_and_neighbors():
    neighbors = np.zeros((1, 40, 5), np.int32)
    assert outlier_blocks.can_move(40, neighbors) and not outlier_blocks.can_move(40, neighbors[:, :, :4])
    assert outlier_blocks.can_move(40, neighbors[:0]) and not outlier_blocks.can_move(10**6, neighbors[:0])


def test_draw_block_draws_different_rows_and_the_least_far_first():
    X = np.random.default_rng(0).standard_normal((60, 2))
    around = outlier_blocks.neighborhoods(X, np.empty((0, 60, 0), np.int32))
    rng = np.random.default_rng(1)
    blocks = [outlier_blocks.draw_block(around, rng) for _ in range(1000)]
    assert all(len(set(block)) == len(block) for block in blocks)
    sizes = np.bincount([len(block) for block in blocks], minlength=5)[1:]
    assert np.all(np.abs(sizes - [150, 500, 200, 150]) < 4.5 * np.sqrt([128, 250, 160, 128]))
    in_order = [np.all(np.diff(around.distance[block]) >= 0) for block in blocks if len(block) == 2]
    assert abs(np.mean(in_order) - 0.875) < 4.5 * np.sqrt(0.11 / len(in_order))
