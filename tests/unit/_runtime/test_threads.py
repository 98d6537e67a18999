"""Limits on threads: of a search, and of BLAS as long as anybody inside wants one thread."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from coaltree._runtime import threads
from coaltree._runtime.threads import allowed_threads, at_most_threads, single_threaded_blas


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
