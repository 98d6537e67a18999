"""BLAS uses one thread as long as anybody inside wants it so, and as many as before when all are out."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from coaltree._runtime import blas
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


def in_a_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_any_thread_may_set_the_limit_and_any_may_lift_it(two_threads):
    """threadpoolctl heeds one thread only, the first that asked, which here is the one of the fixture."""
    seen = []
    first_is_in, second_is_in, first_may_go = (threading.Event() for _ in range(3))

    def first():
        with single_threaded_blas():
            seen.append(blas_threads())
            first_is_in.set()
            second_is_in.wait(10)
        first_may_go.wait(10)  # it still lives when the second lifts the limit

    def second():
        first_is_in.wait(10)
        with single_threaded_blas():
            second_is_in.set()
            seen.append(blas_threads())
        seen.append(blas_threads())

    threads = [in_a_thread(first), in_a_thread(second)]
    threads[1].join()
    first_may_go.set()
    threads[0].join()
    assert seen[:2] == [{1}, {1}]
    assert blas_threads() == {2}


def test_what_another_package_has_set_meanwhile_is_given_back_to_it(two_threads):
    with threadpool_limits(1, user_api="blas") as theirs, single_threaded_blas():
        theirs.restore_original_limits()  # they are done before us, and ask for their two threads again
        assert blas_threads() == {2}
        with single_threaded_blas():
            assert blas_threads() == {1}
    assert blas_threads() == {2}


class OfThread:
    """A library with a number of threads for each thread, as MKL's."""

    def __init__(self):
        self.state = threading.local()

    @property
    def num_threads(self):
        return getattr(self.state, "number", 4)

    def set_num_threads(self, number):
        self.state.number = number


def test_libraries_that_count_by_thread_are_limited_in_each(monkeypatch):
    library = OfThread()
    monkeypatch.setattr(blas, "_of_process", lambda: (blas._Limit([]), [library]))
    monkeypatch.setattr(blas, "_of_thread", threading.local())
    seen = []

    def work():
        with single_threaded_blas():
            seen.append(library.num_threads)
        seen.append(library.num_threads)

    with single_threaded_blas():
        in_a_thread(work).join()
        assert library.num_threads == 1
    assert seen == [1, 4]
    assert library.num_threads == 4
