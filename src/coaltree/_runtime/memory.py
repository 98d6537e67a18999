"""How much memory is available, so that a request that cannot be met is an InputError and not a killed process."""

import os
import time
from functools import lru_cache
from pathlib import Path

from ..errors import InputError


def available_bytes() -> int | None:
    """Return the bytes this process may still take, or None where the system does not say."""
    return _available(int(20 * time.monotonic()))  # asking takes as long as a small greedy tree


@lru_cache(maxsize=1)
def _available(_now: int) -> int | None:
    return min((limit for limit in (_of_system(), _of_control_group()) if limit is not None), default=None)


def require_memory(n_bytes: int, what: str, instead: str) -> None:
    """Raise InputError if `n_bytes` for `what` are more than there are; `instead` says what would work."""
    available = available_bytes()
    if available is not None and n_bytes > 0.8 * available:  # the rest of the program needs some too
        raise InputError(
            f"{what} would need {n_bytes / 1e9:.1f} GB of memory and {available / 1e9:.1f} GB are available; {instead}."
        )


def _of_system() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):  # not Linux
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else None


def _of_control_group() -> int | None:
    """What a container is allowed (control groups, version 2), less what it has taken."""
    folder = Path("/sys/fs/cgroup")
    try:
        return max(0, int((folder / "memory.max").read_text()) - int((folder / "memory.current").read_text()))
    except (OSError, ValueError):  # no such file, or "max"
        return None
