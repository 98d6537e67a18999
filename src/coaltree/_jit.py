"""The one jit decorator of the package.

Kernels are serial, release the interpreter lock so that threads over particles or chains scale, and are compiled
on first use (no explicit signatures) with an on-disk cache. ``error_model="numpy"`` gives IEEE division instead of
a Python exception, which kernels never need.
"""

from numba import njit


def jit(function=None, *, inline="never", fastmath=False):
    """Compile a kernel lazily: ``@jit`` or ``@jit(inline="always")``; `fastmath` only for leaf reductions."""
    decorate = njit(cache=True, nogil=True, error_model="numpy", inline=inline, fastmath=fastmath)
    return decorate if function is None else decorate(function)
