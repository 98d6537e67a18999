"""How many threads a search may take."""

import threading

import numpy as np
import pytest

from coaltree._runtime import threads
from coaltree._runtime.threads import allowed_threads, at_most_threads
from coaltree.samplers.regraft import nearest


@pytest.fixture(autouse=True)
def eight_processors(monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 8)


def test_the_innermost_limit_counts_and_none_is_no_limit():
    assert allowed_threads() == 8
    with at_most_threads(3):
        assert allowed_threads() == 3
        with at_most_threads(None):
            assert allowed_threads() == 3
        with at_most_threads(50):
            assert allowed_threads() == 8
    assert allowed_threads() == 8


def test_a_limit_is_of_its_thread():
    found = []
    with at_most_threads(1):
        other = threading.Thread(target=lambda: found.append(allowed_threads()))
        other.start()
        other.join()
    assert found == [8]


def test_a_search_obeys_it_with_the_same_bits(monkeypatch):
    monkeypatch.setattr(nearest, "_BLOCK", 600)  # so that there are many blocks
    pools = []

    class Pool(nearest.ThreadPoolExecutor):
        def __init__(self, n_threads):
            pools.append(n_threads)
            super().__init__(n_threads)

    monkeypatch.setattr(nearest, "ThreadPoolExecutor", Pool)
    W = np.random.default_rng(0).normal(size=(60, 3))
    found = []
    for limit in (None, 3, 1):
        with at_most_threads(limit):
            found.append(nearest.nearest(W, W, 5, np.arange(60)))
    assert pools == [6, 3]  # six blocks, three threads, and none beside the caller's
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
