"""Means over trees of what joins two leaves, against looking at every pair of every tree."""

import itertools

import numpy as np
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


def fast(trees, values, weights):
    return mean_over_pairs(np.stack([tree.children for tree in trees]), values, weights)


@given(st.integers(2, 14), st.integers(1, 4), st.integers(0, 2**32))
def test_mean_over_pairs_is_that_of_every_pair(n, n_trees, seed):
    trees, values, weights = drawn(n, n_trees, np.random.default_rng(seed))
    np.testing.assert_allclose(fast(trees, values, weights), slowly(trees, values, weights, range(n)), rtol=1e-12)
