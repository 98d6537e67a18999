"""The extended majority-rule tree against its definition by sets."""

import pytest

from coaltree.posterior.trees.extended_majority import MIN_SUPPORT, extended_majority
from tests.posteriors import listed, random_posterior
from tests.reference import summaries


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [2, 3, 6, 20])
def test_extended_majority_has_the_kept_clades_and_counts_those_around_each_merge(n, seed):
    post = random_posterior(seed, n=n, n_trees=30)
    children, depth = extended_majority(post)
    kept = summaries.extended_majority(listed(post), post.weights.tolist(), MIN_SUPPORT)
    found = summaries.clades(children.tolist())
    assert set(found) >= set(kept)
    smaller = [clade for clade in kept if len(clade) < n]
    assert depth.tolist() == [sum(clade <= around for around in smaller) for clade in found]
