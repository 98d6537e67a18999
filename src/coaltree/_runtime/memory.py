"""How much memory is available, so that a request that cannot be met is an InputError and not a killed process."""

from pathlib import Path

from ..errors import InputError


def available_bytes() -> int | None:
    """Return the bytes this process may still take, or None where the system does not say (not Linux)."""
    limits = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        limits = [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        group = Path("/sys/fs/cgroup")  # what a container is allowed, less what it has taken
        limits.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):  # no such file, or "max"
        pass
    return max(0, min(limits)) if limits else None


def require_memory(n_bytes: int, what: str, instead: str) -> None:
    """Raise InputError if `n_bytes` for `what` are more than there are; `instead` says what would work."""
    available = available_bytes()
    if available is not None and n_bytes > 0.8 * available:  # the rest of the program needs memory too
        raise InputError(
            f"{what} would need {n_bytes / 1e9:.1f} GB of memory and {available / 1e9:.1f} GB are available; {instead}."
        )
