"""The one jit decorator of the package, and the folder in which Numba keeps what it has compiled.

Kernels release the interpreter lock. Numba sees changes of a kernel's own file only: a digest of all names the folder.
"""

import contextlib
import hashlib
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, overload

import numba
from numba.core.compiler_lock import global_compiler_lock

from ..errors import CoaltreeWarning, InputError

PACKAGE = Path(__file__).parents[1]
KERNEL_SOURCES = re.compile(rb"import .*\bjit\b|\(NamedTuple\)")  # files of kernels, and of tuples that these take
Kernel = TypeVar("Kernel", bound=Callable[..., Any])


@overload
def jit(function: Kernel) -> Kernel: ...
@overload
def jit(**options: Any) -> Callable[[Kernel], Kernel]: ...
def jit(function: Any = None, **options: Any) -> Any:
    """Compile a kernel on first use: ``@jit`` or ``@jit(inline="always")``; `fastmath` only for leaf reductions."""
    if function is None:
        return partial(jit, **options)
    if numba.config.DISABLE_JIT:
        raise InputError("coaltree cannot run without Numba's compiler; unset NUMBA_DISABLE_JIT.")
    folder, before = cache_folder(), numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder or "")  # of this kernel: other packages' are none of our business
    options |= {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, "cache": folder is not None}
    try:
        kernel = numba.njit(function, **options)
    finally:
        numba.config.CACHE_DIR = before
    kernel.compile = partial(_compile, kernel, kernel.compile)
    return kernel


def _compile(kernel: Any, compile_or_load: Callable[[Any], Any], signature: Any) -> Any:
    """Compile or load a kernel while other processes wait, which would mix up Numba's index of its signatures."""
    name = f"{cache_folder()}/{kernel.__module__}.{kernel.__qualname__}.lock"
    with global_compiler_lock, contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, ImportError):  # no folder, or no locks: on some file systems, on Windows
            import fcntl

            fcntl.lockf(stack.enter_context(open(name, "a")), fcntl.LOCK_EX)
        return compile_or_load(signature)


@cache
def cache_folder() -> Path | None:
    """The folder of this version's kernels: in NUMBA_CACHE_DIR or the package, else in the user's cache."""
    what = hashlib.sha256(numba.__version__.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        if KERNEL_SOURCES.search(source := path.read_bytes()):
            what.update(str(path).encode() + source)
    who = f"coaltree-{hashlib.sha256(f'{PACKAGE} {sys.version}'.encode()).hexdigest()[:8]}"
    user = Path(os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or "~/.cache", "coaltree")
    for place in (os.environ.get("NUMBA_CACHE_DIR") or PACKAGE / "__pycache__", user):
        with contextlib.suppress(OSError, RuntimeError):  # it cannot be written to; there is no home
            parent = Path(place).expanduser()
            folder = parent / f"{who}-{what.hexdigest()[:16]}"
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            for old in set(parent.glob(f"{who}-*")) - {folder}:
                shutil.rmtree(old, ignore_errors=True)
            return folder
    warnings.warn("no folder to keep compiled kernels in; set NUMBA_CACHE_DIR to one.", CoaltreeWarning, stacklevel=2)
    return None
