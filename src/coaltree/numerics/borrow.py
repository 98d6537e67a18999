"""Arrays without their owner, for the loops of kernels.

Numba counts references to the owner of an array wherever one is taken out of a tuple or sliced: an atomic addition and
a call in the midst of a loop, which made sweeps a third slower. A borrowed array has no owner. Whoever called the
kernel holds the arrays meanwhile.
"""

from typing import Any

import numba
import numpy as np
from numba.core.cgutils import get_null_value
from numba.extending import intrinsic


@intrinsic
def borrow(typing: Any, array: Any) -> Any:
    """The same array, without its owner."""

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        (value,), fields = values, context.data_model_manager[signature.return_type]
        for place in map(fields.get_field_position, ("meminfo", "parent")):
            value = builder.insert_value(value, get_null_value(value.type.elements[place]), place)
        return value

    return array(array), write


@intrinsic
def _pointer(typing: Any, address: Any) -> Any:
    """A number as a pointer."""

    def write(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return numba.types.voidptr(numba.types.uintp), write


@numba.njit(error_model="numpy", no_cfunc_wrapper=True)
def array_at(address: int, n: int, dtype: np.dtype) -> np.ndarray:
    """The array of n items at an address."""
    return numba.carray(_pointer(address), (n,), dtype)
