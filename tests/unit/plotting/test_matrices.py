"""Co-clustering matrices, and which columns make a cluster."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from coaltree import InputError, plotting
from coaltree.plotting import geometry
from coaltree.plotting.style import color_of
from tests.artists import names
from tests.fits import quick_fit


def test_coclustering_is_in_tree_order(posterior):
    ax = plotting.coclustering(posterior, n_clusters=3)
    order = geometry.arrange(posterior.mean_tree()).tips
    expected = posterior.coclustering(3)[np.ix_(order, order)]
    np.testing.assert_array_equal(ax.images[0].get_array(), expected)
    assert ax.images[0].get_clim() == (0.0, 1.0)
    assert names(ax) == names(ax, "x") == [posterior.labels[leaf] for leaf in order]
    other = posterior.trees[7]
    ax = plotting.coclustering(posterior, Figure().add_subplot(), time=0.5, tree=other, colorbar=False, labels=False)
    order = geometry.arrange(other).tips
    np.testing.assert_array_equal(ax.images[0].get_array(), posterior.coclustering(time=0.5)[np.ix_(order, order)])
    assert names(ax) == []
    assert len(ax.figure.axes) == 1
    assert "cut at time 0.5" in ax.get_title(loc="left")


def test_coclustering_has_a_strip_of_clusters_and_their_number_in_the_title(posterior):
    ax = plotting.coclustering(posterior, n_clusters=3)
    order = geometry.arrange(posterior.mean_tree()).tips
    number = posterior.cut(3, output="numpy")[order]
    left, above = ax.child_axes
    expected = [color_of(c).lower() for c in number.tolist()]
    assert [to_hex(color) for color in left.images[0].get_array()[:, 0]] == expected
    assert [to_hex(color) for color in above.images[0].get_array()[0]] == expected
    assert {text.get_text() for text in left.texts} <= {"1", "2", "3"}
    assert left.texts
    assert "cut into 3 clusters" in ax.get_title(loc="left")


def explained():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((18, 4)) + 8.0 * np.eye(4)[np.arange(18) % 3]
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    return quick_fit(frame, "spherical"), np.arange(18) % 3


def test_explain_shows_size_and_sign_of_the_largest_differences():
    post, number = explained()
    frame = post.explain(number)
    ax = plotting.explain(frame, n_columns=3)
    wide = frame.pivot(index="column", columns="cluster", values="sister")
    shown = names(ax)
    assert len(shown) == 3
    assert set(shown) == set(wide.abs().max(axis=1).nlargest(3).index)
    assert names(ax, "x") == ["1", "2", "3"]
    (marks,) = ax.collections
    np.testing.assert_allclose(np.ravel(marks.get_array()), wide.loc[shown].to_numpy().ravel())
    sizes, size = np.ravel(marks.get_sizes()), wide.loc[shown].abs().to_numpy().ravel()
    assert (np.argsort(sizes) == np.argsort(size)).all()
    assert marks.get_clim()[0] == -marks.get_clim()[1]
    assert ax.get_title(loc="left").endswith("from its sister clade") or ax.get_title().endswith("its sister clade")
    others = plotting.explain(post, Figure().add_subplot(), n_clusters=3, against="others", colorbar=False)
    assert len(others.figure.axes) == 1
    named = plotting.explain(post.explain(np.array(["x", "y", "z"])[number]), Figure().add_subplot())
    assert names(named, "x") == ["x", "y", "z"]
    with pytest.raises(InputError, match="against"):
        plotting.explain(frame, against="nobody")
