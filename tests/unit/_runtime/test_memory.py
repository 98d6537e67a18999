"""How much memory there is, by the least of several limits, and what a request beyond it is told."""

import pytest

from coaltree import InputError
from coaltree._runtime import memory


@pytest.fixture
def limits(monkeypatch):
    """Set what the system and the control group allow."""

    def allow(system, control_group):
        memory._available.cache_clear()
        for name, found in (("system", system), ("control_group", control_group)):
            monkeypatch.setattr(memory, f"_of_{name}", lambda found=found: found)

    yield allow
    memory._available.cache_clear()


def test_available_bytes_is_the_least_limit(limits):
    limits(8, 5)
    assert memory.available_bytes() == 5
    limits(8, None)
    assert memory.available_bytes() == 8
    limits(None, None)
    assert memory.available_bytes() is None


def test_available_bytes_of_this_machine_are_positive():
    found = memory.available_bytes()
    assert found is None or found > 0


def test_require_memory_refuses_what_does_not_fit(limits):
    limits(10 * 10**9, None)
    memory.require_memory(7 * 10**9, "A matrix", "use less")
    with pytest.raises(InputError, match=r"^A matrix would need 9\.0 GB .* 10\.0 GB are available; use less\.$"):
        memory.require_memory(9 * 10**9, "A matrix", "use less")
    limits(None, None)
    memory.require_memory(10**18, "A matrix", "use less")  # where nobody knows
