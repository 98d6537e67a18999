"""The extended majority-rule tree against its definition by sets."""

import numpy as np
import pytest

from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.posterior.trees.extended_majority import MIN_SUPPORT, extended_majority
from tests.posteriors import listed, random_posterior
from tests.reference import summaries


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [2, 3, 6, 20])
def test_extended_majority_has_the_kept_clades_and_counts_those_around_each_merge(n, seed):
    post = random_posterior(seed, n=n, n_trees=30)
    frame = extended_majority(post)
    kept = summaries.extended_majority(listed(post), post.weights.tolist(), MIN_SUPPORT)
    found = summaries.clades(frame.children.tolist())
    assert set(found) >= set(kept)
    smaller = [clade for clade in kept if len(clade) < n]
    assert frame.depth.tolist() == [sum(clade <= around for around in smaller) for clade in found]


def test_extended_majority_follows_the_most_credible_draw_where_it_is_open():
    """Each of 40 trees of random leaves is its own: no clade is kept but the root."""
    rng = np.random.default_rng(0)
    post = random_posterior(0, n=30, n_trees=40, weighted=False)
    number = np.array([np.append(rng.permutation(30), np.arange(30, 59)) for _ in range(40)])
    shuffled = posterior_of_trees(
        [row[pairs] for row, pairs in zip(number, post.draws.children, strict=True)], post.draws.times
    )
    frame = extended_majority(shuffled)
    assert not frame.depth.any()
    draws = [set(summaries.clades(children)) for children, _ in listed(shuffled)]
    assert set(summaries.clades(frame.children.tolist())) in draws
