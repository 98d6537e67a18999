"""NEXUS text, line by line. What FigTree's readers make of it is tested with the posterior's files."""

import numpy as np

from coaltree.tree.nexus import drawn_trees, leaf_numbers, nexus_lines, node_comments


def test_nexus_lines_name_the_leaves_in_the_translate_block():
    lines = list(nexus_lines(["a", "b_1", "c d"], ["one = (1:1,2:1);"]))
    assert lines[0] == "#NEXUS" and lines[2] == "  dimensions ntax=3;" and lines[-1] == "end;"
    assert lines[lines.index("  translate") + 1 :][:4] == ["    1 a,", "    2 'b_1',", "    3 'c d'", "  ;"]
    assert "  tree one = (1:1,2:1);" in lines


def test_drawn_trees_have_weights_and_ten_digits():
    children, times = np.array([[[0, 1], [2, 3]]], dtype=np.int32), np.array([[1 / 3, 2.0]])
    assert list(drawn_trees(children, times, np.array([0.25]))) == [
        "tree_0 = [&R] [&W 0.25] (3:2,(1:0.3333333333,2:0.3333333333):1.666666667);"
    ]
    assert leaf_numbers(3) == ["1", "2", "3"]


def test_node_comments_leave_out_what_is_missing():
    annotations = {"posterior": np.array([np.nan, 0.75]), "range": np.array([[1.0, 2.5], [np.nan, np.nan]])}
    assert node_comments(annotations) == ["[&range={1,2.5}]", "[&posterior=0.75]"]
    assert node_comments({"x": np.array([np.nan])}) == [""]
