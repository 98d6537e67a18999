"""Densitrees: branches, colours of clusters, weights."""

import numpy as np
import pytest

from coaltree import InputError, Tree, plotting
from coaltree.plotting import geometry
from coaltree.posterior.of_trees import posterior_of_trees
from tests.artists import collection, names


def test_densitree_has_every_branch_of_every_tree(posterior):
    ax = plotting.densitree(posterior)
    assert len(collection(ax, "trees").get_segments()) == 8 * (2 * 12 - 2)
    mean = posterior.mean_tree()
    assert len(collection(ax, "mean tree").get_segments()) == 2 * 12 - 2
    assert names(ax) == [posterior.labels[leaf] for leaf in geometry.arrange(mean).tips]
    ends = np.array([s[0] for s in collection(ax, "mean tree").get_segments()])  # at the parents
    assert set(np.round(ends[:, 0], 12)) == set(np.round(mean.times, 12))
    assert ax.get_title(loc="left") == "8 sampled trees of 12 rows"
    assert ax.get_xlabel() == plotting.dendrogram(mean).get_xlabel()


def test_densitree_follows_weights():
    trees = [Tree([[0, 1], [2, 3]], [1, 2]), Tree([[0, 2], [1, 3]], [1, 3])]
    post = posterior_of_trees(
        np.stack([t.children for t in trees]), np.stack([t.times for t in trees]), log_weights=np.log([0.9, 0.1])
    )
    segments = collection(plotting.densitree(post, max_trees=10), "trees").get_segments()
    assert sum(segment[0, 0] == 3.0 for segment in segments) == 2  # two branches below the root of one tree of ten
    assert len(segments) == 10 * 4
    with pytest.raises(InputError, match="max_trees must be a whole number of at least 1, not 0"):
        plotting.densitree(post, max_trees=0)
