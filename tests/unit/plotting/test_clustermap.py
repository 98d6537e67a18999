"""seaborn's clustermap with our trees and clusters."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from scipy.cluster.hierarchy import linkage

from coaltree import InputError, Tree, plotting
from coaltree.plotting.style import color_of
from coaltree.posterior.of_trees import posterior_of_trees


def ward_posterior(frame, X):
    tree = Tree.from_linkage(linkage(frame, "ward"), list(frame.index))
    return posterior_of_trees(
        tree.children[None], tree.times[None], labels=tree.labels, X=X.to_numpy(), columns=list(X.columns)
    )


@pytest.fixture(scope="module")
def wards():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((8, 5)) + 9 * center for center in np.eye(5)[:3]])
    frame = pd.DataFrame(X, [f"row {i}" for i in range(24)], list("pqrst"))
    return frame, ward_posterior(frame, frame)


def test_clustermap_has_the_mean_tree_and_the_clusters(wards):
    frame, post = wards
    grid = plotting.clustermap(post, n_clusters=3, z_score=1, row_colors={"kind": list("uvw") * 8})
    rows = grid.dendrogram_row
    np.testing.assert_array_equal(rows.linkage, post.mean_tree().to_linkage())
    shown = grid.data2d
    assert list(shown.index) == [post.labels[leaf] for leaf in rows.reordered_ind]
    expected = ((frame - frame.mean()) / frame.std()).loc[shown.index, shown.columns]
    np.testing.assert_allclose(shown, expected)
    number = np.asarray(post.cut(3))[rows.reordered_ind]
    kinds, clusters = grid.row_colors
    assert [to_hex(color) for color in np.array(clusters)[rows.reordered_ind]] == [
        color_of(c).lower() for c in number.tolist()
    ]
    assert len(set(map(str, kinds))) == 3
    assert {text.get_text() for text in grid.ax_row_colors.texts} == {"1", "2", "3"}
    (legend,) = grid.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["kind:", "u", "v", "w"]


def test_clustermap_takes_a_tree_of_the_columns(wards):
    _, post = wards
    columns = Tree([[0, 1], [2, 3], [5, 6], [7, 4]], [1.0, 2.0, 3.0, 5.0], labels=list("pqrst"))
    for one in (columns, columns.to_linkage()):
        grid = plotting.clustermap(post, columns=one, n_clusters=2)
        np.testing.assert_array_equal(grid.dendrogram_col.linkage, columns.to_linkage())
    with pytest.raises(InputError, match="columns must be a tree of the 5 columns, not of 24 leaves"):
        plotting.clustermap(post, columns=post)
