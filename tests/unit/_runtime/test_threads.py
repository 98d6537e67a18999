"""Limits on threads: of a search, and of BLAS as long as anybody inside wants one thread."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from coaltree._runtime import threads
from coaltree._runtime.threads import allowed_threads, at_most_threads, single_threaded_blas
from coaltree.samplers.regraft import nearest


@pytest.fixture
def eight_processors(monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 8)


def test_at_most_threads_heeds_the_innermost_limit_and_none_is_no_limit(eight_processors):
    assert allowed_threads() == 8
    with at_most_threads(3):
        assert allowed_threads() == 3
        with at_most_threads(None):
            assert allowed_threads() == 3
        with at_most_threads(50):
            assert allowed_threads() == 8
    assert allowed_threads() == 8


def test_at_most_threads_limits_a_search_with_the_same_bits(monkeypatch, eight_processors):
    monkeypatch.setattr(nearest, "_BLOCK", 10 * nearest._MIN_SEEN)  # so that there are many blocks
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


def blas_threads():
    np.linalg.inv(np.eye(2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS cannot be told how many threads to use")
        yield


def test_single_threaded_blas_contexts_may_be_left_in_any_order(two_threads):
    first, second = single_threaded_blas(), single_threaded_blas()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}  # the second is still in there
    second.__exit__(None, None, None)
    assert blas_threads() == {2}


def test_single_threaded_blas_ends_with_an_error(two_threads):
    with pytest.raises(KeyboardInterrupt), single_threaded_blas(), single_threaded_blas():
        raise KeyboardInterrupt
    assert blas_threads() == {2}
