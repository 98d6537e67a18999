"""The files and the figure of `coaltree fit`."""

import csv

from coaltree.cli.outputs import write_clusters, write_csv
from coaltree.posterior.clusters.answer import answer_for
from coaltree.posterior.leaf_annotations import KEPT
from tests.posteriors import random_posterior


def test_write_csv_makes_text_of_formulas(tmp_path):

    names = ["=cmd|' /C calc'!A0", "+1+1", "-x", "@SUM(A1)", "\tx", "-1.5", "+3", "x=1", "-", "東京", "a\rb\nc"]
    write_csv(tmp_path / "x.csv", {"leaf": names, "=x": range(len(names))})
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["leaf", "'=x"]
    assert [row[1] for row in rows] == [*map(str, range(len(names)))]
    kept = ["-1.5", "+3", "x=1", "'-", "東京", "a\rb\nc"]
    assert [row[0] for row in rows] == [f"'{name}" for name in names[:5]] + kept


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
