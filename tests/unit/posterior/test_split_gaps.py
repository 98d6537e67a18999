"""Gaps between true splits: times from obvious loops, reference trees from the coalescent itself."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.posterior.cluster_count import _NOTABLE
from coaltree.posterior.split_gaps import coalescent_split_times, gap_scores, least_size, true_split_times
from tests.reference.trees import sizes


def simulated(n, size, seed):
    trees = [ct.simulate(n, 1, random_state=seed + i)[1] for i in range(size)]
    return np.stack([tree.children for tree in trees]), np.stack([tree.times for tree in trees])


def test_true_split_times():
    children, times = simulated(30, 20, 0)
    found = true_split_times(children, times, 3, 5)
    for row, merges, when in zip(found, children, times, strict=True):
        size = sizes(merges)
        true = [t for (a, b), t in zip(merges, when, strict=True) if min(size[a], size[b]) >= 3]
        expected = sorted(true, reverse=True)[:5]
        assert row.tolist() == expected + [0.0] * (5 - len(expected))


def test_reference_trees_are_those_of_the_coalescent():
    """Mean log times of the first splits of 400 trees either way: within 4.5 standard errors of the difference."""
    own = coalescent_split_times(40, 4, 3, 400)
    drawn = true_split_times(*simulated(40, 400, 1000), 4, 3)
    for a, b in zip(own.T[:2], drawn.T[:2], strict=True):
        a, b = np.log(a[a > 0]), np.log(b[b > 0])
        error = np.sqrt(a.var() / len(a) + b.var() / len(b))
        assert abs(a.mean() - b.mean()) < 4.5 * error
    any_size = np.log(true_split_times(*simulated(40, 400, 1000), 1, 3)[:, 1])  # negative control: other splits
    second = np.log(own[own[:, 1] > 0, 1])
    assert abs(any_size.mean() - second.mean()) > 4.5 * np.sqrt(any_size.var() / 400 + second.var() / len(second))
    np.testing.assert_array_equal(own, coalescent_split_times(40, 4, 3, 400))


def test_scores_of_the_coalescent_have_mean_0_and_deviation_1():
    children, times = simulated(60, 200, 5000)
    scores = np.array([gap_scores(c[None], t[None], np.ones(1), 0.1, 6) for c, t in zip(children, times, strict=True)])
    # 200 trees against 300: standard error √(1/200 + 1/300) = 0.09
    assert np.abs(scores.mean(axis=0)).max() < 4.5 * 0.09
    assert np.abs(scores.std(axis=0) - 1).max() < 0.5
    assert (scores.max(axis=1) > _NOTABLE).mean() < 0.35


def test_least_size():
    assert [least_size(n) for n in (4, 60, 61, 3000)] == [2, 2, 3, 100]


def test_units_do_not_matter_without_noise():
    children, times = simulated(60, 1, 9)
    one = gap_scores(children, times, np.ones(1), 0.0, 6)
    other = gap_scores(children, 1e6 * times, np.ones(1), 0.0, 6)
    assert other == pytest.approx(one)
