"""BLAS uses one thread as long as anybody inside wants it so, and as many as before when all are out."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from coaltree._runtime.blas import single_threaded_blas


def blas_threads():
    np.linalg.inv(np.eye(2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS cannot be told how many threads to use")
        yield


def test_contexts_may_be_left_in_any_order(two_threads):
    first, second = single_threaded_blas(), single_threaded_blas()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}  # the second is still in there
    second.__exit__(None, None, None)
    assert blas_threads() == {2}


def test_an_error_lifts_the_limit(two_threads):
    with pytest.raises(KeyboardInterrupt), single_threaded_blas(), single_threaded_blas():
        raise KeyboardInterrupt
    assert blas_threads() == {2}
