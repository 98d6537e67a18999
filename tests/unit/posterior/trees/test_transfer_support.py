"""Transfer support against listing all clades."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.of_trees import posterior_of_trees
from coaltree.posterior.trees.transfer_support import transfers
from tests.posteriors import leaf_sets, listed, random_posterior
from tests.reference import summaries
from tests.strategies import chain, random_tree


@pytest.mark.parametrize(("seed", "n"), [(0, 7), (1, 12), (2, 30), (3, 3), (4, 2)])
def test_transfer_support_is_that_of_listed_clades(seed, n):
    post = random_posterior(seed, n=n)
    trees = listed(post)
    for tree in [post.trees[1], random_tree(n, np.random.default_rng(seed)), chain(n)]:
        found = post.clade_support(tree, kind="transfer")
        expected = [summaries.transfer_support(clade, trees, post.weights) for clade in leaf_sets(tree)]
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert (found >= post.clade_support(tree) - 1e-12).all()
        assert found[-1] == 1.0


@pytest.mark.parametrize("n", [5, 9, 25])
def test_transfers_find_the_closest_clade(n):
    rng = np.random.default_rng(n)
    tree, drawn = random_tree(n, rng), [random_tree(n, rng) for _ in range(20)]
    children = np.stack([other.children for other in drawn]).astype(np.int32)
    found = transfers(tree, children, np.full(20, 0.05))
    assert (found.closest >= 0).any()
    for k, clade in enumerate(leaf_sets(tree)):
        greatest = max(min(len(clade) - 1, n - len(clade)), 1)
        for t, other in enumerate(drawn):
            least = summaries.transfer_distance(clade, other.children.tolist())
            merge = found.closest[k, t]
            if merge < 0:
                assert least > greatest / 4 or least == len(clade) - 1
            else:
                assert len(clade ^ leaf_sets(other)[merge]) == least <= greatest / 4


def test_transfer_support_hardly_falls_by_one_wandering_leaf():
    """Exact support falls to the share of trees without it; transfer support hardly moves."""
    n = 41
    base = random_tree(40, np.random.default_rng(0))
    number = np.where(np.arange(79) < 40, np.arange(79), np.arange(79) + 1)  # room for leaf 40
    above = np.concatenate([number[base.children], [[79, 40]]])
    renumbered = np.where(number[base.children] > 40, number[base.children] + 1, number[base.children])
    below = np.concatenate([[[0, 40]], np.where(renumbered == 0, 41, renumbered)])
    post = posterior_of_trees(np.stack([above, below]), np.stack([np.arange(1.0, 41.0)] * 2))
    tree = post.trees[0]
    clade = n - 3  # the forty without the wanderer
    assert tree.sizes[n + clade] == 40
    exact, transfer = post.clade_support(tree), post.clade_support(tree, kind="transfer")
    assert exact[clade] == 0.5
    other = int(np.argmax(np.where(tree.sizes[n:] < 30, tree.sizes[n:], 0)))
    assert transfer[other] > 0.9
    with pytest.raises(ct.InputError, match='kind must be "exact" or "transfer"'):
        post.clade_support(tree, kind="both")


def test_transfer_support_of_random_trees_is_low():
    """Large clades too: with size - 1 alone below the fraction a clade of 36 of 40 leaves would score 0.89."""
    rng = np.random.default_rng(1)
    drawn = [random_tree(40, rng) for _ in range(200)]
    post = posterior_of_trees(np.stack([t.children for t in drawn]), np.stack([t.times for t in drawn]))
    tree = random_tree(40, rng)
    large = np.flatnonzero((tree.sizes[40:] > 5) & (tree.sizes[40:] < 40))
    assert post.clade_support(tree, kind="transfer")[large].max() < 0.45
