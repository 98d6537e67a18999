"""Clusters beside leaf annotations, as text."""

import numpy as np

from coaltree.cli.annotations import compare_annotation
from coaltree.posterior.clusters.answer import answer_for
from coaltree.posterior.leaf_annotations import read_annotations
from tests.posteriors import side_branch_posterior


def compared(values):
    post = side_branch_posterior()
    (annotation,) = read_annotations({"kind": values}, post.labels)
    return compare_annotation(answer_for(post, 2), annotation).splitlines()


def test_compare_annotation_of_classes_counts_them_in_clusters():
    title, header, *rows = compared([*"xxxxy", "", *"yyyz"])
    assert title.startswith("kind: adjusted Rand index 0.") and title.endswith(" (1 missing)")
    assert header.split() == ["x", "y", "z"]
    assert [row.split() for row in rows] == [["cluster", "1", "4", "0", "0"], ["cluster", "2", "0", "4", "1"]]


def test_compare_annotation_of_many_classes_only_counts_them():
    (title,) = compared([*"abcdefghij"])
    assert title.endswith(" (10 classes)")


def test_compare_annotation_of_numbers_has_their_range():
    title, *rows = compared(np.arange(10) + 0.5)
    assert title == "kind: median in each cluster, and 90 % of its values"
    assert [row.split()[2] for row in rows] == ["2", "7"]
