"""Traces, comparisons, checks, and curves of the adjusted Rand index."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from coaltree import Fixed, InputError, Posterior, metrics, plotting, simulate
from coaltree.inference.compare import comparison_of


def test_traces_have_a_line_for_each_chain(posterior):
    axes = plotting.traces(posterior)
    assert [ax.get_ylabel() for ax in axes] == ["log joint", "root time", "variance"]  # a matrix has no trace
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), [0, 1, 2, 3])
    np.testing.assert_array_equal(axes[0].lines[1].get_ydata(), [4, 5, 6, 7])
    np.testing.assert_array_equal(axes[1].lines[1].get_ydata(), [tree.times[-1] for tree in posterior.trees][4:])
    one = Figure().add_subplot()
    assert plotting.traces(posterior, one, names="variance") is one
    assert plotting.traces(posterior, Figure().add_subplot()).get_ylabel() == "log joint"
    with pytest.raises(InputError, match=r"names must be among log_joint, root_time, .*variance.*not 'length2'"):
        plotting.traces(posterior, names=["length2"])
    with pytest.raises(InputError, match="ax must have one axes per trace, 2 of them, not 1"):
        plotting.traces(posterior, one, names=["variance", "log_joint"])


def test_checks_have_three_panels_with_bands_and_p_values():
    X, tree = simulate(30, 3, random_state=0)
    post = Posterior(tree.children[None], tree.times[None], X=X, covariance=Fixed(np.eye(3)))
    found = post.check()
    left, middle, right = plotting.checks(post)
    titles = {panel.get_title(loc="left") for panel in (left, middle, right)}
    assert len(titles) == 3
    assert all(title.endswith("?") for title in titles)  # what one looks for
    np.testing.assert_allclose(left.lines[0].get_ydata(), found.figures.size)
    assert len(left.collections) == len(middle.collections) == 1
    names = [label.get_text().split("\n")[0] for label in right.get_yticklabels()]
    assert names == [one.name for one in found]
    given = Figure().subplots(1, 3)
    assert list(plotting.checks(found, given)) == list(given)
    figure = Figure()
    assert [ax.figure for ax in plotting.checks(found, figure.add_subplot())] == [figure] * 3
    with pytest.raises(InputError, match="three, not 2"):
        plotting.checks(found, given[:2])
    with pytest.raises(InputError, match="cannot be checked"):
        plotting.checks(
            Posterior(post.children[:, :1] * 0 + [[0, 1]], post.times[:, :1], X=X[:2], covariance=Fixed(np.eye(3)))
        )


def test_comparison_has_a_bar_and_a_weight_for_each_model():
    density = np.array([[-1.0, -2.0, -3.0, -1.5], [-2.0, -2.5, -5.0, -1.0]])
    found = comparison_of(("good", "bad"), density, "held-out rows", np.array([0, 0]))
    ax = plotting.comparison(found)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(found.names)
    assert [text.get_text().split(",")[0] for text in ax.texts] == ["best", f"{found.difference[1]:.1f}"]
    assert "held-out rows" in ax.get_xlabel()
    given = Figure().add_subplot()
    assert plotting.comparison(found, given) is given


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
