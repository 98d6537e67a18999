"""Further processes that compile kernels while the first fit runs, one for each core.

A fit compiles what it needs when it needs it, sweeps first. Helpers compile the rest into the same cache, other parts
first; whoever needs a kernel that another process is compiling waits for it (`_runtime.jit`). Kernels are the same
whoever compiles them.
"""

import atexit
import contextlib
import os
import subprocess
import sys
from functools import cache

from joblib import cpu_count

from ..._runtime.jit import cache_folder

COMPLETE = "complete"  # the file in the cache that says that all kernels of a fit are there
IS_HELPER = "COALTREE_IS_HELPER"  # in the environment of a helper
MAX_HELPERS = 3  # more would wait for each other


@cache
def compile_ahead() -> None:
    """Start the helpers, once, if there is a cache to fill; they end with this process at the latest."""
    folder, nowhere = cache_folder(), subprocess.DEVNULL
    if folder is None or (folder / COMPLETE).exists() or not sys.executable or IS_HELPER in os.environ:
        return
    environment = os.environ | {IS_HELPER: "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    for i in range(min(cpu_count() - 1, MAX_HELPERS)):
        command = [sys.executable, "-m", "coaltree", "warmup", "--part", str(i)]
        with contextlib.suppress(OSError):
            helper = subprocess.Popen(command, env=environment, stdin=nowhere, stdout=nowhere, stderr=nowhere)
            atexit.register(helper.kill)  # a kernel appears in the cache whole or not at all


def say_complete() -> None:
    """Note in the cache that no helper is needed any more."""
    folder = cache_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            (folder / COMPLETE).touch()
