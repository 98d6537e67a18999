"""Tree and data, as the page's script is given them."""

import numpy as np

import coaltree as ct
from coaltree.plotting import geometry
from coaltree.report import figures, report_html
from coaltree.report.figures import colour_limits, scales_differ, standardised
from tests.pages import content_of, decoded_values, words_of
from tests.posteriors import grouped_posterior


def test_tree_figure_is_the_posteriors_mean_tree(page, posterior):
    tree = content_of(page)["tree"]
    best = posterior.mean_tree()
    shown = ct.Tree(np.reshape(tree["children"], (-1, 2)), tree["times"], tree["labels"])
    assert {frozenset(clade) for clade in shown.clades()} == {frozenset(clade) for clade in best.clades()}
    np.testing.assert_allclose(shown.times, best.times, rtol=1e-5)
    np.testing.assert_allclose(tree["support"], posterior.clade_support(shown, kind="transfer"), atol=1e-3)
    np.testing.assert_allclose(tree["exact"], posterior.clade_support(shown), atol=1e-3)
    np.testing.assert_allclose(
        np.transpose([tree["low"], tree["high"]]).astype(float), posterior.node_times(shown, 0.9), rtol=1e-5
    )
    assert [shown.labels[i] for i in shown.leaf_order()] == [best.labels[i] for i in best.leaf_order()]


def test_tree_figure_has_the_leaf_order_of_the_figures(posterior):
    order = figures.tree_figure(posterior)[0].leaf_order()
    np.testing.assert_array_equal(order, geometry.arrange(posterior.mean_tree()).tips)


def test_data_figure_is_in_tree_order(posterior):
    order = figures.tree_figure(posterior)[0].leaf_order()
    content = figures.data_figure(*figures.leaf_data(posterior), order)
    back = decoded_values(content["codes"], content["low"], content["high"])
    expected = np.clip(posterior.model.X[order], content["low"], content["high"])
    np.testing.assert_allclose(back.reshape(40, 6), expected, atol=1e-2)
    assert content["twoSided"]
    assert not content["scaled"]


def test_data_figure_scales_columns_of_other_scales_and_keeps_both(posterior):
    order = figures.tree_figure(posterior)[0].leaf_order()
    X = posterior.model.X * [1, 10, 100, 1000, 1, 0] + [0, 5, 0, 0, 0, 7]
    X[3, 2] = np.nan
    content = figures.data_figure(X, list("abcdef"), order)
    assert content["scaled"]
    assert content["missing"] == 1
    np.testing.assert_allclose(content["mean"], np.nanmean(X, axis=0), rtol=1e-3)
    np.testing.assert_allclose(content["sd"][:5], np.nanstd(X, axis=0)[:5], rtol=1e-3)
    assert content["sd"][5] == 1
    other = content["other"]  # for the reader who wants them as they are
    assert not other["scaled"]
    back = decoded_values(other["codes"], other["low"], other["high"])
    expected = np.clip(X[order], other["low"], other["high"])
    seen = ~np.isnan(expected)
    np.testing.assert_allclose(
        back.reshape(40, 6)[seen], expected[seen], atol=2 * (other["high"] - other["low"]) / 4094
    )


def test_data_figure_averages_large_data(monkeypatch, posterior):
    monkeypatch.setattr(figures, "MAX_COLUMNS", 3)
    monkeypatch.setattr(figures, "MAX_CELLS", 60)
    text = report_html(posterior, n_clusters=4)
    content = content_of(text)["data"]
    assert (content["rows"], content["columns"]) == (20, 3)
    assert content["names"] == ["0 … 1", "2 … 3", "4 … 5"]
    assert "20 × 3 cells show 40 × 6 values" in words_of(text)


def test_data_figure_of_leaves_with_several_rows_shows_their_means():
    post = grouped_posterior(n=9, n_trees=40)
    text = report_html(post, n_clusters=2)
    order = figures.tree_figure(post)[0].leaf_order()
    assert content_of(text)["data"] == figures.data_figure(*figures.leaf_data(post), order)
    np.testing.assert_allclose(figures.leaf_data(post)[0], post.model.leaf_values())
    assert content_of(text)["data"]["of"] == [9, 3]
    words = words_of(text)
    assert "9 leaves · 18 rows · 3 columns" in words
    assert "shown by the mean of its rows" in words
    assert "Rows: 18, 1 to 3 of each leaf." in words


def table(seed=0):
    return np.random.default_rng(seed).standard_normal((30, 4))


def test_scales_differ_in_spread_or_level():
    X = table()
    assert not scales_differ(X)
    assert scales_differ(X * [1, 1, 1, 20])
    assert scales_differ(X + np.array([0, 10, 20, 30]))  # one scale of colours would show the levels only
    assert not scales_differ(X + np.array([0, 0.5, 0, 0.5]))
    assert not scales_differ(X * [1, 1, 1, 0])  # a constant column has no scale
    assert not scales_differ(X[:, :1])
    holes = X.copy()
    holes[3] = np.nan
    assert not scales_differ(holes)


def test_standardised_columns_have_mean_0_and_standard_deviation_1():
    X = table() * [1, 1, 1, 20]
    X[2, 1] = np.nan
    shown = standardised(X)
    np.testing.assert_allclose(np.nanmean(shown, axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(shown, axis=0), 1.0)
    np.testing.assert_array_equal(np.isnan(shown), np.isnan(X))
    np.testing.assert_array_equal(standardised(np.ones((3, 2))), 0.0)


def test_colour_limits_are_symmetric_where_signs_differ():
    low, high, is_two_sided = colour_limits(table())
    assert is_two_sided
    assert low == -high
    assert not colour_limits(np.abs(table()))[2]
    assert colour_limits(np.full((2, 2), np.nan)) == (0.0, 1.0, False)
    assert colour_limits(np.ones((2, 2))) == (1.0, 2.0, False)
