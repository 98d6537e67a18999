"""What a request for more memory than there is is told."""

import pytest

from coaltree import InputError
from coaltree._runtime import memory


def test_require_memory_refuses_what_does_not_fit(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10 * 10**9)
    memory.require_memory(7 * 10**9, "A matrix", "use less")
    with pytest.raises(InputError, match=r"^A matrix would need 9\.0 GB .* 10\.0 GB are available; use less\.$"):
        memory.require_memory(9 * 10**9, "A matrix", "use less")
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.require_memory(10**18, "A matrix", "use less")  # where nobody knows
