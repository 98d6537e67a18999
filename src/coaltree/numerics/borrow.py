"""Arrays without their owner, for the loops of kernels.

Numba counts references to the owner of an array wherever one is taken out of a tuple or sliced: an atomic addition and
a call in the midst of a loop, which made sweeps a third slower. An array made by `numba.carray` has no owner. Whoever
called the kernel holds the arrays meanwhile.
"""

from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic


@intrinsic
def _pointer(typing: Any, address: Any) -> Any:
    """A number as a pointer."""

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return numba.types.voidptr(numba.types.uintp), write


@numba.njit(error_model="numpy")
def array_at(address: int, n: int, dtype: np.dtype) -> np.ndarray:
    """The array of n items at an address."""
    return numba.carray(_pointer(address), (n,), dtype)


@numba.njit(error_model="numpy")
def borrow(array: np.ndarray) -> np.ndarray:
    """The same array, without its owner; it must be contiguous."""
    return numba.carray(_pointer(array.ctypes.data), array.shape, array.dtype)
