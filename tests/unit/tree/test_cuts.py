"""The rule by which drawn trees are still cut, against its definition by sets."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coaltree.tree.cuts import check_cut, cut_trees
from tests.reference import summaries
from tests.strategies import trees


@given(trees(max_leaves=16), st.data())
def test_cut_has_the_clusters_and_side_branches_of_the_definition(tree, data):
    k = data.draw(st.integers(1, tree.n))
    m = data.draw(st.just("auto") | st.integers(1, tree.n))
    sizes = check_cut(tree.n, k, None, m).min_sizes
    _, kept, belongs, least = summaries.clusters(tree.children.tolist(), sizes[: k - 1].tolist())
    labels, used = cut_trees(tree.children[None], np.array([k - 1]), sizes)
    assert used[0] == min(least, sizes[0])
    assert set(np.flatnonzero(labels[0] < 0)) == set(belongs)
    assert {frozenset(np.flatnonzero(labels[0] == a).tolist()) for a in range(k)} == set(kept)
