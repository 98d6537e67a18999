"""Stacked trees: a lazy sequence, and what is no tree."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.trees.stacked import TreeSequence, check_trees
from tests.posteriors import random_posterior


def test_tree_sequence_makes_trees_and_slices():
    post = random_posterior(0)
    trees = TreeSequence(post.draws.children, post.draws.times, post.labels)
    assert len(trees) == 12 and repr(trees) == "<12 trees of 7 leaves>"
    assert trees[-1] == post.trees[11] and list(trees[2:4]) == [trees[2], trees[3]]
    with pytest.raises(IndexError):
        trees[12]


def test_check_trees_names_the_first_that_is_wrong():
    post = random_posterior(0)
    times = post.draws.times.copy()
    times[3, 0] = np.nan
    with pytest.raises(ct.InputError, match="Tree 3 of the posterior is not valid: Merge 0 has time nan"):
        check_trees(post.draws.children, times)
    with pytest.raises(ct.InputError, match="at least one tree"):
        check_trees(post.draws.children[:0], post.draws.times[:0])
