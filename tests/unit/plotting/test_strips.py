"""Strips of colour for annotations of leaves."""

import pandas as pd
import pytest

from coaltree import plotting
from coaltree.plotting import geometry
from tests.strategies import chain


def test_strips_of_classes_stand_beside_their_leaves(tree):
    kinds = pd.Series(["one", "two", "one", None, "two"], index=tree.labels, name="kind")
    for orientation in ("left", "right", "top", "bottom"):
        ax = plotting.dendrogram(tree, row_colors=kinds[::-1], orientation=orientation)
        ax.figure.canvas.draw()
        (inset,) = ax.child_axes
        strip = inset.collections[0]
        order = geometry.arrange(tree).tips
        shown = strip.get_facecolors()
        assert len(shown) == 5
        expected = [["one", "two", "one", "", "two"][leaf] for leaf in order]
        of_kind = {kind: tuple(color) for kind, color in zip(expected, shown, strict=True) if kind}
        assert all(tuple(color) == of_kind[kind] for kind, color in zip(expected, shown, strict=True) if kind)
        assert len(set(of_kind.values())) == 2
    (legend,) = ax.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["kind:", "one", "two"]


def test_strips_of_a_folded_clade_show_its_classes_in_proportion():
    large = chain(40)
    ax = plotting.dendrogram(large, max_leaves=2, row_colors=["q"] + ["p"] * 39)
    strip = ax.child_axes[0].collections[0]
    heights = [path.get_extents().height for path in strip.get_paths()]
    assert len(heights) == 3
    assert max(heights) / min(heights) == pytest.approx(38)
