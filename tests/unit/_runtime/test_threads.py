"""Limits on threads: of a search, and of BLAS as long as anybody inside wants one thread."""

import gc
import threading

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


def test_at_most_threads_is_a_limit_of_its_thread(eight_processors):
    found = []
    with at_most_threads(1):
        other = threading.Thread(target=lambda: found.append(allowed_threads()))
        other.start()
        other.join()
    assert found == [8]


def test_at_most_threads_limits_a_search_with_the_same_bits(monkeypatch, eight_processors):
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


@pytest.mark.parametrize("step", ["enter", "leave"])
def test_single_threaded_blas_forgets_a_visit_that_was_interrupted_on_its_way(two_threads, monkeypatch, step):
    """Ctrl-C between two statements of our own must not leave the process with one thread for ever."""

    def interrupted(limit, visit):
        if step == "enter":
            limit.inside.add(visit)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threads._Limit, step, interrupted)
        if step == "enter":
            patch.setattr(threads._Limit, "leave", interrupted)
        with pytest.raises(KeyboardInterrupt), single_threaded_blas():
            pass
    gc.collect()  # the frames of the interrupt
    with single_threaded_blas():
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def in_a_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_single_threaded_blas_may_be_set_and_lifted_by_any_thread(two_threads):
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

    one, other = in_a_thread(first), in_a_thread(second)
    other.join()
    first_may_go.set()
    one.join()
    assert seen[:2] == [{1}, {1}]
    assert blas_threads() == {2}


def test_single_threaded_blas_gives_back_what_another_package_has_set_meanwhile(two_threads):
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


def test_single_threaded_blas_limits_libraries_that_count_by_thread_in_each(monkeypatch):
    library = OfThread()
    monkeypatch.setattr(threads, "_of_process", lambda: (threads._Limit([]), [library]))
    monkeypatch.setattr(threads, "_of_thread", threading.local())
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
