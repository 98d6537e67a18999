"""Layout of trees: where nodes and folded clades stand."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from coaltree.plotting import dendrogram, geometry
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


@pytest.mark.parametrize("orientation", ["left", "top"])
def test_names_of_leaves_stay_inside_the_axes_of_a_figure_without_a_layout(orientation):
    fig, axes = plt.subplots(1, 2, figsize=(9, 5))
    place = axes[0].get_position()
    names = [f"a rather long name of row {k}" for k in range(12)]
    tree = random_tree(12, np.random.default_rng(0))
    for _ in range(2):  # again on the same axes: they become no smaller
        dendrogram(tree, axes[0], labels=names, orientation=orientation)
        now = axes[0].get_position()
        axis = axes[0].yaxis if orientation == "left" else axes[0].xaxis
        taken = fig.transFigure.inverted().transform_bbox(axis.get_tightbbox())
        assert taken.x1 < place.x1 + 0.01 if orientation == "left" else taken.y0 > place.y0 - 0.01
        assert now.width * now.height > 0.4 * place.width * place.height
    texts = [text.get_text() for text in axis.get_ticklabels()]
    assert len(set(texts)) == 12  # cut, and still told apart
