"""Intervals of the times of clades that rest on enough draws."""

import numpy as np
import pytest

import coaltree as ct
from tests.posteriors import leaf_sets, listed, random_posterior
from tests.reference import summaries


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_node_times_are_over_the_trees_with_the_clade_or_the_closest_or_none(level):
    post = random_posterior(0, n=9, n_trees=300, weighted=False)
    trees = listed(post)
    needed = 2 / (1 - level)
    seen = set()
    for tree in [post.trees[1], post.mcc_tree(), random_posterior(98, n=9).trees[0]]:
        found, basis = post.node_times(tree, level), post.node_time_basis(tree, level)
        seen |= set(basis.tolist())
        for clade, interval, of in zip(leaf_sets(tree), found, basis, strict=True):
            times, weights = summaries.clade_times(trees, post.weights, clade)
            assert (len(times) >= needed - 1e-9) == (of == "exact")
            if of == "none":
                assert np.isnan(interval).all()
            else:
                assert interval[0] <= interval[1]
            if of == "exact":
                expected = [summaries.quantile(times, weights, (1 + s * level) / 2) for s in (-1, 1)]
                assert interval.tolist() == expected
    assert "none" in seen and "exact" in seen


def test_node_times_count_weighted_draws_as_their_effective_number():
    children = np.tile([[0, 1], [2, 3]], (40, 1, 1))
    times = np.column_stack([np.linspace(1, 2, 40), np.linspace(3, 4, 40)])
    assert (ct.Posterior(children, times).node_time_basis(ct.Tree(children[0], times[0])) == "exact").all()
    heavy = ct.Posterior(children, times, log_weights=np.where(np.arange(40) < 5, 10.0, 0.0))
    tree = heavy.trees[0]
    assert (heavy.node_time_basis(tree) == "none").all()
    assert np.isnan(heavy.node_times(tree)).all()


def test_node_times_of_a_rare_clade_are_those_of_its_closest(monkeypatch):
    """Two chains of ten leaves, of which each tree exchanges one pair: the clade of ten is rare, one like it always is.

    Merges 0 … 8 make the first chain, 9 … 17 the second, and 18 the root.
    """
    rng = np.random.default_rng(3)
    chains = np.concatenate([[[0, 1]], [[20 + k, k + 2] for k in range(8)]])
    both = np.concatenate([chains, np.where(chains < 20, chains + 10, chains + 9), [[28, 37]]])
    children, times = [], []
    for _ in range(60):
        names = np.concatenate([rng.permutation(10), 10 + rng.permutation(10), np.arange(20, 39)])
        i, j = rng.integers(10), 10 + rng.integers(10)
        names[[i, j]] = names[[j, i]]
        children.append(names[both])
        times.append(np.sort(rng.random(19)) + 1.0)
    post = ct.Posterior(np.stack(children), np.stack(times))
    tree = ct.Tree(both, np.arange(1.0, 20.0))
    basis, interval = post.node_time_basis(tree), post.node_times(tree)
    assert tree.sizes[20 + 8] == 10
    assert basis[8] == "closest"
    drawn = [t[8] for t in times]  # the merge of the first chain
    assert interval[8, 0] >= min(drawn) and interval[8, 1] <= max(drawn)
    assert basis[18] == "exact"
    assert basis[0] == "none"
    assert np.isnan(interval[0]).all()
    monkeypatch.setattr("coaltree.posterior.trees.node_times._MAX_CLOSEST_BYTES", 0)  # no more trees than the fewest
    monkeypatch.setattr("coaltree.posterior.trees.node_times._MIN_TREES_ASKED", 30)
    few = post[:]  # which knows nothing of the tree yet
    assert few.node_time_basis(tree)[8] == "closest"
    monkeypatch.setattr("coaltree.posterior.trees.node_times._MIN_TREES_ASKED", 10)
    assert few.node_time_basis(tree)[8] == "none"
