"""Co-clustering matrices."""

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from coaltree import plotting
from coaltree.plotting import geometry
from coaltree.plotting.style import color_of
from tests.artists import names


def test_coclustering_is_in_tree_order_with_a_strip_of_clusters(posterior):
    ax = plotting.coclustering(posterior, n_clusters=3)
    order = geometry.arrange(posterior.mean_tree()).tips
    np.testing.assert_array_equal(ax.images[0].get_array(), posterior.coclustering(3)[np.ix_(order, order)])
    assert ax.images[0].get_clim() == (0.0, 1.0)
    assert names(ax) == names(ax, "x") == [posterior.labels[leaf] for leaf in order]
    number = np.asarray(posterior.cut(3))[order]
    left, above = ax.child_axes
    expected = [color_of(c).lower() for c in number.tolist()]
    assert [to_hex(color) for color in left.images[0].get_array()[:, 0]] == expected
    assert [to_hex(color) for color in above.images[0].get_array()[0]] == expected
    assert left.texts and {text.get_text() for text in left.texts} <= {"1", "2", "3"}
    assert "3 clusters" in ax.get_title(loc="left")
    assert names(plotting.coclustering(posterior, Figure().add_subplot(), n_clusters=2, labels=False)) == []
