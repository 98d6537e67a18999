"""Layout of trees: where nodes and folded clades stand."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

from coaltree import InputError, Tree
from coaltree.plotting import geometry
from tests.strategies import random_tree


def test_arrange_puts_nodes_above_the_middle_of_their_children(tree):
    place = geometry.arrange(tree)
    np.testing.assert_array_equal(place.tips, [4, 0, 2, 1, 3])
    np.testing.assert_array_equal(place.across, [1, 3, 2, 4, 0, 1.5, 3.5, 2.5, 1.25])
    np.testing.assert_array_equal(place.size, tree.sizes)
    assert place.limits == (-0.5, 4.5)


@pytest.mark.parametrize("seed", range(5))
def test_arrange_crosses_no_branches(seed):
    tree = random_tree(40, np.random.default_rng(seed))
    place = geometry.arrange(tree)
    at = {leaf: i for i, leaf in enumerate(place.tips.tolist())}
    for clade in tree.clades():
        spots = sorted(at[int(leaf)] for leaf in clade)
        assert spots == list(range(spots[0], spots[0] + len(spots)))


def test_arrange_opens_the_largest_clades_first():
    tree = random_tree(200, np.random.default_rng(1))
    place = geometry.arrange(tree, max_tips=15)
    assert len(place.tips) == 15
    assert place.size[place.tips].sum() == 200
    folded = set(place.tips[place.tips >= 200].tolist())
    assert place.size[place.open_nodes].min() >= place.size[place.tips].max()
    assert all(tree.parents[node] in place.open_nodes for node in folded)
    in_room = geometry.arrange(tree, room=40.0)
    assert in_room.total_width <= 40.0 + 1e-9
    assert 15 < len(in_room.tips) < 40


def test_arrange_folds_clades_of_one_cluster_from_so_many_tips_on():
    tree = random_tree(200, np.random.default_rng(1))
    for k in (6, 30):
        cluster = geometry.node_clusters(tree, tree.cut(k))
        place = geometry.arrange(tree, room=120.0, cluster=cluster)
        assert len(place.tips) >= geometry.MIN_TIPS
        assert (cluster[place.tips] >= 0).all()
        assert (cluster[place.open_nodes] < 0).all() == (len(place.tips) > geometry.MIN_TIPS)


def test_time_scale_is_a_square_root_where_merges_crowd(tree):
    crowded = Tree([[0, 1], [2, 4], [3, 5]], [0.01, 0.02, 1.0])
    assert geometry.time_scale_for(tree, "auto") == "linear"
    assert geometry.time_scale_for(crowded, "auto") == "sqrt"
    assert geometry.time_scale_for(crowded, "linear") == "linear"
    with pytest.raises(InputError, match='time_scale must be "auto", "linear" or "sqrt"'):
        geometry.time_scale_for(tree, "log")


@pytest.mark.parametrize("top", [1e-300, 0.37, 1.0, 5.1, 9.99, 4321.0])
def test_sqrt_ticks_are_apart_and_within_the_axis(top):
    ticks = geometry.sqrt_ticks(top)
    assert ticks[0] == 0.0 and 2 < len(ticks) < 9 and ticks[-1] <= top
    assert (np.diff(np.sqrt(ticks)) >= 0.1 * np.sqrt(top)).all()


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


def test_frame_has_fewer_ticks_where_a_square_root_axis_is_short():
    counts = []
    for width in (1.2, 8.0):
        ax = Figure(figsize=(width, 3)).add_subplot()
        geometry.Direction.of("left").frame(ax, (-0.5, 9.5), 3.0, "sqrt")
        ax.figure.canvas.draw()
        ticks = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
        assert all(not a.overlaps(b) for a, b in pairwise(ticks))
        counts.append(len(ticks))
    assert 2 <= counts[0] < counts[1]
