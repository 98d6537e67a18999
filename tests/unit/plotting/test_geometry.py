"""Layout of trees: where nodes and folded clades stand."""

import numpy as np
import pytest

from coaltree.plotting import geometry
from tests.strategies import random_tree


def test_arrange_puts_nodes_above_the_middle_of_their_children(tree):
    place = geometry.arrange(tree)
    np.testing.assert_array_equal(place.tips, [4, 0, 2, 1, 3])
    np.testing.assert_array_equal(place.across, [1, 3, 2, 4, 0, 1.5, 3.5, 2.5, 1.25])
    np.testing.assert_array_equal(place.size, tree.sizes)
    np.testing.assert_array_equal(geometry.arrange(tree, ladder=False).tips, tree.leaf_order())
    assert place.limits == (-0.5, 4.5)


@pytest.mark.parametrize("seed", range(5))
def test_arrange_crosses_no_branches(seed):
    tree = random_tree(40, np.random.default_rng(seed))
    place = geometry.arrange(tree)
    at = {leaf: i for i, leaf in enumerate(place.tips.tolist())}
    for clade in tree.clades():
        spots = sorted(at[int(leaf)] for leaf in clade)
        assert spots == list(range(spots[0], spots[0] + len(spots)))


def test_arrange_folds_all_but_the_oldest_merges():
    tree = random_tree(200, np.random.default_rng(1))
    place = geometry.arrange(tree, max_tips=15)
    assert len(place.tips) == 15
    assert place.size[place.tips].sum() == 200
    folded = set(place.tips[place.tips >= 200].tolist())
    assert set(place.open_nodes.tolist()) == set(range(200 + 199 - 14, 399))
    assert all(tree.parents[node] in place.open_nodes for node in folded)
    in_room = geometry.arrange(tree, room=40.0)
    assert in_room.total_width <= 40.0 + 1e-9
    assert 15 < len(in_room.tips) < 40
    squeezed = geometry.arrange(tree, max_tips=30, room=31.0)
    assert squeezed.total_width == pytest.approx(31.0)


def test_node_clusters_are_those_of_all_leaves(tree):
    clusters = geometry.node_clusters(tree, np.array([0, 1, 0, 1, 1]))
    np.testing.assert_array_equal(clusters, [0, 1, 0, 1, 1, 0, 1, -1, -1])


def test_layout_leaves_of_tips_are_all_leaves_once():
    tree = random_tree(200, np.random.default_rng(1))
    for max_tips in (2, 15, 200):
        layout = geometry.arrange(tree, max_tips=max_tips)
        leaves = layout.leaves_of_tips()
        assert sorted(np.concatenate(leaves).tolist()) == list(range(200))
        assert [len(of_tip) for of_tip in leaves] == layout.size[layout.tips].tolist()
        parent, child = layout.branches()
        np.testing.assert_array_equal(tree.parents[child], parent)


def test_direction_points_put_time_along_the_tree():
    assert geometry.Direction.of("top").points(1.0, 2.0).tolist() == [1.0, 2.0]
    assert geometry.Direction.of("left").points(1.0, 2.0).tolist() == [2.0, 1.0]
