"""Dendrograms, by the artists drawn: where segments run, which colours, names and numbers they have."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from coaltree import InputError, Tree, concat, plotting
from coaltree.plotting import geometry, style
from coaltree.plotting.style import INK, PALETTE
from coaltree.posterior.clusters.stability import similarity
from coaltree.posterior.diagnostics.convergence import shown_support
from coaltree.posterior.trees.consensus import ConsensusTree
from tests.artists import collection, names, segments
from tests.browser.posteriors import chain_posterior
from tests.posteriors import random_posterior
from tests.strategies import random_tree


def legend_of(ax):
    """The texts of the one legend, of the axes or of their figure."""
    legends = [*ax.figure.legends, *([ax.get_legend()] if ax.get_legend() else [])]
    return [text.get_text() for legend in legends for text in legend.get_texts() if text.get_text()]


def test_dendrogram_branches_run_from_parents_to_children(tree):
    ax = plotting.dendrogram(tree)
    assert ax.get_title(loc="left") == "Tree of 5 leaves"
    assert segments(ax) == {
        ((1.0, 1.5), (1.0, 1.0), (0.0, 1.0)),
        ((1.0, 1.5), (1.0, 2.0), (0.0, 2.0)),
        ((2.0, 3.5), (2.0, 3.0), (0.0, 3.0)),
        ((2.0, 3.5), (2.0, 4.0), (0.0, 4.0)),
        ((3.0, 2.5), (3.0, 1.5), (1.0, 1.5)),
        ((3.0, 2.5), (3.0, 3.5), (2.0, 3.5)),
        ((5.0, 1.25), (5.0, 2.5), (3.0, 2.5)),
        ((5.0, 1.25), (5.0, 0.0), (0.0, 0.0)),
    }
    assert ax.get_xlabel() == "time"
    assert names(ax) == list("eacbd")
    np.testing.assert_array_equal(ax.get_yticks(), range(5))


def test_dendrogram_colours_clusters_but_not_mixed_branches(tree):
    ax = plotting.dendrogram(tree, n_clusters=3)
    lines = collection(ax, "branches")
    color = {tuple(s[-1].tolist()): to_hex(c) for s, c in zip(lines.get_segments(), lines.get_colors(), strict=True)}
    a, b, e = (PALETTE[k].lower() for k in tree.cut(3)[[0, 1, 4]])
    assert len({a, b, e}) == 3
    assert color[(0.0, 1.0)] == color[(1.0, 1.5)] == a
    assert color[(0.0, 3.0)] == color[(2.0, 3.5)] == b
    assert color[(0.0, 0.0)] == e
    assert color[(3.0, 2.5)] == INK.lower()
    assert [to_hex(text.get_color()) for text in ax.get_yticklabels()] == [e, a, a, b, b]
    assert legend_of(ax) == []
    again = plotting.dendrogram(tree, clusters=tree.cut(3))
    np.testing.assert_array_equal(collection(again, "branches").get_colors(), lines.get_colors())


def test_dendrogram_numbers_clusters_at_their_largest_clade():
    post = random_posterior(3, n=40, weighted=False)
    tree = post.mean_tree()
    labels = tree.cut(12)
    ax = plotting.dendrogram(tree, clusters=labels, support=False)
    numbers = {text.get_text(): text for text in ax.texts}
    assert set(numbers) == set(map(str, range(1, 13)))
    for number, text in numbers.items():
        assert text.get_color() == style.color_of(int(number) - 1)
    assert not plotting.dendrogram(tree, n_clusters=1, support=False).texts
    named = plotting.dendrogram(tree.relabel(tree.labels), clusters=["red", "$5"] * 20)
    assert legend_of(named) == ["clusters:", "red", r"\$5"] and not named.texts  # the legend names them


def test_dendrogram_support_is_written_on_the_branches(tree):
    hidden = plotting.dendrogram(tree, support=[0.49, 0.5, 0.2, 1.0])
    assert [t.get_text() for t in hidden.texts] == ["50"]  # not below one half
    assert legend_of(hidden) == ["numbers:", "% of draws have this group, or nearly"]
    ax = plotting.dendrogram(tree, support=[0.5, np.nan, 0.987, 1.0])
    assert {(t.get_text(), *t.xy) for t in ax.texts} == {("50", 1.0, 1.5), ("99", 3.0, 2.5)}  # not at the root
    consensus = ConsensusTree([[0, 1, 2], [3, 4]], [1.0, 2.0], [0.8, 1.0], list("abcd"))
    assert [t.get_text() for t in consensus.plot().texts] == ["80"]
    assert len(consensus.plot(support=False).texts) == 0
    assert len(collection(consensus.plot(clusters=[0, 0, 0, 1]), "branches").get_segments()) == 5
    with pytest.raises(InputError, match="only a binary tree can be cut into n_clusters"):
        consensus.plot(n_clusters=2)
    none = plotting.dendrogram(tree, support=np.full(4, 0.3))
    assert legend_of(none) == ["numbers:", "no group is in half of the draws"]


def test_dendrogram_support_and_intervals_of_a_posterior(posterior):
    best = posterior.mean_tree()
    many = concat([posterior] * 8)  # a clade in three of eight trees is too rare for an interval
    ax = plotting.dendrogram(best, support=posterior, intervals=many)
    bars = np.array(collection(ax, "intervals").get_segments())[:, :, 0]
    expected = many.node_times(best)
    assert 1 < np.isfinite(expected[:, 0]).sum() < 12
    np.testing.assert_allclose(np.sort(bars, axis=0), np.sort(expected[np.isfinite(expected[:, 0])], axis=0))
    written = {round(float(t.get_text())) for t in ax.texts}
    assert written <= {round(100 * share) for share in posterior.clade_support(best, kind="transfer")}
    assert bool(written) == (shown_support(posterior, best)[:-1] >= 0.5).any()
    whole = plotting.dendrogram(posterior, n_clusters=3)  # the same of the posterior as it is
    assert names(whole) == names(ax) and len(whole.texts) >= len(ax.texts)
    bare = plotting.dendrogram(posterior, support=False, intervals=False)
    assert not bare.texts and len(bare.collections) == 1


def test_dendrogram_folds_large_trees_and_writes_their_sizes():
    tree = random_tree(2000, np.random.default_rng(0))
    ax = plotting.dendrogram(tree)
    place = geometry.arrange(tree, max_tips=len(names(ax)))
    assert 20 < len(place.tips) < 90
    triangles = collection(ax, "folded clades", PolyCollection)
    folded = place.tips[place.tips >= 2000]
    assert len(triangles.get_paths()) == len(folded)
    counts = [int(name[1:-1]) for name in names(ax) if name.startswith("(")]
    assert counts == place.size[folded].tolist()
    assert sum(counts) + sum(not name.startswith("(") for name in names(ax)) == 2000
    assert len(ax.collections) <= 3  # a few objects, not thousands
    for path, node in zip(triangles.get_paths(), folded, strict=True):
        assert path.vertices[:, 0].max() == tree.node_times[node]
        assert path.vertices[:, 0].min() == 0.0
    assert ax.get_yticklabels()[0].get_fontsize() >= 5
    assert "folded clade (leaves)" in legend_of(ax)


@pytest.mark.parametrize("time", [0.0, 1e-300])
def test_dendrogram_of_the_smallest_trees(time):
    ax = plotting.dendrogram(Tree([[0, 1]], [time]))
    ax.figure.canvas.draw()
    assert names(ax) == ["0", "1"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"orientation": "up"}, 'orientation must be "left" or "top", not'),
        ({"support": [1.0]}, r"support must have shape \(4,\), one per inner node, not \(1,\)"),
        ({"intervals": [1.0]}, r"intervals must have shape \(4, 2\)"),
        ({"labels": ["a"]}, "labels must be 5 names, not 1"),
        ({"clusters": [0, 1]}, r"clusters must have shape \(5,\)"),
        ({"clusters": [0] * 5, "n_clusters": 2}, "give clusters or n_clusters, not both"),
        ({"max_leaves": 1}, "max_leaves must be a whole number from 2 to 1000000000, not 1"),
        ({"max_leaves": "few"}, "not 'few'"),
        ({"time_scale": "log"}, 'time_scale must be "auto" or "linear" or "sqrt", not'),
    ],
)
def test_dendrogram_refuses_wrong_arguments(tree, options, sentence):
    with pytest.raises(InputError, match=sentence):
        plotting.dendrogram(tree, Figure().add_subplot(), **options)


@pytest.mark.parametrize("k", [2, 6])
def test_dendrogram_of_a_posterior_says_how_stable_clusters_are_on_the_page(k):
    post = chain_posterior(90, 4, 12)
    ax = plotting.dendrogram(post, n_clusters=k)
    figure = ax.figure
    figure.draw_without_rendering()
    (legend,) = [*figure.legends, *(part for part in ax.get_children() if isinstance(part, Legend))]
    texts = [text.get_text() for text in legend.get_texts()]
    of = post.stability(post.cut(k))
    of_clusters = [text for text in texts if text.startswith("cluster ")]
    each = enumerate(zip(of.words, of.jaccard, strict=True), 1)
    assert sorted(of_clusters) == [f"cluster {c}: {similarity(jaccard)}, {word}" for c, (word, jaccard) in each]
    assert ax.get_title(loc="left") == f"Mean tree of 90 rows in {k} clusters"
    box, page = legend.get_window_extent(), figure.bbox
    assert page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0
    assert not box.overlaps(ax.get_window_extent())
    assert box.y1 < ax.xaxis.label.get_window_extent().y0
