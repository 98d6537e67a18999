"""Linkage matrices, with SciPy and fastcluster on the other side."""

import fastcluster
import numpy as np
import pytest
from hypothesis import given
from scipy.cluster import hierarchy

from coaltree import InputError, Tree
from tests.strategies import any_times, chain, trees

METHODS = ["single", "complete", "average", "weighted", "ward"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    X[10:14] = X[0]  # ties, at height 0 too
    X[20:30] = np.rint(X[20:30])
    return X


@given(trees(times=any_times))
def test_linkage_returns_the_same_tree(tree):
    Z = tree.to_linkage()
    assert hierarchy.is_valid_linkage(Z, throw=True)
    assert Tree.from_linkage(Z) == tree


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", [hierarchy.linkage, fastcluster.linkage], ids=["scipy", "fastcluster"])
def test_linkage_of_scipy_and_fastcluster_is_read(data, method, make):
    Z = make(data, method)
    tree = Tree.from_linkage(Z, labels=[f"row {i}" for i in range(len(data))])
    assert tree.labels[3] == "row 3"
    np.testing.assert_array_equal(tree.to_linkage(), Z)


@pytest.mark.parametrize("method", METHODS)
def test_linkage_is_read_by_scipy(data, method):
    tree = Tree.from_linkage(hierarchy.linkage(data, method))
    Z = tree.to_linkage()
    drawn = hierarchy.dendrogram(Z, no_plot=True)
    assert drawn["leaves"] == tree.leaf_order().tolist()
    cut = hierarchy.fcluster(Z, Z[-7, 2], criterion="distance")
    ours = tree.cut(time=Z[-7, 2])
    assert len(set(zip(cut, ours, strict=True))) == len(set(cut)) == 7


@pytest.mark.parametrize("method", ["centroid", "median"])
@pytest.mark.parametrize("make", [hierarchy.linkage, fastcluster.linkage], ids=["scipy", "fastcluster"])
def test_linkage_with_inversions_is_refused(data, method, make):
    with pytest.raises(InputError, match=r"inversion: row \d+ joins at height .* a cluster of height .* centroid"):
        Tree.from_linkage(make(data[30:], method))


def test_linkage_of_a_deep_chain():
    tree = chain(100_000)
    Z = tree.to_linkage()
    assert hierarchy.is_valid_linkage(Z)
    assert Tree.from_linkage(Z) == tree


@pytest.mark.parametrize(
    ("Z", "sentence"),
    [
        (np.empty((0, 4)), r"A linkage must have shape \(n-1, 4\) with n at least 2, not \(0, 4\)"),
        ([[0, 1, 1.0]], r"not \(1, 3\)"),
        ([[0, 0.5, 1, 2]], r"Row 0 of the linkage joins 0\.0 and 0\.5; clusters are whole numbers"),
        ([[0, 2, 1, 2]], "Row 0 joins node 2, but only nodes 0 to 1 exist by then"),
        ([[0, 1, 1, 2], [0, 2, 2, 3]], "Row 1 joins node 0, which row 0 has already joined"),
        ([[0, 1, -1, 2]], "Row 0 has time -1.0; times must be finite and not negative"),
        ([[0, 1, np.nan, 2]], "Row 0 has time nan"),
        ([[0, 1, 2, 2], [2, 3, 1, 3]], r"inversion: row 1 joins at height 1\.0 a cluster .* height 2\.0 \(row 0\)"),
    ],
)
def test_linkage_refuses_other_matrices(Z, sentence):
    with pytest.raises(InputError, match=sentence):
        Tree.from_linkage(Z)
