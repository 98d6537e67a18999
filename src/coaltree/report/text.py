"""Text that browsers show as it is; templates escape it."""

import re

from .._runtime.formatting import percent as plain_percent

# What HTML has no place for: control characters, halves of surrogate pairs, and marks that reverse the text around.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def printable(text: object) -> str:
    """Return text without the characters that HTML cannot show."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", str(text))


def percent(share: float) -> str:
    """Return a share as whole per cent, on one line; never 100 % or 0 % for what is not quite all or nothing."""
    return plain_percent(share).replace(" %", "\N{NO-BREAK SPACE}%")
