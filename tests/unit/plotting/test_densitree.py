"""Densitrees: branches, colours of topologies, weights."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from coaltree import InputError, Posterior, Tree, plotting
from coaltree.plotting import geometry
from coaltree.plotting.style import PALETTE, color_of
from tests.artists import collection, names


def test_cloud_has_every_branch_of_every_tree(posterior):
    ax = plotting.cloud(posterior)
    drawn = [s for c in ax.collections if c.get_label() != "reference" for s in c.get_segments()]
    assert len(drawn) == 8 * (2 * 12 - 2)
    best = posterior.mean_tree()
    assert len(collection(ax, "reference").get_segments()) == 2 * 12 - 2
    order = geometry.arrange(best).tips
    assert names(ax) == [posterior.labels[leaf] for leaf in order]
    ends = np.array([s[0] for s in collection(ax, "reference").get_segments()])  # at the parents
    assert set(np.round(ends[:, 0], 12)) == set(np.round(best.times, 12))


def test_cloud_colours_common_topologies(posterior):
    ax = plotting.cloud(posterior, reference=False)
    first = collection(ax, "topology 1")
    assert to_hex(first.get_colors()[0]) == PALETTE[0].lower()
    assert len(first.get_segments()) == 3 * 22
    (legend,) = ax.figure.legends
    assert [t.get_text() for t in legend.get_texts()] == ["topologies:", "38 %", "12 %", "12 %", "38 % others"]


def test_cloud_colours_clusters_on_the_axis_of_the_dendrogram(posterior):
    number = posterior.cut(3, output="numpy")
    ax = plotting.cloud(posterior, n_clusters=3)
    drawn = [to_hex(color) for color in collection(ax, "trees").get_colors()]
    expected = []
    for tree in posterior.trees:
        of_node = geometry.node_clusters(tree, number)[tree.children.ravel()]
        expected += ["#808080" if c < 0 else color_of(c).lower() for c in of_node.tolist()]
    assert drawn == expected
    assert len(set(drawn)) == 4
    (legend,) = ax.figure.legends
    assert [t.get_text() for t in legend.get_texts()][:1] == ["clusters:"]
    assert ax.get_title(loc="left") == "8 sampled trees of 12 leaves"
    assert ax.get_xlabel() == plotting.dendrogram(posterior.mean_tree()).get_xlabel()


def test_cloud_follows_weights_and_a_given_order():
    trees = [Tree([[0, 1], [2, 3]], [1, 2]), Tree([[0, 2], [1, 3]], [1, 2])]
    post = Posterior(
        np.stack([t.children for t in trees]), np.stack([t.times for t in trees]), log_weights=np.log([0.9, 0.1])
    )
    ax = plotting.cloud(post, max_trees=10, reference=trees[1], shape="square", orientation="top")
    assert len(collection(ax, "topology 1").get_segments()) == 9 * 4
    assert len(collection(ax, "topology 2").get_segments()) == 1 * 4
    assert names(ax, "x") == ["1", "0", "2"]
    assert all(len(s) == 3 for s in collection(ax, "reference").get_segments())


def test_cloud_refuses_wrong_arguments(posterior):
    with pytest.raises(InputError, match='shape must be "slanted" or "square", not'):
        plotting.cloud(posterior, shape="round")
    with pytest.raises(InputError, match="max_trees must be a whole number of at least 1, not 0"):
        plotting.cloud(posterior, max_trees=0)


def test_cloud_numbers_clusters_and_has_the_title_that_is_asked_for(posterior):
    ax = plotting.cloud(posterior, n_clusters=3, title="some trees")
    assert sorted(text.get_text() for text in ax.texts) == ["1", "2", "3"]
    assert ax.get_title(loc="left") == "some trees"
    texts = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert "bold lines:" in texts and "dark lines:" not in texts
    assert not plotting.cloud(posterior, n_clusters=1).texts
    assert plotting.cloud(posterior).get_title(loc="left") == "8 sampled trees of 12 leaves"
