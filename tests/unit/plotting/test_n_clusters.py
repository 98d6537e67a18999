"""Stability by number of clusters."""

import numpy as np

from coaltree import plotting
from coaltree.posterior.clusters import stability
from tests.posteriors import random_posterior


def test_n_clusters_has_the_stability_of_each_number():
    post = random_posterior(3, n=24, n_trees=20)
    suggestion = post.suggest_n_clusters()
    ax = plotting.n_clusters(post)
    line, limit, dot = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), suggestion.candidates["n_clusters"])
    np.testing.assert_array_equal(line.get_ydata(), suggestion.candidates["stability"])
    assert limit.get_ydata() == [stability.VALID] * 2
    assert dot.get_xdata().tolist() == [k for k in [suggestion.n_clusters] if k > 1]
    assert ax.get_title(loc="left") == f"{suggestion.numbers} suggested"
    assert plotting.n_clusters(post, ax) is ax
