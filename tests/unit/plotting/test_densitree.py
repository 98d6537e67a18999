"""Densitrees: branches, colours of clusters, weights."""

import numpy as np

from coaltree import plotting
from coaltree.plotting import geometry
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
