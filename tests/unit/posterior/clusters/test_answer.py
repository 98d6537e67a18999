"""The answer that every output gives is that of `cut`, `membership` and `stability`, in words that people read."""

import numpy as np
import pytest

from coaltree.posterior.clusters.answer import ClusterAnswer, answer_for, uncertain_in_words
from tests.posteriors import random_posterior


@pytest.mark.parametrize("k", [1, 4, 12])
def test_answer_is_what_the_posterior_says(k):
    post = random_posterior(0, n=12, n_trees=25)
    answer = answer_for(post, k)
    np.testing.assert_array_equal(answer.labels, post.cut(k))
    np.testing.assert_array_equal(answer.membership, post.membership(answer.labels))
    np.testing.assert_array_equal(answer.stability.jaccard, post.stability(answer.labels).jaccard)
    np.testing.assert_allclose(answer.membership.sum(axis=1) + answer.none, 1.0)
    np.testing.assert_array_equal(answer.probability, answer.membership[np.arange(12), answer.labels])
    np.testing.assert_array_equal(answer.in_no_clade, post.cut(k, outliers=True) == -1)


def test_uncertain_in_words_names_leaves_more_probable_in_another_cluster():
    """Of four leaves in three clusters: the second and the last are more probable in another, the third is not."""
    membership = np.array([[0.9, 0.1, 0.0], [0.4, 0.5, 0.1], [0.2, 0.4, 0.4], [0.2, 0.65, 0.15]])
    answer = ClusterAnswer(np.array([0, 0, 1, 2]), membership, None, np.zeros(4, bool))
    np.testing.assert_array_equal(answer.most_probable, [0, 1, 1, 1])
    np.testing.assert_array_equal(answer.is_elsewhere, [False, True, False, True])
    assert uncertain_in_words(answer, "abcd") == (
        "2 rows are more probable in another cluster: d (15 % in its own, 3; 65 % in cluster 2), "
        "b (40 % in its own, 1; 50 % in cluster 2)"
    )
    assert uncertain_in_words(answer._replace(labels=answer.most_probable), "abcd") is None
