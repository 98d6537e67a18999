"""Neal's slice sampler: it leaves its density invariant, keeps its bounds and its budget, and refuses bad starts."""

import math

import numpy as np
import pytest
import scipy.stats

from coaltree.errors import InputError
from coaltree.numerics.slice_sampling import slice_sample


def normal(x):
    return -0.5 * x * x


def after_one_update(starts, log_density, width, **options):
    """Each start updated once: if the starts come from the density, so do the results."""
    rng = np.random.default_rng(3)
    return np.array([slice_sample(log_density, x, width, rng, **options) for x in starts])


@pytest.mark.parametrize("width", [0.05, 2.0, 300.0])
@pytest.mark.parametrize("max_steps", [1, 3, 50])
def test_slice_sample_leaves_the_density_invariant(width, max_steps):
    # Also where the width is hopeless or the budget of steps runs out: that costs mixing, never correctness.
    starts = np.random.default_rng(1).normal(size=4000)
    moved = after_one_update(starts, normal, width, max_steps=max_steps)
    assert scipy.stats.kstest(moved, "norm").pvalue > 1e-4
    assert np.all(moved != starts)


def test_slice_sample_of_another_density_is_noticed():
    starts = np.random.default_rng(1).normal(size=4000)
    moved = after_one_update(starts, lambda x: -0.5 * (x / 1.25) ** 2, 2.0)
    assert scipy.stats.kstest(moved, "norm").pvalue < 1e-4


def test_slice_sample_with_steps_by_need_is_noticed():
    # A budget that is spent on the left first, instead of split at random, is a known way to get this wrong.
    class LeftFirst:
        def __init__(self):
            self.rng = np.random.default_rng(3)

        def __getattr__(self, name):
            return getattr(self.rng, name)

        def integers(self, n):
            return n - 1

    starts = np.random.default_rng(1).normal(size=20_000)
    skewed = LeftFirst()
    moved = np.array([slice_sample(normal, x, 0.5, skewed, max_steps=3) for x in starts])
    assert scipy.stats.kstest(moved, "norm").pvalue < 1e-4


@pytest.mark.parametrize("outside", [-math.inf, math.nan])
def test_slice_sample_stays_in_the_support(outside):
    starts = np.random.default_rng(1).exponential(size=4000)
    moved = after_one_update(starts, lambda x: -x if x > 0.0 else outside, 3.0)
    assert moved.min() > 0.0
    assert scipy.stats.kstest(moved, "expon").pvalue > 1e-4


def test_slice_sample_forgets_its_start():
    rng = np.random.default_rng(8)
    ends = []
    for _ in range(1000):
        x = 30.0
        for _ in range(12):
            x = slice_sample(normal, x, 2.0, rng)
        ends.append(x)
    assert scipy.stats.kstest(ends, "norm").pvalue > 1e-4


@pytest.mark.parametrize("log_density", [lambda x: 0.0, lambda x: 0.0 if x == 1.5 else -math.inf])
def test_slice_sample_bounds_its_evaluations(log_density):
    # A density without end, and one whose slice is a single point that no proposal hits.
    calls = []

    def counted(x):
        calls.append(x)
        return log_density(x)

    x = slice_sample(counted, 1.5, 1.0, np.random.default_rng(0), max_steps=20, max_shrinks=60)
    assert len(calls) <= 82
    assert math.isfinite(x)


@pytest.mark.parametrize("height", [-math.inf, math.nan, math.inf])
def test_slice_sample_refuses_a_start_without_a_finite_density(height):
    with pytest.raises(InputError, match=f"log density is finite, and it is {height} at 0.0"):
        slice_sample(lambda x: height, 0.0, 1.0, np.random.default_rng(0))
