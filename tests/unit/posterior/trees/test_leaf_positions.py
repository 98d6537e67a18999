"""Means over trees of what joins two leaves, against looking at every pair of every tree."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coaltree.posterior.trees.leaf_positions import mean_over_pairs
from tests.reference import summaries
from tests.strategies import chain, random_tree


def slowly(trees, values, weights, leaves):
    """The pairs of `leaves` in SciPy's order."""
    found = []
    for i, j in itertools.combinations(range(len(leaves)), 2):
        mean = 0.0
        for tree, of_tree, w in zip(trees, values, weights, strict=True):
            under = summaries.clades(tree.children.tolist())
            mean += w * next(v for clade, v in zip(under, of_tree, strict=True) if {leaves[i], leaves[j]} <= clade)
        found.append(mean)
    return found


def drawn(n, n_trees, rng):
    """Trees, values that grow towards the root, and weights."""
    trees = [chain(n) if rng.random() < 0.2 else random_tree(n, rng) for _ in range(n_trees)]
    return trees, np.cumsum(rng.exponential(size=(n_trees, n - 1)), axis=1), rng.random(n_trees)


def fast(trees, values, weights, groups):
    children = np.stack([tree.children for tree in trees])
    return list(mean_over_pairs(children, values, weights, [np.array(leaves) for leaves in groups]))


@given(st.integers(2, 14), st.integers(1, 4), st.integers(0, 2**32), st.data())
def test_mean_over_pairs_of_groups_in_any_order(n, n_trees, seed, data):
    trees, values, weights = drawn(n, n_trees, np.random.default_rng(seed))
    leaves = data.draw(st.permutations(range(n)))
    ends = sorted(data.draw(st.sets(st.integers(1, n), min_size=1, max_size=4)))
    groups = [leaves[a:b] for a, b in itertools.pairwise([0, *ends])]  # what comes after the last end is in none
    found = fast(trees, values, weights, groups)
    assert [len(matrix) for matrix in found] == [len(group) * (len(group) - 1) // 2 for group in groups]
    for matrix, group in zip(found, groups, strict=True):
        np.testing.assert_allclose(matrix, slowly(trees, values, weights, group), rtol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 17])
def test_mean_over_pairs_of_all_leaves(n):
    trees, values, weights = drawn(n, 6, np.random.default_rng(n))
    for leaves in (list(range(n)), list(range(n))[::-1]):
        (found,) = fast(trees, values, weights, [leaves])
        np.testing.assert_allclose(found, slowly(trees, values, weights, leaves), rtol=1e-12)


def test_mean_over_pairs_of_many_leaves_and_groups():
    """Cophenetic times of each tree tell the same."""
    rng = np.random.default_rng(0)
    trees, values, weights = drawn(700, 5, rng)
    cophenetic = sum(
        w * type(tree)(tree.children, of_tree).cophenetic()
        for tree, of_tree, w in zip(trees, values, weights, strict=True)
    )
    leaves = rng.permutation(700)
    for groups in ([np.arange(700)], [leaves], np.split(leaves, 7), [leaves[:600], leaves[600:601], leaves[650:]]):
        for matrix, group in zip(fast(trees, values, weights, groups), groups, strict=True):
            expected = cophenetic[np.ix_(group, group)][np.triu_indices(len(group), 1)]
            np.testing.assert_allclose(matrix, expected, rtol=1e-12)


def test_mean_over_pairs_takes_every_kind_of_array():
    """Children of any whole numbers, read-only or not, in any layout."""
    trees, values, weights = drawn(9, 4, np.random.default_rng(1))
    (expected,) = fast(trees, values, weights, [range(9)])
    children = np.stack([tree.children for tree in trees])
    for other in (children.astype(np.int32), np.asfortranarray(children), np.repeat(children, 2, axis=0)[::2]):
        (found,) = mean_over_pairs(other, values, weights, [np.arange(9)])
        np.testing.assert_array_equal(found, expected)
