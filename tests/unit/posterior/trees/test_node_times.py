"""Intervals of the times of clades that rest on enough draws."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.posterior.trees import transfer_support
from tests.posteriors import leaf_sets, listed, random_posterior
from tests.reference import summaries


@pytest.mark.parametrize("level", [0.5, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_node_times_are_quantiles_over_the_closest_clades_of_enough_draws(level, weighted):
    post = random_posterior(0, n=9, n_trees=300, weighted=weighted)
    trees, seen = listed(post), set()
    for tree in [post.trees[1], post.mcc_tree(), random_posterior(98, n=9).trees[0]]:
        sets, own = leaf_sets(tree), {}
        for clade in sets:
            found = summaries.closest_times(clade, trees, post.weights)
            times, weights = np.array(found).reshape(-1, 2).T
            if len(times) and weights.sum() ** 2 / (weights**2).sum() >= 2 / (1 - level) - 1e-9:
                own[clade] = [summaries.quantile(times, weights, (1 + s * level) / 2) for s in (-1, 1)]
            seen.add(clade in own)
        for clade, interval in zip(sets, post.node_times(tree, level), strict=True):
            inside = [ends for other, ends in own.items() if other <= clade]
            expected = np.max(inside, axis=0) if clade in own else [np.nan, np.nan]
            np.testing.assert_allclose(interval, expected, rtol=1e-12)
    assert seen == {True, False}


def test_node_times_count_weighted_draws_as_their_effective_number():
    children = np.tile([[0, 1], [2, 3]], (40, 1, 1))
    times = np.column_stack([np.linspace(1, 2, 40), np.linspace(3, 4, 40)])
    tree = ct.Tree(children[0], times[0])
    assert np.isfinite(posterior_of_trees(children, times).node_times(tree)).all()
    heavy = posterior_of_trees(children, times, log_weights=np.where(np.arange(40) < 5, 10.0, 0.0))
    assert np.isnan(heavy.node_times(tree)).all()


def test_node_times_of_a_large_posterior_are_those_of_fewer_draws(monkeypatch):
    post = random_posterior(3, n=9, n_trees=120, weighted=False)
    tree = post.trees[0]
    monkeypatch.setattr(transfer_support, "_MAX_CLOSEST_BYTES", 0)
    monkeypatch.setattr(transfer_support, "_MIN_DRAWS", 40)
    few = post[1::3]
    np.testing.assert_array_equal(post.node_times(tree), few.node_times(tree))
    np.testing.assert_array_equal(post.clade_support(tree, "transfer"), few.clade_support(tree, "transfer"))
