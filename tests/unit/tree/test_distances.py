"""Distances between trees, against leaf sets and against DendroPy."""

import itertools

import dendropy
import numpy as np
import pytest
from dendropy.calculate import treecompare

import coaltree as ct
from tests.posteriors import listed, random_posterior
from tests.reference import summaries

KINDS = ["rf", "branch_score", "cophenetic"]


@pytest.fixture(params=[2, 5, 9])
def post(request):
    return random_posterior(request.param, n=request.param)


def test_distances_are_those_of_their_definitions(post):
    pairs = list(itertools.product(zip(post.trees, listed(post), strict=True), repeat=2))
    for (a, list_a), (b, list_b) in pairs[::7]:
        assert ct.tree_distance(a, b) == summaries.robinson_foulds(list_a, list_b)
        assert ct.tree_distance(a, b, "branch_score") == pytest.approx(summaries.branch_score(list_a, list_b))
        times_a, times_b = summaries.cophenetic(*list_a), summaries.cophenetic(*list_b)
        expected = np.sqrt(np.mean([(times_a[pair] - times_b[pair]) ** 2 for pair in times_a]))
        assert ct.tree_distance(a, b, "cophenetic") == pytest.approx(expected)


def test_distances_agree_with_dendropy():
    """DendroPy's rooted distances, of trees read from our Newick."""
    post = random_posterior(4, n=12)
    taxa = dendropy.TaxonNamespace()
    read = [
        dendropy.Tree.get(data=tree.to_newick(), schema="newick", taxon_namespace=taxa, rooting="force-rooted")
        for tree in post.trees
    ]
    for i, j in itertools.combinations(range(6), 2):
        a, b = post.trees[i], post.trees[j]
        assert ct.tree_distance(a, b) == treecompare.symmetric_difference(read[i], read[j])
        expected = treecompare.euclidean_distance(read[i], read[j])
        assert ct.tree_distance(a, b, "branch_score") == pytest.approx(expected)


def test_distances_match_leaves_by_name():
    tree = ct.Tree.from_newick("((a:1,b:1):2,(c:2,d:2):1);")
    same = ct.Tree.from_newick("((d:2,c:2):1,(b:1,a:1):2);")
    other = ct.Tree.from_newick("((a:1,c:1):2,(b:2,d:2):1);")
    for kind in KINDS:
        assert ct.tree_distance(tree, same, kind) == 0
        assert ct.tree_distance(tree, other, kind) > 0
    with pytest.raises(ct.InputError, match="'e' is in only one"):
        ct.tree_distance(tree, ct.Tree.from_newick("((a:1,b:1):2,(c:2,e:2):1);"))
    with pytest.raises(ct.InputError, match='kind must be "rf" or "branch_score" or "cophenetic", not'):
        ct.tree_distance(tree, same, "quartet")
