"""Circular trees: leaves on the circle, merges within it, names around it."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from coaltree import plotting
from coaltree.plotting.circular import Circle
from tests.artists import collection
from tests.strategies import random_tree


def test_circular_branches_end_on_the_circle_and_run_inwards(tree):
    ax = plotting.dendrogram(tree, layout="circular", time_scale="linear")
    lines = collection(ax, "branches").get_segments()
    assert len(lines) == 8
    ends = np.array([np.hypot(*line[-1]) for line in lines])
    starts = np.array([np.hypot(*line[0]) for line in lines])
    assert (starts < ends).all()
    assert np.isclose(ends, 1.0).sum() == 5
    expected = 1.0 - 0.96 * np.repeat(tree.times, 2) / 5.0
    np.testing.assert_allclose(np.sort(starts), np.sort(expected))
    assert {text.get_text() for text in ax.texts} >= set("abcde")
    assert not ax.axison


def test_circular_names_stand_outside_and_are_never_upside_down():
    tree = random_tree(40, np.random.default_rng(0))
    ax = plotting.dendrogram(tree, layout="circular")
    named = [text for text in ax.texts if text.get_text() in tree.labels and np.hypot(*text.get_position()) > 1]
    assert len(named) == 40
    for text in named:
        assert -90.001 <= (text.get_rotation() + 90) % 360 - 90 <= 90.001
        assert text.get_ha() == ("right" if text.get_position()[0] < 0 else "left")


def test_circular_draws_all_that_a_rectangular_tree_has():
    tree = random_tree(60, np.random.default_rng(1))
    ax = plotting.dendrogram(
        tree,
        layout="circular",
        support=np.linspace(0.3, 1.0, 59),
        intervals=np.stack([0.9 * tree.times, 1.1 * tree.times], axis=1),
        highlight=0.9,
        n_clusters=4,
        max_leaves=20,
        row_colors={"kind": ["x", "y"] * 30, "size": np.arange(60) * 1.5},
    )
    ax.figure.draw_without_rendering()
    for label in ("folded clades", "highlighted", "kind", "size"):
        collection(ax, label, PolyCollection)
    ring = np.concatenate([path.vertices for path in collection(ax, "kind", PolyCollection).get_paths()])
    assert np.hypot(*ring.T).min() > 1.0
    assert {"1", "2", "3", "4"} <= {text.get_text() for text in ax.texts}
    (legend,) = ax.figure.legends
    assert {"circles:", "kind:", "size:", "marks:"} <= {text.get_text() for text in legend.get_texts()}
    assert ax.figure.get_suptitle() == "Tree of 60 leaves in 4 clusters"


def test_circle_radius_follows_the_scale():
    circle = Circle()
    circle.frame(Figure().add_subplot(), (-0.5, 3.5), 4.0, "sqrt", None)
    assert circle.radius([0.0, 1.0, 4.0]).tolist() == pytest.approx([1.0, 0.52, 0.04])
    assert np.diff(circle.angle([0, 1, 2, 3])).max() < 0  # clockwise
