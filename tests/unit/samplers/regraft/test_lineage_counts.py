"""Lineages against counting them one by one."""

import numpy as np
import pytest

from coaltree.samplers.regraft.lineage_counts import add, clear, count_and_area, empty_lineages, exact_area, remove


def area_of(times, m, t):
    """∫_0^t (m - number of times <= u) du."""
    return m * t - sum(t - u for u in times if u <= t)


def coalescent_times(n, rng):
    m = np.arange(n, 1, -1)
    return np.cumsum(rng.exponential(size=n - 1) / (m * (m - 1) / 2))


@pytest.mark.parametrize("n", [2, 3, 10, 300, 5000])
def test_exact_area_equals_a_sum_over_nodes(n):
    rng = np.random.default_rng(n)
    times = coalescent_times(n, rng)
    lin = empty_lineages(n)
    for i, t in enumerate(times):
        add(lin, n + i, t)
    for t in [*np.exp(rng.uniform(np.log(times[0]) - 1, np.log(times[-1]) + 1, 100)), *times[:5]]:
        expected = area_of(times, n, t)
        assert exact_area(lin, n, t) == pytest.approx(expected, rel=1e-11)
        k, area = count_and_area(lin, n, t)
        assert area == pytest.approx(expected, rel=0.01, abs=0.01)
        assert n - np.sum(times <= t) <= k <= n


def test_lineages_may_come_and_go():
    n = 200
    rng = np.random.default_rng(1)
    lin = empty_lineages(n)
    here = {}
    for _ in range(3000):
        node = int(rng.integers(n, 2 * n - 1))
        if node in here:
            remove(lin, node)
            del here[node]
        else:
            here[node] = float(np.exp(rng.uniform(-12, 1)))
            add(lin, node, here[node])
    for t in np.exp(rng.uniform(-13, 2, 50)):
        assert exact_area(lin, n, t) == pytest.approx(area_of(here.values(), n, t), rel=1e-11)
    clear(lin)
    assert exact_area(lin, n, 0.5) == n * 0.5


def test_exact_area_holds_for_times_beyond_the_bins():
    n = 6
    times = [1e-300, 1e-40, 3e-40, 1e5, 1e200]
    lin = empty_lineages(n)
    for i, t in enumerate(times):
        add(lin, n + i, t)
    for t in [1e-301, 2e-40, 1.0, 2e5, 1e201]:
        assert exact_area(lin, n, t) == pytest.approx(area_of(times, n, t), rel=1e-12)
    remove(lin, n + 4)
    assert exact_area(lin, n, 1e201) == pytest.approx(area_of(times[:4], n, 1e201), rel=1e-12)


def test_exact_area_keeps_digits_of_small_times_beside_large_ones():
    n = 1000
    lin = empty_lineages(n)
    for i in range(500):
        add(lin, n + i, 1.0 + i)
    for i in range(500, 900):
        remove(lin, n + i - 500) if i < 950 and i - 500 < 100 else add(lin, n + i, 1e-9 * i)
    small = [1e-9 * i for i in range(600, 900)]
    assert exact_area(lin, n, 1e-6) == pytest.approx(area_of(small, n, 1e-6), rel=1e-12)
