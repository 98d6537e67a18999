"""Stacked trees: a lazy sequence, and what is no tree."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.trees.stacked import check_trees
from tests.posteriors import random_posterior


def test_check_trees_names_the_first_that_is_wrong():
    post = random_posterior(0)
    times = post.draws.times.copy()
    times[3, 0] = np.nan
    with pytest.raises(ct.InputError, match="Tree 3 of the posterior is not valid: Merge 0 has time nan"):
        check_trees(post.draws.children, times)
    with pytest.raises(ct.InputError, match="at least one tree"):
        check_trees(post.draws.children[:0], post.draws.times[:0])
