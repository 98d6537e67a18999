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
from pickle import UnpicklingError
from typing import Any, TypeVar, overload

import numba
from numba.core.compiler_lock import global_compiler_lock

from ..errors import CoaltreeWarning, InputError

PACKAGE = Path(__file__).parents[1]
KERNEL_SOURCES = re.compile(rb"import .*\bjit\b|\(NamedTuple\)")  # files of kernels, and of tuples that these take
ADVICE = "set NUMBA_CACHE_DIR to a folder that can be written to"
KERNELS: list[Any] = []
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
    make = partial(numba.njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)
    folder, before = cache_folder(), numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder or "")  # of this kernel: other packages' are none of our business
    try:
        kernel = make(function, cache=folder is not None)
    except RuntimeError:  # a function without a file, or a folder that has been removed since
        kernel = make(function)
    finally:
        numba.config.CACHE_DIR = before
    kernel.compile = partial(_compile, kernel, kernel.compile)
    KERNELS.append(kernel)
    return kernel


def _compile(kernel: Any, compile_or_load: Callable[[Any], Any], signature: Any) -> Any:
    """Compile or load a kernel while other processes wait, which would mix up Numba's index of its signatures."""
    name = f"{cache_folder()}/{kernel.__module__}.{kernel.__qualname__}.lock"
    with global_compiler_lock, contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, ImportError):  # no folder, or no locks: on some file systems, on Windows
            import fcntl

            fcntl.lockf(stack.enter_context(open(name, "a")), fcntl.LOCK_EX)
        try:
            return compile_or_load(signature)
        except (OSError, EOFError, UnpicklingError) as error:  # a full disk, or a damaged file
            shutil.rmtree(kernel.stats.cache_path or "", ignore_errors=True)
            _warn(f"compiled kernels cannot be kept or read ({type(error).__name__}); {ADVICE}.")
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
    _warn(f"there is no folder to keep compiled kernels in, so each run compiles them; {ADVICE}.")
    return None


_warn = cache(partial(warnings.warn, category=CoaltreeWarning, stacklevel=2))  # each message once
