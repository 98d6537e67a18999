"""The files and the figure of `coaltree fit`."""

import csv

import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from coaltree.cli.outputs import draw_tree, height_for, trees_to_write, write_clusters, write_csv
from coaltree.posterior.clusters.answer import answer_for
from coaltree.posterior.leaf_annotations import KEPT
from tests.browser.posteriors import chain_posterior
from tests.posteriors import lone_leaf_posterior, random_posterior


@pytest.mark.parametrize(("n", "expected"), [(50, 1000), (100, 1000), (1_000, 100), (1_000_000, 10)])
def test_trees_to_write_are_fewer_of_many_leaves(n, expected):
    assert trees_to_write(n) == expected


def test_write_csv_makes_text_of_formulas(tmp_path):

    names = ["=cmd|' /C calc'!A0", "+1+1", "-x", "@SUM(A1)", "\tx", "-1.5", "+3", "x=1", "-", "東京", "a\rb\nc"]
    write_csv(tmp_path / "x.csv", {"leaf": names, "=x": range(len(names))})
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["leaf", "'=x"]
    assert [row[1] for row in rows] == [*map(str, range(len(names)))]
    assert [row[0] for row in rows] == [f"'{name}" for name in names[:5]] + [
        "-1.5",
        "+3",
        "x=1",
        "'-",
        "東京",
        "a\rb\nc",
    ]


def test_write_clusters_renames_annotations_called_like_another_column(tmp_path):
    post = random_posterior(1)
    kinds = [*"xxxyyyy"]
    names = ["cluster", "probability", "row", "cluster_1", "label_row", "kind"]
    post.info[KEPT] = dict.fromkeys(names, kinds)
    write_clusters(tmp_path / "clusters.csv", post, answer_for(post, 2))
    with open(tmp_path / "clusters.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header[:7] == ["row", "cluster", "probability", "in_no_clade", "cluster_1", "cluster_2", "none"]
    own = ["label_cluster", "label_probability", "label_label_row", "label_cluster_1", "label_row", "kind"]
    assert header[7:] == own
    assert [row[7] for row in rows] == kinds


def test_write_clusters_marks_leaves_in_no_clade(tmp_path):
    post = lone_leaf_posterior()
    post.info[KEPT] = {"in_no_clade": [*"xxxxxyyyyy"]}
    write_clusters(tmp_path / "clusters.csv", post, answer_for(post, 2))
    with open(tmp_path / "clusters.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["in_no_clade"] for row in rows] == [""] * 9 + ["yes"]
    assert [row["label_in_no_clade"] for row in rows] == [*"xxxxxyyyyy"]
    assert [row["cluster"] for row in rows] == [*"1111222222"]


@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_draw_tree_has_one_legend_that_stays_on_the_page(k):
    post = chain_posterior(90, 4, 12)
    answer = answer_for(post, k)
    unsure = answer.stability._replace(words=("dissolved",) * k)
    figure = Figure(figsize=(8.0, height_for(90)), layout="constrained")
    ax = figure.add_subplot()
    draw_tree(ax, post.mean_tree(), post, answer._replace(stability=unsure))
    figure.draw_without_rendering()
    legends = [*figure.legends, *(part for part in ax.get_children() if isinstance(part, Legend))]
    (legend,) = legends
    said = [text.get_text() for legend in legends for text in legend.get_texts()]
    assert sum(text.startswith("cluster ") for text in said) == k
    assert ax.get_title(loc="left") == f"Mean tree of 90 rows in {k} clusters"
    box, page = legend.get_window_extent(), figure.bbox
    assert page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0
    assert not box.overlaps(ax.get_window_extent())
    assert box.y1 < ax.xaxis.label.get_window_extent().y0
