"""The noise of a posterior in words."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.diagnostics.outliers import describe_noise, describe_rows, odd_rows
from tests.posteriors import grouped_posterior, random_posterior


def test_the_level_is_said_with_its_interval():
    post = grouped_posterior(n_trees=400)
    low, middle, high = np.quantile(post.theta["noise_level"], [0.05, 0.5, 0.95])
    said = describe_noise(post)
    assert said.startswith("learnt, ") and said.endswith(", Student's t with 4 df")
    numbers = [float(word.strip("(),")) for word in said.split() if word[0].isdigit()][:1]
    assert numbers == [pytest.approx(middle, rel=0.01)]
    assert f"(90 %: {low:.2g} to {high:.2g})" in said


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        (0.0, "none"),
        (0.25, "0.25 of the covariance"),
        (ct.Noise(0.5, "student", df=3), "0.5 of the covariance, Student's t with 3 df"),
        ("learn", "learnt"),
    ],
)
def test_noise_without_draws(noise, said):
    assert describe_noise(random_posterior(0, noise=noise)) == said


def test_the_rows_of_leaves_are_counted():
    assert describe_rows(grouped_posterior()) == "13, 1 to 3 of each leaf"
    two = grouped_posterior(n=2, groups=[0, 1, 0, 1], X=np.eye(4), row_labels=None, tail_scale=None, noise=1.0)
    assert describe_rows(two) == "4, 2 of each leaf"
    assert describe_rows(random_posterior(0)) is None


def test_odd_rows_are_named_with_their_leaves():
    post = grouped_posterior()
    (odd,) = odd_rows(post)
    relative = post.tail_scale[:, 1] / np.median(post.tail_scale, axis=1)
    assert odd.label == "row 1" and odd.leaf == post.labels[post.groups[1]]
    assert odd.oddness == pytest.approx(relative.mean()) and odd.probability == 1.0
    said = f"row 1 ({odd.leaf}): about {relative.mean():.0f} times the noise variance of a typical row, 100 % sure"
    assert str(odd) == said
    assert str(odd._replace(leaf=None, probability=0.997, oddness=2e4)) == (
        "row 1: about 2e+04 times the noise variance of a typical row, over 99 % sure"
    )
    assert odd_rows(random_posterior(0)) == []
    assert odd_rows(grouped_posterior(tail_scale=np.ones((12, 13)))) == []
