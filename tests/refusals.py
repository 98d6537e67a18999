"""How bad input is refused: an `InputError` of one sentence."""

import pytest

from coaltree import InputError


def assert_refused(make, says):
    """Calling `make` raises an InputError whose message matches `says` and is one line that ends in a full stop."""
    with pytest.raises(InputError, match=says) as caught:
        make()
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
