"""Numbers behind small pictures."""

import re

import numpy as np
import pytest

from coaltree.report import svg
from coaltree.report.page import environment


def shown(lows, medians, highs):
    macros = environment().get_template("pictures.html").module
    return macros.intervals(svg.intervals(lows, medians, highs), ["a", "b", "<c>"], "variances")


def test_histogram_counts_draws_by_weight():
    draws = np.repeat([0.0, 1.0, 2.0], [10, 30, 20])
    weights = np.where(draws == 2.0, 2.0, 1.0) / 80
    found = svg.histogram(draws, weights, n_bins=3)
    np.testing.assert_allclose(found["heights"], [0.25, 0.75, 1.0])
    assert found["ends"] == [0.0, 1.0, 2.0]
    assert found["places"] == [0.0, 0.5, 1.0]
    assert max(svg.histogram(np.ones(5), np.full(5, 0.2))["heights"]) == 1.0  # of equal draws as well


def test_intervals_far_apart_are_drawn_on_a_logarithmic_scale():
    middles = np.array([0.01, 1.0, 100.0])
    text = shown(middles / 2, middles, middles * 2)
    marks = re.search(r'class="mark" d="([^"]*)"', text)[1]
    heights = [float(part.split("h")[0].split(" ")[1]) for part in marks.split("M")[1:]]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)  # equal factors, equal steps
    near = np.array([1.0, 2.0, 3.0])
    text = shown(near / 2, near, near * 2)
    assert ">0</text>" in text and ">&lt;c&gt;</text>" in text  # from zero on, names escaped
