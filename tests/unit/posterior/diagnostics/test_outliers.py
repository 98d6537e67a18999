"""The noise of a posterior in words, and its outliers."""

import numpy as np
import pytest

from coaltree.posterior.diagnostics.outliers import describe_noise, find_outliers
from tests.posteriors import grouped_posterior, random_posterior


def test_describe_noise_gives_the_level_with_its_interval():
    post = grouped_posterior(n_trees=400)
    low, middle, high = np.quantile(post.theta["noise_level"], [0.05, 0.5, 0.95])
    said = describe_noise(post)
    assert said.startswith("learnt, ") and said.endswith(", heavy tails (Student's t with 4 df)")
    numbers = [float(word.strip("(),")) for word in said.split() if word[0].isdigit()][:1]
    assert numbers == [pytest.approx(middle, rel=0.01)]
    assert f"(90 %: {low:.2g} to {high:.2g})" in said


def test_find_outliers_names_rows_with_their_leaves():
    post = grouped_posterior()
    (outlier,) = find_outliers(post)
    relative = post.draws.tail_scale[:, 1] / np.median(post.draws.tail_scale, axis=1)
    assert outlier.label == "row 1" and outlier.leaf == post.labels[post.model.leaves.groups[1]]
    assert outlier.score == pytest.approx(relative.mean()) and outlier.probability == 1.0
    said = f"row 1 ({outlier.leaf}): about {relative.mean():.0f} times the noise variance of a typical row, 100 % sure"
    assert str(outlier) == said
    assert str(outlier._replace(leaf=None, probability=0.997, score=2e4)) == (
        "row 1: about 2e+04 times the noise variance of a typical row, over 99 % sure"
    )
    assert find_outliers(random_posterior(0)) == []
    assert find_outliers(grouped_posterior(tail_scale=np.ones((12, 13)))) == []
