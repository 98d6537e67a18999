"""One thread for matrix products that reach a draw: BLAS rounds differently with another number of threads."""

from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller():
    return ThreadpoolController()  # looking the libraries up takes milliseconds: once is enough


def single_threaded_blas():
    """Return a context in which BLAS and LAPACK use one thread."""
    return _controller().limit(limits=1, user_api="blas")
