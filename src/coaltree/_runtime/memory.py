"""How much memory there is, so that a request that cannot be met ends in a sentence and not in a killed process."""

import os
import time
from functools import lru_cache
from pathlib import Path

from ..errors import InputError

_SHARE = 0.8  # of what is available: the rest of the program needs some too
_GOOD_FOR = 0.05  # seconds: asking takes as long as a small greedy tree, and `fit` may grow a thousand of them a second


def available_bytes() -> int | None:
    """Return the bytes this process may still take, or None where the system does not say."""
    return _available(int(time.monotonic() / _GOOD_FOR))


@lru_cache(maxsize=1)
def _available(_now: int) -> int | None:
    limits = [found for found in (_of_system(), _of_control_group()) if found is not None]
    return min(limits) if limits else None


def require_memory(n_bytes: int, what: str, instead: str) -> None:
    """Raise InputError if `n_bytes` for `what` are more than there are; `instead` says what would work."""
    available = available_bytes()
    if available is not None and n_bytes > _SHARE * available:
        raise InputError(
            f"{what} would need {n_bytes / 1e9:.1f} GB of memory and {available / 1e9:.1f} GB are available; {instead}."
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


def _of_control_group() -> int | None:
    """What a container is allowed (control groups, version 2), less what it has taken."""
    folder = Path("/sys/fs/cgroup")
    try:
        return max(0, int((folder / "memory.max").read_text()) - int((folder / "memory.current").read_text()))
    except (OSError, ValueError):  # no such file, or "max"
        return None
