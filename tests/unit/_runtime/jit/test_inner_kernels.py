"""Kernels that kernels call: the same numbers from Python and from a kernel, and nothing kept for them on disk."""

import math

import numpy as np
import pytest
from numba import njit
from numba.core import config

from coaltree._runtime.jit import jit


def make_kernels():
    @jit(allocates=False)
    def tower(n):
        return 1 if n == 0 else n * tower(n - 1)

    @jit(fastmath={"reassoc", "contract"})
    def total(x):
        found = 0.0
        for value in x:
            found += math.sqrt(value)
        return found

    @jit
    def both(x, n):
        if n < 0:
            raise ValueError("n must be at least 0")
        return total(x) + tower(n)

    return tower, total, both


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    return make_kernels()


X = np.linspace(0.1, 7.0, 1001)


def test_a_kernel_gives_python_what_it_gives_a_kernel(kernels):
    tower, total, both = kernels
    inside = both(X, 5)
    assert inside == total(X) + tower(5) == total(X) + 120
    assert tower(10) == math.factorial(10)  # it calls itself


def test_only_what_python_has_called_is_kept(kernels, tmp_path):
    _, total, both = kernels
    both(X, 5)
    assert {path.name.split(".")[-3] for path in tmp_path.rglob("*.nbi")} == {"both"}
    assert not total.overloads
    total(X)
    assert {path.name.split(".")[-3] for path in tmp_path.rglob("*.nbi")} == {"both", "total"}


def test_what_was_kept_is_used_by_the_next_process(kernels):
    expected = kernels[2](X, 5)
    *_, again = make_kernels()
    assert again(X, 5) == expected
    assert sum(again.stats.cache_hits.values()) == 1
    with pytest.raises(ValueError, match="n must be at least 0"):
        again(X, -1)


def test_a_number_in_the_code_needs_no_code_of_its_own(kernels):
    tower, *_ = kernels
    types = []

    @jit
    def seen(n):
        return tower(n) + tower(4)

    original = tower.get_call_template

    def noted(args, kws):
        found = original(args, kws)
        types.append(found[2])
        return found

    tower.get_call_template = noted
    assert seen(3) == 6 + 24
    assert len(set(types)) == 1


def test_a_function_of_plain_numba_may_call_a_kernel_that_calls_kernels(kernels):
    """Its library links what it calls directly, and no more: what these call was missing, and the process died."""
    *_, both = kernels
    assert njit(lambda x: both(x, 5) + both(x, 4))(X) == both(X, 5) + both(X, 4)


def test_an_inner_kernel_may_raise(kernels):
    *_, both = kernels

    @jit
    def around(x, n):
        return both(x, n)

    with pytest.raises(ValueError, match="n must be at least 0"):
        around(X, -1)
