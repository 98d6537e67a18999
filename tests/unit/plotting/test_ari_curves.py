"""Curves of the adjusted Rand index."""

import numpy as np
import pytest

from coaltree import InputError, metrics, plotting


def test_ari_curves_show_each_curve_and_its_area(posterior):
    best = posterior.mean_tree()
    classes = np.arange(12) % 3
    given = metrics.ari_curve(posterior.trees[5], classes)
    ax = plotting.ari_curves({"all": posterior, "best": best, "curve": given}, classes)
    curve = metrics.ari_curve(best, classes)
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), np.arange(1, 13) / 12)
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), curve.ari)
    np.testing.assert_array_equal(ax.lines[2].get_ydata(), given.ari)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), metrics.ari_curve(posterior, classes).ari)
    assert len(ax.collections) == 1  # the band of the posterior
    texts = [t.get_text() for t in ax.get_legend().get_texts()]
    assert texts[1] == f"best: {metrics.ari_auc(curve):.2f}"
    assert ax.get_ylim()[0] <= min(line.get_ydata().min() for line in ax.lines)
    with pytest.raises(InputError, match="trees must be a mapping from names to trees"):
        plotting.ari_curves([best], classes)
