"""The exponential function, for the inner loops of kernels."""

import math

import numpy as np

from .._runtime.jit import jit

_LOG2_E = 1.0 / math.log(2.0)
_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # 33 bits: k · _LN2_HIGH is exact for every exponent k
_LN2_LOW = 1.90821492927058770002e-10
_TAYLOR = np.array([1.0 / math.factorial(k) for k in range(13, -1, -1)])


@jit
def exp_in_range(x: float) -> float:
    """e^x = 2^k e^f, |f| <= ½ log 2, by Taylor's polynomial of degree 13, for |x| <= 708 only.

    Unlike ``math.exp`` it has no call and no branch, so that LLVM vectorises loops around it; alone it is slower.
    """
    k = np.floor(x * _LOG2_E + 0.5)
    f = (x - k * _LN2_HIGH) - k * _LN2_LOW
    e = _TAYLOR[0]
    for i in range(1, _TAYLOR.size):
        e = e * f + _TAYLOR[i]
    return e * np.int64((np.int64(k) + 1023) << 52).view(np.float64)


@jit
def fast_exp(x: float) -> float:
    """e^x as `exp_in_range`, but 0 below -708 and 8.2e307 above 709."""
    return 0.0 if x < -708.0 else exp_in_range(min(max(x, -708.0), 709.0))
