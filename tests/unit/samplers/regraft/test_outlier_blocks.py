"""Which odd rows are tried together."""

import numpy as np

from coaltree.samplers.regraft import outlier_blocks
from coaltree.samplers.regraft.nearest import nearest


def test_an_odd_row_is_tried_with_the_odd_one_that_resembles_it():
    """Row 38 lies between a cluster and row 39: among all rows its neighbours are those of the cluster."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    X[38], X[39] = (6.0, 0.0, 0.0), (14.0, 0.0, 0.0)
    seeds, near, _ = outlier_blocks.neighborhoods(X, np.empty((0, 40, 0), np.int32))
    place = list(seeds).index(38)
    assert 39 not in near[0, place] and 39 in near[1, place]
    assert seeds[0] == 39 and set(near[1].ravel()) <= set(seeds)  # the oddest comes first


def test_rows_without_neighbours_are_no_seeds():
    """Lists from a search that is not exact may end early, for odd rows above all."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    seeds = outlier_blocks.neighborhoods(X, np.empty((0, 40, 0), np.int32)).seeds
    lists = nearest(X, X, 5, np.arange(40))[None]
    lists[0, seeds[0], 2:] = -1
    left = outlier_blocks.neighborhoods(X, lists).seeds
    assert seeds[0] not in left and len(left) > 0
    lists[0, :, -1] = -1
    assert len(outlier_blocks.neighborhoods(X, lists).seeds) == 0
    assert outlier_blocks.can_move(40, lists) and not outlier_blocks.can_move(40, lists[:, :, :4])
    assert outlier_blocks.can_move(40, lists[:0]) and not outlier_blocks.can_move(10**6, lists[:0])
