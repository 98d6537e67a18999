"""Arrays without an owner are the same arrays."""

from typing import NamedTuple

import numpy as np
import pytest

from coaltree._runtime.jit import jit
from coaltree.numerics.borrow import borrow


class Pair(NamedTuple):
    """An array and a number."""

    values: np.ndarray
    scale: float


class Nested(NamedTuple):
    """Pairs, of which a tuple has one, and two arrays of one type."""

    pair: Pair
    arrays: tuple[np.ndarray, np.ndarray]
    n: int


@jit
def write_through_borrow(x):
    borrow(x)[1] = 5
    return borrow(x).shape


@jit
def write_into(nested):
    nested = borrow(nested)
    for i in range(nested.n):
        nested.pair.values[i] += nested.pair.scale
        nested.arrays[1][i] = nested.arrays[0][i]
    return nested.pair.values.sum()


@pytest.mark.parametrize("x", [np.zeros(3), np.zeros(3, np.int32), np.zeros((3, 2))])
def test_borrow_shares_memory_shape_and_type(x):
    assert write_through_borrow(x) == x.shape
    assert np.all(x[1] == 5)
    assert not x[0].any() and not x[2].any()


def test_borrow_reaches_all_arrays_of_nested_tuples():
    nested = Nested(Pair(np.zeros(3), 0.5), (np.arange(3), np.zeros(3, np.int64)), 3)
    assert write_into(nested) == 1.5
    assert nested.pair.values.tolist() == [0.5] * 3 and nested.arrays[1].tolist() == [0, 1, 2]
