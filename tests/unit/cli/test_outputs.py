"""The files and the figure of `coaltree fit`."""

import csv

import pytest

from coaltree.cli.outputs import trees_to_write, write_clusters, write_csv
from coaltree.posterior.clusters.answer import answer_for
from coaltree.posterior.leaf_annotations import KEPT
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
    own = ["label_cluster", "label_probability", "label_row", "label_cluster_1", "label_label_row", "kind"]
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
