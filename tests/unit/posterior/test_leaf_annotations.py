"""Columns about the leaves that are not fitted: classes, numbers, what is missing, whose row is whose."""

import numpy as np
import pandas as pd

from coaltree.posterior.leaf_annotations import in_order, of_leaves, read_annotations

LEAVES = ("a", "b", "c", "d")


def test_read_annotations_sorts_classes_and_missing_ones_have_none():
    (column,) = read_annotations({"kind": ["x", None, "y", "x"]}, LEAVES)
    assert column.name == "kind"
    assert column.levels == ("x", "y")
    np.testing.assert_array_equal(column.codes, [0, -1, 1, 0])
    assert column.texts() == ["x", "", "y", "x"]


def test_read_annotations_takes_few_numbers_as_classes_and_many_as_numbers():
    (column,) = read_annotations({"grade": [10.0, 9.0, np.nan, 10.0]}, LEAVES)
    assert column.levels == ("9", "10")
    np.testing.assert_array_equal(column.codes, [1, 0, -1, 1])
    (column,) = read_annotations(np.linspace(0, 1, 30), [str(i) for i in range(30)])
    assert column.numbers is not None
    assert column.texts()[:2] == ["0", "0.0344828"]


def test_read_annotations_heeds_an_index_of_names():
    frame = pd.DataFrame({"one": [1, 2, 3, 4], "two": list("wxyz")}, index=list("dcba"))
    one, two = read_annotations(frame, LEAVES)
    assert one.texts() == ["4", "3", "2", "1"]
    assert two.texts() == ["z", "y", "x", "w"]


def test_of_leaves_takes_the_commonest_value_of_several_rows():
    assert of_leaves(["x", "y", "y", "z"], np.array([0, 1, 1, 1])) == ["x", "y"]
    assert of_leaves(["x", "y"], None) == ["x", "y"]
    assert of_leaves(["", "NA", "x", "", "", "y"], np.array([0, 0, 0, 1, 1, 2])) == ["x", "", "y"]


def test_in_order_puts_numbers_by_size_alone_and_within_text():
    assert in_order(["10", "1", "2", "-3", "1.5"]) == ["-3", "1", "1.5", "2", "10"]
    assert in_order(["plot 10", "plot 2", "plot 02", "a", "plot"]) == ["a", "plot", "plot 02", "plot 2", "plot 10"]
    (column,) = read_annotations({"kind": ["g10", "g2", "g1", "g2"]}, LEAVES)
    assert column.levels == ("g1", "g2", "g10")
