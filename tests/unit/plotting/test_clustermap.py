"""Heat maps between two trees: order, scales, strips, missing cells, given trees, refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import leaves_list, linkage

import coaltree as ct
from coaltree.errors import InputError
from coaltree.plotting import clustermap
from tests.artists import names
from tests.posteriors import random_posterior, side_branch_posterior, ward_posterior

N, D = 12, 5


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)) + 5.0 * (np.arange(N) % 2)[:, None]
    X[3, 2] = np.nan
    return pd.DataFrame(X, index=[f"row {i}" for i in range(N)], columns=[f"column {j}" for j in range(D)])


def linkages(frame):
    filled = frame.fillna(0.0).to_numpy()
    return {"row_tree": linkage(filled, "average"), "col_tree": linkage(filled.T, "average")}


def legend_of(made):
    return [text.get_text() for text in made.figure.legends[0].get_texts()]


def test_clustermap_orders_rows_and_columns_by_their_trees(frame):
    made = clustermap(frame, z_score=None, **linkages(frame))
    rows, columns = made.dendrogram_row.reordered_ind, made.dendrogram_col.reordered_ind
    assert sorted(rows) == list(range(N))
    shown = made.ax_heatmap.images[0].get_array().filled(np.nan)
    np.testing.assert_array_equal(shown, frame.to_numpy()[np.ix_(rows, columns)])
    assert list(made.data2d.index) == [frame.index[i] for i in rows]
    assert names(made.ax_heatmap) == list(made.data2d.index)
    assert names(made.ax_heatmap, "x") == list(made.data2d.columns)
    made.figure.canvas.draw()
    for row in (0, N - 1):  # the tree's leaf stands beside its row, on the same height of paper
        on_map = made.ax_heatmap.transData.transform((0, row))[1]
        assert made.ax_row_dendrogram.transData.transform((0, row))[1] == pytest.approx(on_map, abs=1.0)
    assert set(leaves_list(linkages(frame)["row_tree"])) == set(rows.tolist())
    assert made.fig is made.figure
    assert made.cax is made.ax_cbar
    assert made._repr_png_().startswith(b"\x89PNG")


def test_clustermap_fits_both_sides_and_shows_supports(frame, tmp_path):
    with pytest.warns(ct.ConvergenceWarning):
        made = clustermap(frame, n_samples=12, n_warmup=4, n_clusters=2)
    rows, columns = made.dendrogram_row.posterior, made.dendrogram_col.posterior
    assert rows.labels == tuple(frame.index)
    assert columns.labels == tuple(frame.columns)
    assert columns.X.shape == (D, N)
    assert legend_of(made) == ["clusters", "1", "2", "support", "in %", "missing"]
    made.savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000


def test_clustermap_legend_has_dots_where_the_tree_has():
    post = random_posterior(0, n=200, weighted=False)
    values = np.random.default_rng(0).normal(size=(200, 3))
    made = clustermap(pd.DataFrame(values, post.labels), row_tree=post, col_tree=False)
    assert legend_of(made) == ["support", "≥ 95 %", "≥ 75 %", "≥ 50 %"]


def test_clustermap_separates_and_numbers_clusters(frame):
    made = clustermap(frame, n_clusters=2, row_colors=["x", "y"] * (N // 2), **linkages(frame))
    made.figure.draw_without_rendering()
    number = made.dendrogram_row.tree.cut(2)[made.dendrogram_row.reordered_ind]
    (edge,) = np.flatnonzero(np.diff(number)) + 0.5
    gaps = [line.get_ydata()[0] for line in made.ax_heatmap.lines]
    assert gaps == [edge]
    assert names(made.ax_row_colors, "x")[-1] == "cluster"
    assert sorted(text.get_text() for text in made.ax_row_colors.texts) == ["1", "2"]
    for tree in (made.ax_col_dendrogram, made.ax_row_dendrogram):  # nothing is cut off
        box, page = tree.get_window_extent(), made.figure.bbox
        assert page.x0 < box.x0 and box.y1 < page.y1
    assert not made.ax_row_dendrogram.texts  # the numbers are on the strip


def test_clustermap_marks_side_branches():
    tree = side_branch_posterior().mean_tree()
    made = clustermap(np.arange(20.0).reshape(10, 2), row_tree=tree, col_tree=False, n_clusters=2)
    assert legend_of(made) == ["clusters", "1", "2", "side branch"]


def test_clustermap_matches_a_posterior_by_names(frame):
    filled = frame.fillna(0.0)
    post = ward_posterior(filled.to_numpy())
    post = ct.Posterior(post.children, post.times, labels=filled.index, X=filled.to_numpy())
    made = clustermap(filled.iloc[::-1], row_tree=post, col_tree=False)
    assert set(made.dendrogram_row.tree.clades()) == set(post.mean_tree().clades())
    assert made.dendrogram_col.tree is None
    np.testing.assert_array_equal(made.dendrogram_col.reordered_ind, np.arange(D))
    assert not made.ax_col_dendrogram.axison


def test_clustermap_draws_annotations_as_strips(frame):
    frame["kind"] = ["x", "y"] * (N // 2)
    colors = pd.DataFrame({"own": ["#ff0000"] * D, "age": np.linspace(0, 1, D)}, index=frame.columns[:D])
    made = clustermap(frame, row_colors="kind", col_colors=colors, **linkages(frame[frame.columns[:D]]))
    assert made.data2d.shape == (N, D)
    strip = made.ax_row_colors.images[0].get_array()
    assert strip.shape == (N, 1, 4)
    for row, name in enumerate(made.data2d.index):
        same = [other for other, one in enumerate(made.data2d.index) if frame["kind"][one] == frame["kind"][name]]
        assert all((strip[row] == strip[other]).all() for other in same)
    assert made.ax_col_colors.images[0].get_array().shape == (2, D, 4)
    np.testing.assert_array_equal(made.ax_col_colors.images[0].get_array()[0, :, :3], [[1.0, 0.0, 0.0]] * D)
    assert legend_of(made)[:4] == ["kind", "x", "y", "age"]
    assert "own" not in legend_of(made)  # colours of the user's own mean what the user says


def test_clustermap_legend_has_only_titles_in_bold(frame):
    made = clustermap(frame, row_colors={"kind": [f"k{i}" for i in range(11)] + ["k0"]}, **linkages(frame))
    many = clustermap(
        np.arange(28.0).reshape(14, 2), row_colors={"k": list("abcdefghijklmn")}, row_tree=False, col_tree=False
    )
    for one, last in ((made, "missing"), (many, "and 2 more")):
        bold, *rest = one.figure.legends[0].get_texts()
        assert bold.get_weight() == "bold"
        assert {text.get_weight() for text in rest} == {"normal"}
        assert rest[-1].get_text() == last


def test_clustermap_scales_columns_whose_scales_differ(frame):
    trees = linkages(frame)
    apart = frame * [1, 10, 100, 1000, 1]
    shown = clustermap(apart, **trees).data2d
    np.testing.assert_allclose(np.nanstd(shown, axis=0), 1.0)
    assert np.nanmax(np.abs(clustermap(apart, z_score=None, **trees).data2d.to_numpy())) > 1000
    unit = clustermap(apart, standard_scale=0, **trees).data2d
    np.testing.assert_allclose(np.nanmax(unit, axis=1), 1.0)


def test_clustermap_thins_names_where_there_is_no_room():
    X = np.random.default_rng(0).standard_normal((200, 3))
    made = clustermap(X, row_tree=linkage(X), col_tree=False, figsize=(5, 5))
    written = names(made.ax_heatmap)
    assert 10 < len(written) < 60
    assert made.ax_heatmap.yaxis.get_ticklabels()[0].get_fontsize() == 6.0


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"row_tree": linkage(np.arange(8.0)[:, None])}, "row_tree has 8 leaves, but the table has 12"),
        ({"row_colors": "kind"}, "row_colors names 'kind', but the table has only"),
        ({"row_colors": ["x"] * 3}, "one value for each of the 12 leaves, not 3"),
        ({"row_tree": False, "n_clusters": 2}, "n_clusters needs a tree of the rows"),
    ],
)
def test_clustermap_refuses_wrong_arguments(frame, settings, sentence):
    with pytest.raises(InputError, match=sentence):
        clustermap(frame, **{**linkages(frame), **settings})


def test_clustermap_refuses_a_tree_of_other_leaves(frame):
    tree = ct.Tree.from_linkage(linkages(frame)["row_tree"], [f"other {i}" for i in range(N)])
    with pytest.raises(InputError, match="row_tree has a leaf 'other 0', which is not in the table"):
        clustermap(frame, row_tree=tree, col_tree=False)


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
@pytest.mark.parametrize("scaling", [{"z_score": 0}, {"z_score": 1}, {"standard_scale": 0}], ids=str)
def test_clustermap_scales_first_as_seaborn_does(frame, scaling):
    """Both trees are of what is shown: levels and scales of rows have no say."""
    levels = frame * np.linspace(1, 90, N)[:, None] + np.linspace(-300, 900, N)[::-1][:, None]
    made = clustermap(levels, n_samples=8, n_warmup=4, **scaling)
    shown = made.data2d.loc[levels.index, levels.columns].to_numpy()
    np.testing.assert_array_equal(made.dendrogram_row.posterior.X, shown)
    np.testing.assert_array_equal(made.dendrogram_col.posterior.X, shown.T)
    if scaling == {"z_score": 0}:
        np.testing.assert_allclose(np.nanmean(shown, axis=1), 0.0, atol=1e-12)


@pytest.mark.filterwarnings("ignore::coaltree.CoaltreeWarning")
def test_clustermap_takes_a_posterior(frame):
    post = ct.fit(np.exp(frame), transform={"log": True}, n_samples=8, n_warmup=4, random_state=0, progress=False)
    made = clustermap(post, col_tree=False, z_score=None)
    assert made.dendrogram_row.posterior is post
    np.testing.assert_allclose(made.data2d.loc[frame.index], np.exp(frame), rtol=1e-12)
    scaled = ct.fit(frame, transform={"center": "rows"}, n_samples=8, n_warmup=4, random_state=0, progress=False)
    rows = clustermap(scaled, col_tree=False, z_score=None).data2d
    np.testing.assert_allclose(rows.mean(axis=1), 0.0, atol=1e-12)
