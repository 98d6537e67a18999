"""The answer that every output gives is that of `cut`, `membership` and `stability`, in words that people read."""

import warnings

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.answer import answer_for, in_a_line, leaves_are, leaves_one
from tests.posteriors import grouped_posterior, random_posterior


@pytest.mark.filterwarnings("ignore::coaltree.ClusterSizeWarning")
@pytest.mark.parametrize("k", [1, 2, 4, 12])
def test_it_is_what_the_posterior_says(k):
    post = random_posterior(0, n=12, n_trees=25)
    answer = answer_for(post, k)
    np.testing.assert_array_equal(answer.labels, post.cut(k))
    np.testing.assert_array_equal(answer.membership, post.membership(answer.labels))
    expected = post.stability(answer.labels)
    np.testing.assert_array_equal(answer.stability.jaccard, expected.jaccard)
    np.testing.assert_array_equal(answer.stability.interval, expected.interval)
    assert answer.n_clusters == k
    np.testing.assert_array_equal(
        answer.probability, [row[c] for row, c in zip(answer.membership, answer.labels, strict=True)]
    )


def test_small_clusters_are_warned_of_unless_quietly():
    caterpillar = [[0, 1], *([k + 9, k + 1] for k in range(1, 9))]
    post = ct.Posterior(np.array([caterpillar] * 3), np.tile(np.arange(1.0, 10.0), (3, 1)))
    with pytest.warns(ct.ClusterSizeWarning):
        loud = answer_for(post, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quiet = answer_for(post, 2, quietly=True)
    np.testing.assert_array_equal(loud.labels, quiet.labels)


def test_in_a_line():
    left = [[0, 1], [2, 3], [4, 5], [6, 7]]  # (0 1 4) (2 3), and (0 1) (2 3 4) in one tree of four
    right = [[0, 1], [2, 3], [4, 6], [5, 7]]
    post = ct.Posterior(np.array([left, left, left, right]), np.tile([1.0, 1.1, 2.0, 5.0], (4, 1)))
    line = in_a_line(answer_for(post, 2))
    assert line == "2 clusters: 3 rows (stable, 0.92), 2 rows (stable, 1.00)"
    assert in_a_line(answer_for(post, 1), "leaves") == "1 cluster: all 5 leaves"
    assert in_a_line(answer_for(post, 5), most=3).endswith("1 row (stable, 1.00), and 2 more")


def test_leaves_are_rows_unless_rows_are_repeated():
    assert leaves_are(random_posterior(0)) == "rows"
    assert leaves_one(leaves_are(grouped_posterior())) == "leaf"
