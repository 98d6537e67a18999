"""Places of rows that are in no tree."""

import pytest

from coaltree.posterior.empty_leaves import empty_leaves, given_labels, in_given_places
from tests.posteriors import random_posterior


@pytest.fixture
def post():
    return random_posterior(0)


def test_values_are_put_back_into_their_places(post):
    assert empty_leaves(post) == {} and in_given_places(post, range(post.n), -1) == list(range(post.n))
    post.info["empty_rows"] = {"names": ["first", "third"], "places": [0, 2]}
    assert in_given_places(post, range(post.n), -1) == [-1, 0, -1, *range(1, post.n)]
    assert given_labels(post) == ["first", post.labels[0], "third", *post.labels[1:]]


@pytest.mark.parametrize(
    "kept",
    [None, 3, {}, {"names": ["a"]}, {"names": ["a"], "places": []}, {"names": ["a"], "places": [99]},
     {"names": ["a", "b"], "places": [2, 1]}, {"names": ["a"], "places": ["0"]}],
)  # fmt: skip
def test_what_a_file_may_hold_instead_is_passed_over(post, kept):
    post.info["empty_rows"] = kept
    assert empty_leaves(post) == {} and given_labels(post) == list(post.labels)
