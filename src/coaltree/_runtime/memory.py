"""How much memory is available, so that a request that cannot be met is an InputError and not a killed process."""

import os
import time
from functools import lru_cache
from pathlib import Path

from ..errors import InputError

_MAX_SHARE = 0.8  # of what is available: the rest of the program needs some too
_MIN_KERNEL_BYTES = 600e6  # of addresses: a fit ran with 1 GB in all and not with 0.7
_CACHE_SECONDS = 0.05  # asking takes as long as a small greedy tree, of which `fit` may grow a thousand a second


def available_bytes() -> int | None:
    """Return the bytes this process may still take, or None where the system does not say."""
    return _available(int(time.monotonic() / _CACHE_SECONDS))


@lru_cache(maxsize=1)
def _available(_now: int) -> int | None:
    limits = (_of_system(), _of_control_group(), _of_process())
    return min((limit for limit in limits if limit is not None), default=None)


def require_memory(n_bytes: int, what: str, instead: str) -> None:
    """Raise InputError if `n_bytes` for `what` are more than there are; `instead` says what would work."""
    available = available_bytes()
    if available is not None and n_bytes > _MAX_SHARE * available:
        raise InputError(
            f"{what} would need {n_bytes / 1e9:.1f} GB of memory and {available / 1e9:.1f} GB are available; {instead}."
        )


def require_room_for_kernels() -> None:
    """Refuse a limit under which compiling would not fail in words but end the process."""
    left = _of_process()
    if left is not None and left < _MIN_KERNEL_BYTES:
        raise InputError(
            f"the limit on virtual memory leaves {left / 1e6:.0f} MB, and compiled kernels take "
            f"{_MIN_KERNEL_BYTES / 1e6:.0f}; raise it (ulimit -v)."
        )


def _of_system() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_process() -> int | None:
    """What ``ulimit -v`` allows, less what the process has taken of it."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError):  # another system, or one that does not say
        return None
    return None if limit == resource.RLIM_INFINITY else max(0, limit - taken)


def _of_control_group() -> int | None:
    """What a container is allowed (control groups, version 2), less what it has taken."""
    folder = Path("/sys/fs/cgroup")
    try:
        return max(0, int((folder / "memory.max").read_text()) - int((folder / "memory.current").read_text()))
    except (OSError, ValueError):  # no such file, or "max"
        return None
