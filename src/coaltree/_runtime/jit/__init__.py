"""The one jit decorator of the package.

Kernels are serial, release the interpreter lock so that threads over particles or chains scale, and are compiled
on first use (no explicit signatures) with an on-disk cache. ``error_model="numpy"`` gives IEEE division instead of
a Python exception, which kernels never need.
"""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from numba import njit
from numba.core.options import DefaultOptions

from .inner_kernels import Called, LinkedOnly, called_through
from .kernel_cache import keep_compiled

# Numba's own switch for code that neither makes nor keeps arrays; without it the kernels are slower, not wrong.
_NO_COUNTS = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}


Kernel = TypeVar("Kernel", bound=Callable[..., Any])


@overload
def jit(function: Kernel) -> Kernel: ...


@overload
def jit(
    *, inline: str = "never", fastmath: bool | set[str] = False, allocates: bool = True
) -> Callable[[Kernel], Kernel]: ...


def jit(
    function: Any = None, *, inline: str = "never", fastmath: bool | set[str] = False, allocates: bool = True
) -> Any:
    """Compile a kernel lazily: ``@jit`` or ``@jit(inline="always")``; `fastmath` only for leaf reductions.

    A kernel that makes no arrays (slices of its arguments aside) and returns numbers may say ``allocates=False``: it
    then counts no references, which halves the time of small kernels that are handed many arrays.
    """
    options = {"nogil": True, "error_model": "numpy", "inline": inline, "fastmath": fastmath, "no_cfunc_wrapper": True}
    options |= {} if allocates else _NO_COUNTS

    def decorate(kernel):
        def make_twin():
            return njit(pipeline_class=LinkedOnly, no_cpython_wrapper=True, **options)(kernel)

        return called_through(keep_compiled(njit(pipeline_class=Called, **options)(kernel)), make_twin)

    return decorate if function is None else decorate(function)
