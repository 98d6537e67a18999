"""Transfer support against listing all clades, and intervals of times that rest on enough draws."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.trees.transfer_support import transfers
from tests.posteriors import listed, random_posterior
from tests.reference import summaries
from tests.strategies import chain, random_tree


def leaf_sets(tree):
    return summaries.clades(tree.children.tolist())


@pytest.mark.parametrize(("seed", "n"), [(0, 7), (1, 12), (2, 30), (3, 3), (4, 2)])
def test_transfer_support(seed, n):
    post = random_posterior(seed, n=n)
    trees = listed(post)
    for tree in [post.trees[1], random_tree(n, np.random.default_rng(seed)), chain(n)]:
        found = post.clade_support(tree, kind="transfer")
        expected = [summaries.transfer_support(clade, trees, post.weights) for clade in leaf_sets(tree)]
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert (found >= post.clade_support(tree) - 1e-12).all()
        assert found[-1] == 1.0


@pytest.mark.parametrize("n", [5, 9, 25])
def test_the_closest_clade_is_as_close_as_can_be(n):
    rng = np.random.default_rng(n)
    tree, drawn = random_tree(n, rng), [random_tree(n, rng) for _ in range(20)]
    children = np.stack([other.children for other in drawn]).astype(np.int32)
    found = transfers(tree, children, np.full(20, 0.05), np.arange(n - 1))
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


def test_one_wandering_leaf_of_forty():
    """Exact support falls to the share of trees without it; transfer support hardly moves."""
    n = 41
    base = random_tree(40, np.random.default_rng(0))
    number = np.where(np.arange(79) < 40, np.arange(79), np.arange(79) + 1)  # room for leaf 40
    above = np.concatenate([number[base.children], [[79, 40]]])
    renumbered = np.where(number[base.children] > 40, number[base.children] + 1, number[base.children])
    below = np.concatenate([[[0, 40]], np.where(renumbered == 0, 41, renumbered)])
    post = ct.Posterior(np.stack([above, below]), np.stack([np.arange(1.0, 41.0)] * 2))
    tree = post.trees[0]
    clade = n - 3  # the forty without the wanderer
    assert tree.sizes[n + clade] == 40
    exact, transfer = post.clade_support(tree), post.clade_support(tree, kind="transfer")
    assert exact[clade] == 0.5
    other = int(np.argmax(np.where(tree.sizes[n:] < 30, tree.sizes[n:], 0)))
    assert transfer[other] > 0.9
    with pytest.raises(ct.InputError, match='kind must be "exact" or "transfer"'):
        post.clade_support(tree, kind="both")


def test_random_trees_support_nothing():
    """Large clades too: with size - 1 alone below the fraction a clade of 36 of 40 leaves would score 0.89."""
    rng = np.random.default_rng(1)
    drawn = [random_tree(40, rng) for _ in range(200)]
    post = ct.Posterior(np.stack([t.children for t in drawn]), np.stack([t.times for t in drawn]))
    tree = random_tree(40, rng)
    large = np.flatnonzero((tree.sizes[40:] > 5) & (tree.sizes[40:] < 40))
    assert post.clade_support(tree, kind="transfer")[large].max() < 0.45


# Times


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_over_the_trees_with_the_clade_or_the_closest_or_none(level):
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


def test_weighted_draws_count_as_their_effective_number():
    children = np.tile([[0, 1], [2, 3]], (40, 1, 1))
    times = np.column_stack([np.linspace(1, 2, 40), np.linspace(3, 4, 40)])
    assert (ct.Posterior(children, times).node_time_basis(ct.Tree(children[0], times[0])) == "exact").all()
    heavy = ct.Posterior(children, times, log_weights=np.where(np.arange(40) < 5, 10.0, 0.0))
    tree = heavy.trees[0]
    assert (heavy.node_time_basis(tree) == "none").all()
    assert np.isnan(heavy.node_times(tree)).all()


def test_a_clade_seen_seldom_has_the_times_of_its_closest(monkeypatch):
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
    monkeypatch.setattr("coaltree.posterior.trees.node_times._CLOSEST_BYTES", 0)  # no more trees than the fewest
    monkeypatch.setattr("coaltree.posterior.trees.node_times._FEWEST_ASKED", 30)
    assert post.node_time_basis(tree)[8] == "closest"
    monkeypatch.setattr("coaltree.posterior.trees.node_times._FEWEST_ASKED", 10)
    assert post.node_time_basis(tree)[8] == "none"
