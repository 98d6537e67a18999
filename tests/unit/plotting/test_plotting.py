"""Pictures, by the objects drawn: where segments run, which colours, names and numbers they have."""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from coaltree import Fixed, InputError, Posterior, Tree, concat, metrics, plotting, simulate
from coaltree.plotting import geometry, style
from coaltree.plotting.style import INK, PALETTE
from coaltree.posterior.trees.consensus import ConsensusTree
from tests.posteriors import random_posterior, side_branch_posterior
from tests.strategies import chain, random_tree

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def tree():
    #  a   ┐ 1       In a ladder the smaller clade comes first: e, then b d, then a c of equal size.
    #  c   ┘ ┐ 3
    #  b ┐ 2 ┘ ┐ 5
    #  d ┘     │
    #  e ──────┘
    return Tree([[0, 2], [1, 3], [5, 6], [7, 4]], [1.0, 2.0, 3.0, 5.0], labels=list("abcde"))


@pytest.fixture(scope="module")
def posterior():
    trees = [random_tree(12, np.random.default_rng(seed)) for seed in range(6)]
    rows = [0, 0, 0, 1, 2, 3, 4, 5]
    return Posterior(
        np.stack([trees[i].children for i in rows]),
        np.stack([trees[i].times for i in rows]),
        log_joint=np.arange(8.0),
        chain=np.repeat([0, 1], 4),
        theta={"variance": np.linspace(1, 2, 8), "matrix": np.ones((8, 2, 2))},
        labels=[f"leaf {i}" for i in range(12)],
    )


def collection(ax, label, kind=LineCollection):
    found = [c for c in ax.collections if c.get_label() == label]
    assert len(found) == 1
    assert isinstance(found[0], kind)
    return found[0]


def segments(ax, label="branches"):
    return {tuple(map(tuple, np.round(s, 9).tolist())) for s in collection(ax, label).get_segments()}


def names(ax, axis="y"):
    return [text.get_text() for text in getattr(ax, f"{axis}axis").get_ticklabels()]


# Where things stand


def test_a_tree_is_laid_out_with_nodes_above_the_middle_of_their_children(tree):
    place = geometry.arrange(tree)
    np.testing.assert_array_equal(place.tips, [4, 0, 2, 1, 3])
    np.testing.assert_array_equal(place.across, [1, 3, 2, 4, 0, 1.5, 3.5, 2.5, 1.25])
    np.testing.assert_array_equal(place.size, tree.sizes)
    np.testing.assert_array_equal(geometry.arrange(tree, ladder=False).tips, tree.leaf_order())
    assert place.limits == (-0.5, 4.5)


@pytest.mark.parametrize("seed", range(5))
def test_no_two_branches_cross(seed):
    tree = random_tree(40, np.random.default_rng(seed))
    place = geometry.arrange(tree)
    at = {leaf: i for i, leaf in enumerate(place.tips.tolist())}
    for clade in tree.clades():
        spots = sorted(at[int(leaf)] for leaf in clade)
        assert spots == list(range(spots[0], spots[0] + len(spots)))


def test_folding_keeps_the_oldest_merges():
    tree = random_tree(200, np.random.default_rng(1))
    place = geometry.arrange(tree, max_tips=15)
    assert len(place.tips) == 15
    assert place.size[place.tips].sum() == 200
    folded = set(place.tips[place.tips >= 200].tolist())
    assert set(place.open_nodes.tolist()) == set(range(200 + 199 - 14, 399))
    assert all(tree.parents[node] in place.open_nodes for node in folded)
    in_room = geometry.arrange(tree, room=40.0)
    assert in_room.total_width <= 40.0 + 1e-9
    assert 15 < len(in_room.tips) < 40
    squeezed = geometry.arrange(tree, max_tips=30, room=31.0)
    assert squeezed.total_width == pytest.approx(31.0)


def test_a_node_has_a_cluster_where_all_its_leaves_do(tree):
    clusters = geometry.node_clusters(tree, np.array([0, 1, 0, 1, 1]))
    np.testing.assert_array_equal(clusters, [0, 1, 0, 1, 1, 0, 1, -1, -1])


# The dendrogram


def test_branches_run_from_parents_to_children(tree):
    ax = plotting.dendrogram(tree)
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


@pytest.mark.parametrize("orientation", ["left", "right", "top", "bottom"])
def test_the_root_is_where_it_is_asked_to_be(tree, orientation):
    ax = plotting.dendrogram(tree, orientation=orientation)
    upright = orientation in ("top", "bottom")
    (old, young) = (ax.transData.transform((2, 5)), ax.transData.transform((2, 0)))
    if not upright:
        old, young = ax.transData.transform((5, 2)), ax.transData.transform((0, 2))
    along = (old - young)[1 if upright else 0]
    assert (along > 0) == (orientation in ("top", "right"))
    assert (ax.get_ylabel() if upright else ax.get_xlabel()) == "time"
    assert names(ax, "x" if upright else "y") == list("eacbd")
    if not upright:  # read from the top down
        assert ax.transData.transform((0, 0))[1] > ax.transData.transform((0, 4))[1]


def test_it_draws_where_it_is_told(tree):
    figure = Figure()
    given = figure.add_subplot()
    assert plotting.dendrogram(tree, given) is given
    assert tree.plot(figure.add_subplot()) is figure.axes[-1]
    assert plt.get_fignums() == []
    assert isinstance(tree.plot(), Axes)


def test_clusters_are_coloured_and_mixed_branches_are_not(tree):
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
    assert ax.get_legend() is None
    again = plotting.dendrogram(tree, clusters=tree.cut(3))
    np.testing.assert_array_equal(collection(again, "branches").get_colors(), lines.get_colors())


def test_a_number_of_clusters_beside_a_posterior_is_cut_from_it():
    posterior = random_posterior(3, n=12, n_trees=30)
    shown = posterior.mean_tree()
    names = style.as_clusters(shown.relabel(shown.labels[::-1]), None, 3, None, posterior)
    np.testing.assert_array_equal(names.number, posterior.cut(3)[::-1])
    np.testing.assert_array_equal(style.as_clusters(shown, None, 3).number, shown.cut(3))


def test_outliers_are_pale():
    assert style.color_of(-1) not in style.PALETTE
    outliers = np.array([0, 0, -1, 1, 1])
    np.testing.assert_array_equal(
        style.as_clusters(random_tree(5, np.random.default_rng(0)), outliers, None).number, outliers
    )


def test_named_clusters_have_a_legend(tree):
    ax = plotting.dendrogram(tree, clusters=["red", "blue", "red", "blue", "$5"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["red", "blue", r"\$5"]


def test_support_is_written_on_the_branches(tree):
    ax = plotting.dendrogram(tree, support=[0.5, np.nan, 0.987, 1.0])
    assert {(t.get_text(), *t.xy) for t in ax.texts} == {("50", 1.0, 1.5), ("99", 3.0, 2.5)}  # not at the root
    consensus = ConsensusTree([[0, 1, 2], [3, 4]], [1.0, 2.0], [0.8, 1.0], list("abcd"))
    assert [t.get_text() for t in consensus.plot().texts] == ["80"]
    assert len(consensus.plot(support=False).texts) == 0


def test_support_of_many_leaves_is_shown_by_dots():
    tree = random_tree(60, np.random.default_rng(4))
    support = np.linspace(0, 1, 59)
    ax = plotting.dendrogram(tree, Figure(figsize=(4, 4)).add_subplot(), support=support, max_leaves=None)
    assert len(ax.texts) == 0
    dots = [c for c in ax.collections if not isinstance(c, LineCollection | PolyCollection)]
    assert [len(c.get_offsets()) for c in dots] == [
        int(((support[:-1] >= low) & (support[:-1] < high)).sum())
        for low, high in [(0.95, 9), (0.75, 0.95), (0.5, 0.75)]
    ]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["support", "≥ 95 %", "≥ 75 %", "≥ 50 %"]


def test_intervals_are_bars_at_their_nodes(tree):
    ax = plotting.dendrogram(tree, intervals=[[0.5, 1.5], [np.nan, np.nan], [2.5, 3.5], [4.0, 7.0]])
    assert segments(ax, "intervals") == {
        ((0.5, 1.5), (1.5, 1.5)),
        ((2.5, 2.5), (3.5, 2.5)),
        ((4.0, 1.25), (7.0, 1.25)),
    }
    assert max(ax.get_xlim()) > 7.0


def test_a_posterior_is_asked_for_support_and_intervals(posterior):
    best = posterior.mean_tree()
    many = concat([posterior] * 8)  # a clade in three of eight trees is too rare for an interval
    ax = plotting.dendrogram(best, support=posterior, intervals=many)
    bars = np.array(collection(ax, "intervals").get_segments())[:, :, 0]
    expected = many.node_times(best)
    assert 1 < np.isfinite(expected[:, 0]).sum() < 12
    np.testing.assert_allclose(np.sort(bars, axis=0), np.sort(expected[np.isfinite(expected[:, 0])], axis=0))
    written = {round(float(t.get_text())) for t in ax.texts}
    assert written <= {round(100 * share) for share in posterior.clade_support(best, kind="transfer")}
    assert written


def test_large_trees_are_folded_and_say_how_much():
    tree = random_tree(2000, np.random.default_rng(0))
    ax = plotting.dendrogram(tree, n_clusters=5)
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


def test_side_branches_are_dashed_in_the_colour_of_their_cluster():
    post = side_branch_posterior()
    tree, labels = post.mean_tree(), post.cut(2)
    told = {"clusters": labels, "side_branches": np.arange(10) == 9}
    for how in ({"n_clusters": 2}, {"n_clusters": 2, "support": post}, told):
        ax = plotting.dendrogram(tree, **how)
        dashed = collection(ax, "side branches")
        (line,) = dashed.get_segments()
        assert names(ax)[0] == "9"
        assert line[-1].tolist() == [0.0, 0.0]  # down to the first tip
        assert [to_hex(color) for color in dashed.get_colors()] == [to_hex(PALETTE[1])]
        assert dashed.get_linestyle()[0][1] is not None
        assert len(collection(ax, "branches").get_segments()) == 17
        assert ax.get_legend().get_texts()[-1].get_text() == "side branch"
    for how in ({"n_clusters": 1}, {"clusters": labels}):
        ax = plotting.dendrogram(tree, **how)
        assert len(collection(ax, "branches").get_segments()) == 18
        assert ax.get_legend() is None
    with pytest.raises(InputError, match="side_branches must be True or False for each of the 10 leaves"):
        plotting.dendrogram(tree, n_clusters=2, side_branches=[9])


@pytest.mark.filterwarnings("ignore::coaltree.ClusterSizeWarning")
@pytest.mark.parametrize("seed", range(5))
def test_but_for_side_branches_the_leaves_of_a_cluster_stand_side_by_side(seed):
    tree = random_tree(40, np.random.default_rng(seed))
    for k in range(1, 9):
        found = style.as_clusters(tree, None, k)
        order = [leaf for leaf in geometry.arrange(tree).tips.tolist() if not found.side_branch[leaf]]
        core = found.number[order]
        assert 1 + np.count_nonzero(np.diff(core)) == len(set(core.tolist())) == k


def test_folded_side_branches_are_hollow():
    tree = random_tree(300, np.random.default_rng(0))
    side = np.zeros(300, dtype=bool)
    place = geometry.arrange(tree, max_tips=12)
    leaves = geometry.leaves_of_tips(tree, place)
    at = max(range(len(leaves)), key=lambda tip: len(leaves[tip]))
    side[leaves[at]] = True
    ax = plotting.dendrogram(tree, max_leaves=12, clusters=np.zeros(300, int), side_branches=side)
    faces = collection(ax, "folded clades", PolyCollection).get_facecolors()
    folded = place.tips[place.tips >= 300].tolist()
    assert [node for node, face in zip(folded, faces, strict=True) if face[3] == 0.0] == [place.tips[at]]


def test_the_heat_map_marks_side_branches_as_well():
    tree = side_branch_posterior().mean_tree()
    parts = plotting.heatmap(tree, np.arange(20.0).reshape(10, 2), n_clusters=2)
    assert len(collection(parts.tree, "side branches").get_segments()) == 1
    found = plotting.clustermap(np.arange(20.0).reshape(10, 2), row_tree=tree, col_tree=False, n_clusters=2)
    said = [text.get_text() for text in found.figure.legends[0].get_texts()]
    assert said == ["clusters", "1", "2", "side branch"]


def test_two_legends_outside_do_not_meet():
    ax = Figure(layout="constrained").add_subplot()
    for _ in range(2):
        style.add_legend_outside(ax, [Line2D([], [], label=f"entry {k}") for k in range(6)])
    ax.figure.draw_without_rendering()
    below, above = (legend.get_window_extent() for legend in ax.figure.legends)
    assert below.y1 < above.y0


def test_all_leaves_of_a_large_tree_without_names():
    tree = random_tree(2000, np.random.default_rng(0))
    ax = plotting.dendrogram(tree, max_leaves=None, time_scale="sqrt", orientation="top")
    assert len(collection(ax, "branches").get_segments()) == 2 * 2000 - 2
    assert names(ax, "x") == []
    low, quarter, top = (ax.transData.transform((0, t))[1] for t in (0.0, tree.times[-1] / 4, tree.times[-1]))
    assert quarter - low == pytest.approx((top - low) / 2)


def test_names_do_not_overlap_when_drawn():
    for n in (20, 45, 2000):
        tree = random_tree(n, np.random.default_rng(n)).relabel([f"observation {i}" for i in range(n)])
        ax = plotting.dendrogram(tree)
        ax.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.get_yticklabels() if text.get_text()]
        assert len(boxes) >= 20
        assert not any(a.overlaps(b) for a, b in pairwise(boxes))


def test_a_deep_chain_and_the_smallest_trees():
    ax = plotting.dendrogram(chain(100_000), max_leaves=10)
    assert names(ax)[-1] == "(99991)"
    assert names(plotting.dendrogram(Tree([[0, 1]], [0.0]))) == ["0", "1"]
    tiny = plotting.dendrogram(Tree([[0, 1]], [1e-300]))
    tiny.figure.canvas.draw()


def test_names_are_text_and_not_formulas():
    tree = Tree([[0, 1]], [1.0], ["$x$ costs $5", "$\\frac$"])
    ax = plotting.dendrogram(tree)
    ax.figure.canvas.draw()
    assert names(ax) == [r"\$x\$ costs \$5", r"\$\frac\$"]
    assert names(plotting.dendrogram(tree, labels=["p", "q"])) == ["p", "q"]
    assert names(plotting.dendrogram(tree, labels=False)) == []
    bare = plotting.dendrogram(tree, time_label=None)
    assert bare.get_xlabel() == ""
    assert len(bare.get_xticks()) == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"orientation": "up"}, 'orientation must be "top", "bottom", "left" or "right", not'),
        ({"support": [1.0]}, r"support must have shape \(4,\), one per inner node, not \(1,\)"),
        ({"intervals": [1.0]}, r"intervals must have shape \(4, 2\)"),
        ({"labels": ["a"]}, "labels must have one name per leaf, 5 of them, not 1"),
        ({"clusters": [0, 1]}, r"clusters must have shape \(5,\)"),
        ({"clusters": [0] * 5, "n_clusters": 2}, "give clusters or n_clusters, not both"),
        ({"max_leaves": 1}, "max_leaves must be a whole number of at least 2, not 1"),
        ({"max_leaves": "few"}, "not 'few'"),
        ({"time_scale": "log"}, 'time_scale must be "linear" or "sqrt", not'),
    ],
)
def test_what_cannot_be_drawn(tree, options, sentence):
    with pytest.raises(InputError, match=sentence):
        plotting.dendrogram(tree, Figure().add_subplot(), **options)


def test_a_consensus_cannot_be_cut():
    consensus = ConsensusTree([[0, 1, 2]], [1.0], [1.0], list("abc"))
    with pytest.raises(InputError, match="only a binary tree can be cut into n_clusters"):
        plotting.dendrogram(consensus, n_clusters=2)
    assert len(collection(plotting.dendrogram(consensus, clusters=[0, 0, 1]), "branches").get_segments()) == 3


# The cloud


def test_a_cloud_has_every_branch_of_every_tree(posterior):
    ax = plotting.cloud(posterior)
    drawn = [s for c in ax.collections if c.get_label() != "reference" for s in c.get_segments()]
    assert len(drawn) == 8 * (2 * 12 - 2)
    best = posterior.mean_tree()
    assert len(collection(ax, "reference").get_segments()) == 2 * 12 - 2
    order = geometry.arrange(best).tips
    assert names(ax) == [posterior.labels[leaf] for leaf in order]
    ends = np.array([s[0] for s in collection(ax, "reference").get_segments()])  # at the parents
    assert set(np.round(ends[:, 0], 12)) == set(np.round(best.times, 12))


def test_common_topologies_have_their_colour(posterior):
    ax = plotting.cloud(posterior, reference=False)
    first = collection(ax, "topology 1")
    assert to_hex(first.get_colors()[0]) == PALETTE[0].lower()
    assert len(first.get_segments()) == 3 * 22
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["topologies", "38 %", "12 %", "12 %", "38 % others"]


def test_a_cloud_follows_weights_and_a_given_order():
    trees = [Tree([[0, 1], [2, 3]], [1, 2]), Tree([[0, 2], [1, 3]], [1, 2])]
    post = Posterior(
        np.stack([t.children for t in trees]), np.stack([t.times for t in trees]), log_weights=np.log([0.9, 0.1])
    )
    ax = plotting.cloud(post, max_trees=10, reference=trees[1], shape="square", orientation="top")
    assert len(collection(ax, "topology 1").get_segments()) == 9 * 4
    assert len(collection(ax, "topology 2").get_segments()) == 1 * 4
    assert names(ax, "x") == ["1", "0", "2"]
    assert all(len(s) == 3 for s in collection(ax, "reference").get_segments())


def test_what_is_no_cloud(posterior):
    with pytest.raises(InputError, match='shape must be "slanted" or "square", not'):
        plotting.cloud(posterior, shape="round")
    with pytest.raises(InputError, match="max_trees must be a whole number of at least 1, not 0"):
        plotting.cloud(posterior, max_trees=0)


# Matrices


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


@pytest.mark.parametrize("make", ["new", "constrained", "plain", "by hand"])
def test_rows_of_data_stand_beside_their_leaves(tree, make):
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


def test_a_label_called_clusters_is_drawn_beside_the_clusters(tree):
    parts = plotting.heatmap(tree, np.arange(10.0).reshape(5, 2), n_clusters=2, row_colors={"clusters": list("uvwxy")})
    strips = [one for one in parts.data.collections if one.get_label() == "clusters"]
    assert sorted(len(set(map(tuple, strip.get_facecolors()))) for strip in strips) == [2, 5]


def test_the_scale_of_colours_suits_the_data(tree):
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
    with pytest.raises(InputError, match="features must have one name per column of X, 2 of them, not 1"):
        plotting.heatmap(tree, np.ones((5, 2)), features=["p"])


# Curves


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


def test_traces_have_a_line_for_each_chain(posterior):
    axes = plotting.traces(posterior)
    assert [ax.get_ylabel() for ax in axes] == ["log joint", "root time", "variance"]  # a matrix has no trace
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), [0, 1, 2, 3])
    np.testing.assert_array_equal(axes[0].lines[1].get_ydata(), [4, 5, 6, 7])
    np.testing.assert_array_equal(axes[1].lines[1].get_ydata(), [tree.times[-1] for tree in posterior.trees][4:])
    one = Figure().add_subplot()
    assert plotting.traces(posterior, one, names="variance") is one
    assert plotting.traces(posterior, Figure().add_subplot()).get_ylabel() == "log joint"
    with pytest.raises(InputError, match=r"names must be among log_joint, root_time, variance.*not 'length2'"):
        plotting.traces(posterior, names=["length2"])
    with pytest.raises(InputError, match="ax must have one axes per trace, 2 of them, not 1"):
        plotting.traces(posterior, one, names=["variance", "log_joint"])


# Strips of colour


def test_known_classes_stand_beside_their_leaves(tree):
    kinds = pd.Series(["one", "two", "one", None, "two"], index=tree.labels, name="kind")
    for orientation in ("left", "right", "top", "bottom"):
        ax = plotting.dendrogram(tree, row_colors=kinds[::-1], orientation=orientation)
        ax.figure.canvas.draw()
        (inset,) = ax.child_axes
        strip = inset.collections[0]
        order = geometry.arrange(tree).tips
        shown = strip.get_facecolors()
        assert len(shown) == 5
        expected = [["one", "two", "one", "", "two"][leaf] for leaf in order]
        of_kind = {kind: tuple(color) for kind, color in zip(expected, shown, strict=True) if kind}
        assert all(tuple(color) == of_kind[kind] for kind, color in zip(expected, shown, strict=True) if kind)
        assert len(set(of_kind.values())) == 2
    (legend,) = ax.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["kind:", "one", "two"]


def test_a_folded_clade_shows_the_classes_of_its_leaves_in_proportion():
    large = chain(40)
    ax = plotting.dendrogram(large, max_leaves=2, row_colors=["q"] + ["p"] * 39)
    strip = ax.child_axes[0].collections[0]
    heights = [path.get_extents().height for path in strip.get_paths()]
    assert len(heights) == 3
    assert max(heights) / min(heights) == pytest.approx(38)


def test_checks_have_three_panels_with_bands_and_p_values():
    X, tree = simulate(30, 3, random_state=0)
    post = Posterior(tree.children[None], tree.times[None], X=X, covariance=Fixed(np.eye(3)))
    found = post.check()
    left, middle, right = plotting.checks(post)
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


def test_clusters_are_numbered_each_at_its_largest_clade():
    post = random_posterior(3, n=40, weighted=False)
    tree = post.mean_tree()
    labels = tree.cut(12, min_size=1)
    ax = plotting.dendrogram(tree, clusters=labels, number_clusters=True, support=False)
    numbers = {text.get_text(): text for text in ax.texts}
    assert set(numbers) == set(map(str, range(1, 13)))
    for number, text in numbers.items():
        assert text.get_color() == style.color_of(int(number) - 1)
    assert not plotting.dendrogram(tree, clusters=labels, support=False).texts


def test_a_folded_clade_of_several_clusters_is_sliced_by_their_shares():
    tree = Tree([[0, 1], [4, 2], [5, 3]], [1.0, 2.0, 3.0])
    folded = Tree([[0, 1], [5, 2], [6, 3], [7, 4]], [1.0, 2.0, 3.0, 4.0])
    ax = plotting.dendrogram(folded, clusters=[0, 0, 0, 1, 1], max_leaves=2)
    triangles = collection(ax, "folded clades", PolyCollection)
    base = sorted(float(np.ptp(path.vertices[1:3, 1])) for path in triangles.get_paths())
    assert len(base) == 2 and base[1] == pytest.approx(3 * base[0])  # three leaves of one cluster, one of the other
    ax = plotting.dendrogram(tree, max_leaves=2)
    triangles = collection(ax, "folded clades", PolyCollection)
    assert len(triangles.get_paths()) == 1
