"""Strips of colour for annotations of leaves."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from coaltree import plotting
from coaltree.plotting import geometry


def test_strips_of_classes_stand_beside_their_leaves(tree):
    kinds = pd.Series(["one", "two", "one", None, "two"], index=tree.labels, name="kind")
    for orientation in ("left", "top"):
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


@pytest.mark.parametrize("orientation", ["left", "top"])
def test_strips_are_as_wide_on_paper_whatever_the_figure_and_none_touches_another(tree, orientation):
    ax = Figure(figsize=(3.0, 3.0)).add_subplot()
    kinds = {"a rather long name": [*"xxyyz"], "other": [*"uuvvw"]}
    plotting.dendrogram(tree, ax, row_colors=kinds, orientation=orientation)
    ax.figure.canvas.draw()
    across = "width" if orientation == "left" else "height"
    boxes = [inset.get_window_extent() for inset in ax.child_axes]
    assert [getattr(box, across) for box in boxes] == pytest.approx([9.0 * ax.figure.dpi / 72.0] * 2)
    assert not boxes[0].overlaps(boxes[1]) and not boxes[0].overlaps(ax.get_window_extent())
