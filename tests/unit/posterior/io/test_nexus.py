"""Trees that other programs read: DendroPy, and R's ape where R is installed."""

import dendropy
import numpy as np
import pytest

import coaltree as ct
from coaltree.numerics.weighted import shortest_interval, weighted_quantile
from coaltree.posterior.io.nexus import annotated_tree
from coaltree.posterior.of_trees import posterior_of_trees
from tests.posteriors import listed, random_posterior
from tests.reference import summaries

LABELS = ["a", "b b", "it's", "x_1", "[y]", "7", "gamma-γ"]


def similar_posterior(labels=None, n_trees=60):
    """Trees of one shape but for the last leaf, which wanders; times differ."""
    rng = np.random.default_rng(3)
    children = np.tile([[0, 1], [2, 3], [6, 4], [7, 8], [9, 5]], (n_trees, 1, 1))
    children[: n_trees // 4, 2:] = [[7, 4], [6, 8], [9, 5]]
    children[0, :2] = [[0, 2], [1, 3]]
    times = np.cumsum(rng.exponential(size=(n_trees, 5)), axis=1)
    return posterior_of_trees(children, times, labels=labels)


def dendropy_frequencies(trees):
    """Weighted clade frequencies by DendroPy, as leaf sets of labels."""
    distribution = trees.split_distribution(use_tree_weights=True)
    return {
        frozenset(taxon.label for taxon in trees.taxon_namespace.bitmask_taxa_list(split)): distribution[split]
        for split in distribution
    }


def test_to_nexus_is_read_by_dendropy_with_the_same_frequencies(tmp_path):
    post = random_posterior(1, labels=LABELS)
    post.to_nexus(tmp_path / "post.nex")
    trees = dendropy.TreeList.get(path=tmp_path / "post.nex", schema="nexus", store_tree_weights=True)
    assert [taxon.label for taxon in trees.taxon_namespace] == list(post.labels)
    np.testing.assert_array_equal([tree.weight for tree in trees], post.weights)
    assert all(tree.is_rooted for tree in trees)
    expected = summaries.clade_frequencies(listed(post), post.weights)
    expected = {frozenset(post.labels[i] for i in clade): f for clade, f in expected.items() if f > 0}
    found = dendropy_frequencies(trees)
    for clade, frequency in expected.items():
        assert found[clade] == pytest.approx(frequency, abs=1e-9)
    assert {clade for clade, f in found.items() if len(clade) > 1 and f > 0} == set(expected)
    for tree, ours in zip(trees, post.trees, strict=True):
        times = dict(zip(ours.clades(), ours.times, strict=True))
        tree.calc_node_ages()
        for node in tree.internal_nodes():
            clade = frozenset(leaf.taxon.label for leaf in node.leaf_iter())
            assert node.age == pytest.approx(times[clade], rel=1e-9)


@pytest.mark.parametrize("file_format", ["nexus", "newick"])
def test_annotated_tree_is_read_by_dendropy(file_format):
    post = similar_posterior(LABELS[:6])
    tree = post.mean_tree()
    read = dendropy.Tree.get(
        data=annotated_tree(post, file_format=file_format),
        schema=file_format,
        extract_comment_metadata=True,
        preserve_underscores=file_format == "newick",
    )
    found = {frozenset(leaf.taxon.label for leaf in node.leaf_iter()): node for node in read.internal_nodes()}
    assert set(found) == set(tree.clades())
    exact, transfer = post.clade_support(tree), post.clade_support(tree, kind="transfer")
    for k, clade in enumerate(tree.clades()):
        known = {name.name: name.value for name in found[clade].annotations}
        assert float(known["posterior"]) == pytest.approx(exact[k], rel=1e-5)
        assert float(known["transfer"]) == pytest.approx(transfer[k], rel=1e-5)
        assert float(known["height"]) == pytest.approx(tree.times[k], rel=1e-5)
        drawn = [dict(zip(one.clades(), one.times, strict=True)).get(clade, np.nan) for one in post.trees]
        if np.isfinite(drawn).sum() >= 40:  # two tails of 2.5 % hold one draw each
            drawn = np.array(drawn)
            assert float(known["height_median"]) == pytest.approx(weighted_quantile(drawn, post.weights, 0.5), rel=1e-5)
            np.testing.assert_allclose(
                np.array(known["height_95%_HPD"], dtype=float), shortest_interval(drawn, post.weights, 0.95), rtol=1e-5
            )
    again = ct.Tree.from_newick(post.to_newick(), post.labels)
    np.testing.assert_allclose(again.cophenetic(), tree.cophenetic(), rtol=4e-15, atol=0)
