"""Lists of names, counts, shares in per cent, and numbers as people write them, in messages."""

import math
import re
from collections.abc import Sequence

# Control characters (terminals obey them), halves of surrogate pairs (no file can hold them), line separators, and
# marks that reverse the text around them.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069]")


def shortlist(names: Sequence[object], most: int = 6) -> str:
    """Return a list of names, shortened where there are many: "a, b, c and 1,000 more"."""
    shown = ", ".join(shortened(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def shortened(name: str, most: int = 60) -> str:
    """Return a name, cut where it is too long for a line or for a leaf of a figure, its control characters escaped."""
    name = escaped(name)
    return name if len(name) <= most else f"{name[: most - 1]}…"


def escaped(text: str, keep: str = "") -> str:
    """Return text with control characters as Python writes them, such as \\x1b; those in `keep` stay."""
    return _UNPRINTABLE.sub(lambda match: match[0] if match[0] in keep else repr(match[0])[1:-1], text)


def percent(share: float) -> str:
    """Return a share as whole per cent; never 100 % or 0 % for what is not quite all or nothing."""
    rounded = round(100 * float(share))
    if 0 < rounded < 100 or min(share, 1.0 - share) < 1e-12:
        return f"{rounded} %"
    return "over 99 %" if rounded else "under 1 %"


def beside_limit(value: float, limit: float, digits: int) -> str:
    """Return a number with so many digits after the point, or more where it would look equal to the limit."""
    while digits < 6 and value != limit and float(f"{value:.{digits}f}") == limit:
        digits += 1
    return f"{value:.{digits}f}"


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, thousands set apart, and no more zeros than needed."""
    if not math.isfinite(value):
        return "–"
    return f"{round(value) if 10.0**digits <= abs(value) < 1e6 else float(f'{value:.{digits}g}'):,.6g}"


def count(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: 1 leaf, 1,000 leaves."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
