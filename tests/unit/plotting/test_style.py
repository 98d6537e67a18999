"""Colours and legends."""

import io
import re
from importlib import resources

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from coaltree.plotting import style
from coaltree.report.partitions import N_COLOURS


def in_lab(colors):
    """(n, 3) CIELAB coordinates, in which equal distances look about equal."""
    rgb = np.array([to_rgb(color) for color in colors])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    white = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(linear @ white.T / white.sum(axis=1)).T
    return np.column_stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)])


def test_palette_is_that_of_the_page():
    css = (resources.files("coaltree.report") / "page.css").read_text()
    of_page = re.findall(r"--c(\d+): light-dark\((#\w+)", css)
    assert [int(number) for number, _ in of_page] == list(range(len(style.PALETTE))) == list(range(N_COLOURS))
    apart = in_lab([color for _, color in of_page]) - in_lab(style.PALETTE)
    assert np.linalg.norm(apart, axis=1).max() < 10.0
    for k in range(N_COLOURS):
        assert f".c{k} {{ stroke: var(--c{k}); fill: var(--c{k}); }}" in css


def lines_of(n_lines, n_entries, length):
    entries = [Line2D([], [], label="x" * length) for _ in range(n_entries)]
    return [style.legend_line(f"line {k}", entries) for k in range(n_lines)]


@pytest.mark.parametrize("layout", ["constrained", None])
@pytest.mark.parametrize(("n_entries", "length"), [(2, 5), (12, 30)])
def test_add_legend_stays_on_the_page_and_below_the_axes(n_entries, length, layout):
    figure = Figure(figsize=(6, 6), layout=layout)
    ax = figure.add_subplot()
    ax.set_xlabel("time")
    style.add_legend(ax, lines_of(3, n_entries, length))
    figure.draw_without_rendering()
    legend = ax.get_legend() or figure.legends[0]
    box = legend.get_window_extent()
    assert box.y0 >= figure.bbox.y0 - 0.5
    assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
    assert box.y1 <= ax.xaxis.label.get_window_extent().y0 + 1.0
    assert sum(text.get_text() == "x" * length for text in legend.get_texts()) == 3 * n_entries


def test_save_shows_names_in_any_script_and_warns_of_none(monkeypatch):
    ax = style.new_axes(2, 2)
    ax.set_yticks([0, 1], labels=["東京", "rosé"])
    file = io.StringIO()
    style.save(ax.figure, file, "svg")  # warnings are errors in the tests
    assert "東京" in file.getvalue()
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans", "Noto Sans CJK JP"])
    families = []
    monkeypatch.setattr(
        ax.figure,
        "savefig",
        lambda *args, **kwargs: families.extend(text.get_fontfamily() for text in ax.get_yticklabels()),
    )
    style.save(ax.figure, file, "svg")
    assert families == [["sans-serif", "Noto Sans CJK JP"]] * 2
