"""Arrays without an owner are the same arrays."""

import numpy as np
import pytest

from coaltree._runtime.jit import jit
from coaltree.numerics.borrow import array_at, borrow

PAIR = np.dtype([("count", np.int32), ("time", np.float64)], align=True)


@jit
def write_through_borrow(x):
    borrow(x)[1] = 5
    return borrow(x).shape


@jit
def write_at_address(address, n):
    pairs = array_at(address, n, PAIR)
    pairs[n - 1].count = 7
    pairs[0].time = 0.5
    return pairs.size


@pytest.mark.parametrize("x", [np.zeros(3), np.zeros(3, np.int32), np.zeros((3, 2))])
def test_borrow_shares_memory_shape_and_type(x):
    assert write_through_borrow(x) == x.shape
    assert np.all(x[1] == 5)
    assert not x[0].any() and not x[2].any()


def test_array_at_finds_records():
    pairs = np.zeros(4, PAIR)
    assert write_at_address(pairs.ctypes.data, 4) == 4
    assert pairs["count"].tolist() == [0, 0, 0, 7]
    assert pairs["time"].tolist() == [0.5, 0.0, 0.0, 0.0]
