"""Names of leaves, and what binary trees and consensus trees share."""

import numpy as np

from coaltree import Tree
from coaltree.tree.rooted import check_labels, default_labels


def test_check_labels_numbers_leaves_where_none_are_given():
    assert check_labels(None, 3) == default_labels(3) == ("0", "1", "2")
    assert check_labels([1, "b", 2.5], 3) == ("1", "b", "2.5")


def test_rooted_tree_counts_nodes_and_draws_itself():
    tree = Tree([[0, 1], [2, 3]], [1.0, 2.0], ["a", "b", "c"])
    assert (tree.n, tree.root, tree.labels) == (3, 4, ("a", "b", "c"))
    np.testing.assert_array_equal(tree.node_times, [0.0, 0.0, 0.0, 1.0, 2.0])
    assert tree._repr_svg_().startswith("<svg") and len(tree.plot().lines) + len(tree.plot().collections) > 0
