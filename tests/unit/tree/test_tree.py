"""Tree: its attributes, densities, and what it refuses."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import coaltree as ct
from coaltree import InputError, Tree
from coaltree.tree import unchecked_tree
from tests.reference import likelihood
from tests.reference import trees as slow
from tests.strategies import any_times, chain, labels, random_tree, trees

LARGE = 100_000


@pytest.fixture
def tree():
    #     ┌───┴──┐        4.0
    #   ┌─┴─┐    │        2.0
    #   │   │  ┌─┴─┐      1.0
    #   a   c  b   d
    return Tree([[1, 3], [0, 2], [5, 4]], [1.0, 2.0, 4.0], labels=["a", "b", "c", "d"])


@pytest.fixture(scope="module")
def deep():
    return chain(LARGE)


def test_tree_attributes(tree):
    assert tree.n == 4
    assert tree.root == 6
    assert tree.labels == ("a", "b", "c", "d")
    assert tree.children.dtype == np.int64
    assert tree.times.dtype == np.float64
    np.testing.assert_array_equal(tree.parents, [5, 4, 5, 4, 6, 6, -1])
    np.testing.assert_array_equal(tree.node_times, [0, 0, 0, 0, 1, 2, 4])
    np.testing.assert_array_equal(tree.sizes, [1, 1, 1, 1, 2, 2, 4])
    np.testing.assert_array_equal(tree.leaf_order(), [0, 2, 1, 3])
    assert tree.clades() == [{"b", "d"}, {"a", "c"}, {"a", "b", "c", "d"}]
    assert repr(tree) == "Tree(n=4, root time 4, labels 'a', 'b', 'c', …)"
    assert Tree([[0, 1]], [1]).labels == ("0", "1")


def test_tree_is_immutable(tree):
    for name in ("children", "times", "labels", "n", "other"):
        with pytest.raises(AttributeError):
            setattr(tree, name, 0)
    with pytest.raises(ValueError, match="read-only"):
        tree.times[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        tree.children[0] = 5
    tree.sizes[:] = 0  # what it hands out are copies
    tree.leaf_order()[:] = 0
    np.testing.assert_array_equal(tree.sizes, [1, 1, 1, 1, 2, 2, 4])
    np.testing.assert_array_equal(tree.leaf_order(), [0, 2, 1, 3])


def test_tree_has_arrays_of_its_own():
    children, times = np.array([[0, 1], [2, 3]], dtype=np.int32), np.array([1.0, 2.0])
    tree, unchecked = Tree(children, times, list("abc")), unchecked_tree(children, times, ("a", "b", "c"))
    assert unchecked == tree and unchecked.children.dtype == np.int64 and not unchecked.times.flags.writeable
    children[:], times[:] = 0, 0  # still the sampler's
    np.testing.assert_array_equal(tree.children, [[0, 1], [2, 3]])
    np.testing.assert_array_equal(tree.times, [1, 2])


@given(trees())
def test_tree_agrees_with_the_transcription(tree):
    np.testing.assert_array_equal(tree.parents, slow.parents(tree.children))
    np.testing.assert_array_equal(tree.sizes, slow.sizes(tree.children))
    np.testing.assert_array_equal(tree.leaf_order(), slow.leaf_order(tree.children))
    assert tree.clades() == [{str(leaf) for leaf in clade} for clade in slow.clades(tree.children)]
    np.testing.assert_array_equal(tree.cophenetic(), slow.cophenetic(tree.children, tree.times))


@given(trees(times=any_times, labels=labels))
def test_tree_equality_hash_and_pickle(tree):
    again = pickle.loads(pickle.dumps(tree))
    assert again == tree
    assert hash(again) == hash(tree)
    assert not again.times.flags.writeable
    assert tree.relabel([f"x{i}" for i in range(tree.n)]) != tree
    assert tree.relabel(tree.labels) == tree
    longer = Tree(tree.children, np.append(tree.times[:-1], tree.times[-1] + 1e299), tree.labels)
    assert longer != tree
    assert (tree == "tree") is False


def test_log_prior_is_the_coalescents(tree):
    # rates 6, 3, 1 for waits 1, 1, 2
    assert tree.log_prior() == pytest.approx(-(6 * 1 + 3 * 1 + 1 * 2))


def test_log_likelihood_is_that_of_the_normal_distribution_of_the_leaves():
    rng = np.random.default_rng(2)
    tree = random_tree(6, rng).relabel(list("abcdef"))
    X = rng.normal(size=(6, 3))
    A = rng.normal(size=(3, 3))
    Phi = A @ A.T + np.eye(3)
    expected = likelihood.log_likelihood(tree.children, tree.times, X, Phi)
    assert tree.log_likelihood(X, Phi) == pytest.approx(expected, rel=1e-10)
    noisy = likelihood.log_likelihood(tree.children, tree.times, X, Phi, leaf_var=0.3)
    assert tree.log_likelihood(X.tolist(), Phi, noise=0.3) == pytest.approx(noisy, rel=1e-10)
    frame = pd.DataFrame(X, index=list("abcdef"))
    assert tree.log_likelihood(frame[::-1], Phi) == pytest.approx(expected, rel=1e-10)
    assert tree.log_likelihood(frame.reset_index(drop=True), Phi) == pytest.approx(expected, rel=1e-10)
    with pytest.raises(InputError, match="index of X names other rows than the leaves"):
        tree.log_likelihood(frame.rename(index={"a": "z"}), Phi)
    with pytest.raises(InputError, match="X has 5 rows and the tree 6 leaves"):
        tree.log_likelihood(X[:5], Phi)


def test_tree_that_is_a_deep_chain_in_every_method(deep):
    assert Tree(deep.children, deep.times, deep.labels) == deep
    np.testing.assert_array_equal(deep.sizes[LARGE:], np.arange(2, LARGE + 1))
    np.testing.assert_array_equal(deep.leaf_order(), np.arange(LARGE))
    assert deep.parents[0] == LARGE
    np.testing.assert_array_equal(np.bincount(deep.cut(3)), [LARGE - 2, 1, 1])
    np.testing.assert_array_equal(deep.cut(time=10.0)[:13], [0] * 11 + [1, 2])
    pairs = np.random.default_rng(0).integers(0, LARGE, (10_000, 2))
    np.testing.assert_array_equal(
        deep.cophenetic(pairs=pairs), np.where(pairs[:, 0] == pairs[:, 1], 0, pairs.max(axis=1))
    )
    assert len(np.unique(deep.clade_keys(), axis=0)) == LARGE - 1
    assert pickle.loads(pickle.dumps(deep)) == deep
    assert hash(deep) == hash(chain(LARGE))
    assert deep.relabel(deep.labels[::-1]).labels[0] == str(LARGE - 1)
    assert "100000" in repr(deep)
    assert np.isfinite(deep.log_prior())
    assert np.isfinite(deep.log_likelihood(np.arange(2.0 * LARGE).reshape(LARGE, 2), "spherical"))
    with pytest.raises(InputError, match="use clade_keys"):
        deep.clades()


@pytest.mark.parametrize(
    ("children", "times", "names", "sentence"),
    [
        ([], [], None, r"children must have shape \(n-1, 2\) with n at least 2, not \(0,\)"),
        ([[0, 1, 2]], [1], None, r"children must have shape .* not \(1, 3\)"),
        ([[0.0, 1.0]], [1], None, "children must be whole numbers.* not float64"),
        ([[0, 1], [2, 5]], [1, 2], None, "Merge 1 joins node 5, but only nodes 0 to 3 exist by then"),
        ([[0, -1], [2, 3]], [1, 2], None, "Merge 0 joins node -1"),
        ([[0, 2**63], [2, 3]], [1, 2], None, "Merge 0 joins node 9223372036854775807"),
        ([[0, 1], [1, 3]], [1, 2], None, "Merge 1 joins node 1, which merge 0 has already joined"),
        ([[0, 0], [1, 3]], [1, 2], None, "Merge 0 joins node 0, which merge 0 has already joined"),
        ([[0, 1], [2, 3]], [1], None, r"times must have shape \(2,\), one per merge, not \(1,\)"),
        ([[0, 1]], "now", None, "times must be an array, or a sequence of values"),
        ([[0, 1], [2, 3]], [1, np.nan], None, "Merge 1 has time nan; times must be finite and not negative"),
        ([[0, 1], [2, 3]], [1, np.inf], None, "Merge 1 has time inf"),
        ([[0, 1], [2, 3]], [-1, 2], None, "Merge 0 has time -1.0"),
        ([[0, 1], [2, 3]], [2, 1], None, "Merge 1 at time 1.0 comes before merge 0 at time 2.0"),
        ([[0, 1]], [1], ["a"], "labels must be 2 names, not 1"),
    ],
)
def test_tree_refuses_bad_arrays(children, times, names, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        Tree(np.array(children, dtype=np.uint64) if children == [[0, 2**63], [2, 3]] else children, times, names)
    assert str(error.value).endswith(".")


def test_log_likelihood_keeps_the_digits_of_differences_far_from_zero():
    X, tree = ct.simulate(20, 3, random_state=4)
    near = np.round(X * 1024) / 1024  # so that the sum below is exact
    assert tree.log_likelihood(near + 2.0**40) == pytest.approx(tree.log_likelihood(near), abs=1e-9)
