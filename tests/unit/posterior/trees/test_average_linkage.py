"""Trees of more leaves than are linked at once: made in groups, they are like the exact ones."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.trees import average_linkage as module
from coaltree.posterior.trees.extended_majority import MIN_SUPPORT
from coaltree.posterior.trees.mean_tree import mean_tree
from tests.posteriors import leaf_sets, listed, renumbered, stacked, times_of
from tests.reference import summaries
from tests.strategies import chain, random_tree


def parted(monkeypatch, max_exact, groups):
    monkeypatch.setattr(module, "MAX_EXACT", max_exact)
    monkeypatch.setattr(module, "MAX_AT_ONCE", max_exact)
    monkeypatch.setattr(module, "_MAX_GROUPS", groups)


def blobs(n, rng, n_trees=40, d=3):
    """Average linkage of noisy copies of one table: trees that agree about some clades."""
    from scipy.cluster.hierarchy import linkage

    X = rng.normal(size=(n, d)) + 3.0 * rng.normal(size=(5, d))[rng.integers(5, size=n)]
    drawn = [ct.Tree.from_linkage(linkage(X + 0.2 * rng.normal(size=X.shape), "average")) for _ in range(n_trees)]
    return stacked(drawn)


def likeness(tree, other):
    """Mean transfer support of the clades of one tree in the other."""
    return stacked([other]).clade_support(tree, kind="transfer").mean()


@pytest.mark.parametrize("seed", range(5))
def test_average_linkage_of_large_kept_clades_one_by_one_is_that_of_all_leaves(seed, monkeypatch):
    post = blobs(60, np.random.default_rng(seed))
    whole, seen = post.mean_tree(), []
    monkeypatch.setattr(module, "_MIN_SPLIT", 1)
    split = module._split_at_kept_clades
    monkeypatch.setattr(module, "_split_at_kept_clades", lambda *given: seen.append(split(*given)) or seen[-1])
    tree = mean_tree(post)
    groups, splits = seen[0]
    assert len(groups) == len(splits) + 1 > 2
    np.testing.assert_array_equal(tree.children, whole.children)
    np.testing.assert_allclose(tree.times, whole.times, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("n", "max_exact", "groups", "least"), [(120, 20, 8, 0.9), (120, 50, 25, 0.9), (300, 16, 2, 0.8)]
)
def test_average_linkage_in_groups_keeps_clades_and_is_like_the_exact_one(
    n, max_exact, groups, least, seed, monkeypatch
):
    """More like it than the exact trees of two halves of the posterior are like each other."""
    post = blobs(n, np.random.default_rng(seed))
    exact, halves = post.mean_tree(), (post[::2].mean_tree(), post[1::2].mean_tree())
    parted(monkeypatch, max_exact, groups)
    tree = mean_tree(post)
    assert ct.Tree(tree.children, tree.times, tree.labels) == tree
    kept = summaries.extended_majority(listed(post), post.weights.tolist(), MIN_SUPPORT)
    assert set(leaf_sets(tree)) >= set(kept)
    assert likeness(tree, exact) > max(least, likeness(*halves))


def test_average_linkage_parts_groups_that_are_too_large_again(monkeypatch):
    """Chains whose neighbours change places: eight groups are seven leaves and all the others, again and again."""
    rng = np.random.default_rng(0)
    n, drawn = 150, []
    for _ in range(20):
        order = np.arange(n)
        for x in rng.integers(n - 1, size=100):
            order[[x, x + 1]] = order[[x + 1, x]]
        drawn.append(ct.Tree(np.append(order, np.arange(n, 2 * n - 1))[chain(n).children], np.arange(1.0, n)))
    post = stacked(drawn)
    exact = post.mean_tree()
    parted(monkeypatch, 20, 8)
    tree = mean_tree(post)
    assert ct.Tree(tree.children, tree.times) == tree
    assert likeness(tree, exact) > 0.9


@pytest.mark.parametrize("n", [22, 30, 39])
def test_representatives_have_no_leaf_twice(n, monkeypatch):
    """A group of more than half of the leaves is parted although it has no more than MAX_EXACT."""
    rng = np.random.default_rng(n)
    parted(monkeypatch, 20, 8)
    chosen = []

    def spied(*args, made=module._representatives):
        chosen.append(made(*args)[0])
        return made(*args)

    monkeypatch.setattr(module, "_representatives", spied)
    tree = chain(n)
    found = stacked([tree, random_tree(n, rng), tree]).mean_tree()
    assert all(len(set(some.tolist())) == len(some) <= 20 for some in chosen)
    assert set(leaf_sets(found)) == set(leaf_sets(tree))


def test_average_linkage_in_groups_does_not_depend_on_the_order_of_the_rows(monkeypatch):
    post = blobs(80, np.random.default_rng(5))
    parted(monkeypatch, 20, 8)
    names = [f"{i:02d}" for i in range(80)]
    number = np.random.default_rng(0).permutation(80)
    one = renumbered(post, np.arange(80), names).mean_tree()
    other = renumbered(post, number, [names[i] for i in np.argsort(number)]).mean_tree()
    assert times_of(one) == times_of(other)
