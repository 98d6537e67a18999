"""Co-clustering matrices and heat maps beside a tree."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from coaltree import InputError, plotting
from coaltree.plotting import geometry
from coaltree.plotting.style import color_of
from tests.artists import collection, names
from tests.fits import quick_fit
from tests.posteriors import side_branch_posterior


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


def test_heatmap_names_its_strips_and_has_one_legend(tree):
    parts = plotting.heatmap(
        tree, np.arange(10.0).reshape(5, 2), n_clusters=2, row_colors={"kind": list("uuvvv")}, support=[0.9] * 4
    )
    assert {"kind", "clusters"} <= {text.get_text() for text in parts.data.texts}
    assert parts.tree.get_legend() is None
    (legend,) = parts.data.figure.legends
    assert {"numbers:", "kind:", "u", "v"} <= {text.get_text() for text in legend.get_texts()}


@pytest.mark.parametrize("make", ["new", "constrained", "plain", "by hand"])
def test_heatmap_rows_stand_beside_their_leaves(tree, make):
    X = pd.DataFrame(np.arange(15.0).reshape(5, 3) - 7, columns=["p", "q", "r"])
    X.iloc[2, 1] = np.nan
    ax = None
    if make == "by hand":
        ax = plt.figure().add_axes((0.3, 0.2, 0.5, 0.6))
    elif make != "new":
        ax = plt.subplots(2, 2, layout="constrained" if make == "constrained" else None)[1][1, 0]
    parts = plotting.heatmap(tree, X, ax, n_clusters=2, value_label="level", row_colors=list("uuvvv"))
    assert ax is None or parts.data is ax
    parts.data.figure.canvas.draw()
    order = geometry.arrange(tree).tips
    shown = parts.data.images[0].get_array()
    np.testing.assert_array_equal(shown.filled(np.nan), X.to_numpy()[order])
    assert names(parts.data) == [tree.labels[leaf] for leaf in order]
    assert names(parts.data, "x") == ["p", "q", "r"]
    assert parts.bar.get_xlabel() == "level"
    for row in range(5):  # the same height on paper
        assert parts.data.transData.transform((0, row))[1] == pytest.approx(
            parts.tree.transData.transform((0, row))[1], abs=0.5
        )
    assert parts.tree.get_window_extent().x1 <= parts.data.get_window_extent().x0
    low, high = parts.data.images[0].get_clim()
    assert low == -high  # both signs: white is zero
    strip = collection(parts.data, "clusters", PolyCollection)
    assert len(set(map(tuple, strip.get_facecolors()))) == 2
    assert parts.data.patch.get_hatch() is not None  # what is missing is seen as missing


def test_heatmap_marks_side_branches():
    tree = side_branch_posterior().mean_tree()
    parts = plotting.heatmap(tree, np.arange(20.0).reshape(10, 2), n_clusters=2)
    assert len(collection(parts.tree, "side branches").get_segments()) == 1


def test_heatmap_draws_an_annotation_called_clusters_beside_the_clusters(tree):
    parts = plotting.heatmap(tree, np.arange(10.0).reshape(5, 2), n_clusters=2, row_colors={"clusters": list("uvwxy")})
    strips = [one for one in parts.data.collections if one.get_label() == "clusters"]
    assert sorted(len(set(map(tuple, strip.get_facecolors()))) for strip in strips) == [2, 5]


def test_heatmap_colour_scale_suits_the_data(tree):
    positive = plotting.heatmap(tree, np.arange(1.0, 11).reshape(5, 2)).data.images[0]
    assert positive.get_cmap().name == "cividis"
    centred = plotting.heatmap(tree, np.arange(1.0, 11).reshape(5, 2), center=5.0, labels=False).data.images[0]
    assert np.mean(centred.get_clim()) == pytest.approx(5.0)
    constant = plotting.heatmap(tree, np.ones((5, 2))).data.images[0]
    assert np.diff(constant.get_clim()) > 0
    plotting.heatmap(tree, np.full((5, 2), np.nan)).data.figure.canvas.draw()
    apart = plotting.heatmap(tree, np.arange(10.0).reshape(5, 2) * [1, 1000])
    assert apart.bar.get_xlabel() == "standard deviations from the column's mean"
    assert np.abs(apart.data.images[0].get_array()).max() < 2
    assert plotting.heatmap(tree, np.arange(10.0).reshape(5, 2) * [1, 1000], z_score=None).bar.get_xlabel() == "value"
    with pytest.raises(InputError, match=r"X must have shape \(5, d\), one row per leaf, not \(4, 2\)"):
        plotting.heatmap(tree, np.ones((4, 2)))
    with pytest.raises(InputError, match="features must be 2 names, not 1"):
        plotting.heatmap(tree, np.ones((5, 2)), features=["p"])


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
