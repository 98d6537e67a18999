"""What a request for more memory than there is is told."""

import pytest

from coaltree import InputError
from coaltree._runtime import memory


def test_available_bytes_are_the_least_limit(monkeypatch, tmp_path):
    files = {"/proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 8 kB\n"}
    monkeypatch.setattr(memory.Path, "read_text", lambda path: files[str(path)])
    files |= {"/sys/fs/cgroup/memory.max": "7000", "/sys/fs/cgroup/memory.current": "2000"}
    assert memory.available_bytes() == 5000
    files["/sys/fs/cgroup/memory.max"] = "max"
    assert memory.available_bytes() == 8192


def test_require_memory_refuses_what_does_not_fit(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10 * 10**9)
    memory.require_memory(7 * 10**9, "A matrix", "use less")
    with pytest.raises(InputError, match=r"^A matrix would need 9\.0 GB .* 10\.0 GB are available; use less\.$"):
        memory.require_memory(9 * 10**9, "A matrix", "use less")
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.require_memory(10**18, "A matrix", "use less")  # where nobody knows
