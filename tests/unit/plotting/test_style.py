"""Colours and legends."""

import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from coaltree.plotting import style


def test_color_of_outliers_is_pale():
    assert style.color_of(-1) not in style.PALETTE
    assert style.color_of(3) == style.color_of(13) == style.PALETTE[3]


def test_as_text_shows_dollars_and_cuts_long_names():
    assert style.as_text("$x$") == r"\$x\$"
    assert style.as_text("abcdef", 4) == "abc…"


def test_font_that_fits_is_none_where_it_could_not_be_read():
    assert style.font_that_fits(100.0) == style.MAX_FONT
    assert style.font_that_fits(7.2) == pytest.approx(6.0)
    assert style.font_that_fits(5.9) is None


def test_add_legend_keeps_the_first_legend():
    ax = Figure().add_subplot()
    for title in ("first", "second"):
        style.add_legend(ax, style.cluster_lines(["a", "b"]), title)
    shown = [child for child in ax.get_children() if isinstance(child, Legend)]
    assert sorted(legend.get_texts()[0].get_text() for legend in shown) == ["first", "second"]


def test_add_legend_outside_keeps_two_legends_apart():
    ax = Figure(layout="constrained").add_subplot()
    for _ in range(2):
        style.add_legend_outside(ax, [Line2D([], [], label=f"entry {k}") for k in range(6)])
    ax.figure.draw_without_rendering()
    below, above = (legend.get_window_extent() for legend in ax.figure.legends)
    assert below.y1 < above.y0
