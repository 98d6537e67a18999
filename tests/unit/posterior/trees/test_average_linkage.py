"""Average linkage of the mean log clade size; the mean tree's tests compare it with its definition by sets."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from coaltree.posterior.trees.average_linkage import DrawnTrees, average_linkage
from coaltree.posterior.trees.extended_majority import Frame
from tests.posteriors import random_posterior
from tests.reference import summaries


def of_posterior(seed, n=12):
    post = random_posterior(seed, n=n, n_trees=20, weighted=False)
    sizes = np.array([tree.sizes[n:] for tree in post.trees])
    return post, DrawnTrees(post.draws.children, np.log(sizes), post.weights)


@pytest.mark.parametrize("seed", range(3))
def test_average_linkage_without_kept_clades_is_scipys(seed):
    post, draws = of_posterior(seed)
    open_frame = Frame(post.draws.children[0], np.zeros(11, dtype=np.int64))
    children, heights = average_linkage(draws, open_frame, np.arange(12))
    mean = np.average([tree.cophenetic() for tree in with_sizes_as_times(post)], axis=0)
    Z = linkage(mean[np.triu_indices(12, 1)], "average")
    np.testing.assert_array_equal(children, Z[:, :2])
    np.testing.assert_allclose(heights, Z[:, 2], rtol=1e-12)


def test_average_linkage_has_all_clades_of_a_full_frame():
    """Which may contradict all draws; heights are then raised to those of the merges below."""
    _, draws = of_posterior(5)
    other = random_posterior(77, n=12).trees[0]
    depth = np.empty(11, dtype=np.int64)
    for k in range(10, -1, -1):
        above = other.parents[12 + k]
        depth[k] = 0 if above < 0 else depth[above - 12] + 1
    children, heights = average_linkage(draws, Frame(other.children, depth), np.random.default_rng(0).permutation(12))
    sets = summaries.clades(children.tolist())
    assert set(sets) == set(summaries.clades(other.children.tolist()))
    assert all(heights[a] <= heights[b] for a, one in enumerate(sets) for b, two in enumerate(sets) if one < two)


def with_sizes_as_times(post):
    for tree in post.trees:
        yield type(tree).from_linkage(
            np.column_stack([tree.children, np.log(tree.sizes[post.n :]), tree.sizes[post.n :]])
        )
