"""Tree and data, as the page's script is given them."""

import numpy as np

import coaltree as ct
from coaltree.plotting import geometry
from coaltree.posterior.diagnostics.convergence import shown_support
from coaltree.report import figures, report_html
from tests.pages import content_of, decoded_values
from tests.posteriors import grouped_posterior, random_posterior


def test_tree_figure_is_the_posteriors_mean_tree(page, posterior):
    tree = content_of(page)["tree"]
    best = posterior.mean_tree()
    shown = ct.Tree(np.reshape(tree["children"], (-1, 2)), tree["times"], tree["labels"])
    assert {frozenset(clade) for clade in shown.clades()} == {frozenset(clade) for clade in best.clades()}
    np.testing.assert_allclose(shown.times, best.times, rtol=1e-5)
    np.testing.assert_allclose(np.array(tree["support"], float), shown_support(posterior, shown), atol=1e-3)
    np.testing.assert_allclose(
        np.transpose([tree["low"], tree["high"]]).astype(float), posterior.node_times(shown, 0.9), rtol=1e-5
    )
    names = [best.labels[i] for i in geometry.arrange(best).tips]  # the leaf order of the figures
    assert [shown.labels[i] for i in shown.leaf_order()] == names


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


def test_data_figure_of_leaves_with_several_rows_shows_their_means():
    post = grouped_posterior(n=9, n_trees=40)
    text = report_html(post, n_clusters=2)
    order = figures.tree_figure(post)[0].leaf_order()
    assert content_of(text)["data"] == figures.data_figure(*figures.leaf_data(post), order)
    np.testing.assert_allclose(figures.leaf_data(post)[0], post.model.leaf_values())
    assert content_of(text)["data"]["of"] == [9, 3]


def test_scatter_is_on_the_first_two_principal_components(posterior):
    shown = figures.scatter(posterior)
    values = np.asarray(posterior.model.X)
    centred = figures.standardised(values) if figures.scales_differ(values) else values - values.mean(axis=0)
    share = np.linalg.svd(centred, compute_uv=False) ** 2
    np.testing.assert_allclose(shown["shares"], share[:2] / share.sum(), rtol=1e-3)
    assert len(shown["x"]) == len(shown["y"]) == 2 * posterior.n
    assert figures.scatter(random_posterior(2, X=None)) is None
    assert figures.scatter(random_posterior(2, X=np.zeros((7, 1)))) is None
