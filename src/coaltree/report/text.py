"""Text for the page: escaped, so that no name can be mistaken for markup, and numbers as people write them."""

import html
import math
import re
from collections.abc import Iterable

from .._runtime.formatting import percent as plain_percent

# What HTML has no place for: control characters, halves of surrogate pairs, and marks that reverse the text around.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def printable(text: object) -> str:
    """Return text that every browser shows as it is."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", str(text))


def escape(text: object) -> str:
    """Return text for the inside of an element, or of an attribute in quotes."""
    return html.escape(printable(text), quote=True)


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, thousands set apart, and no more zeros than needed."""
    value = float(value)
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size != 0 and not 1e-4 <= size < 1e6:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    if size >= 10.0**digits:
        return f"{value:,.0f}"
    return f"{float(f'{value:.{digits}g}'):.10g}"


def percent(share: float) -> str:
    """Return a share as whole per cent, on one line; never 100 % or 0 % for what is not quite all or nothing."""
    return plain_percent(share).replace(" %", "\N{NO-BREAK SPACE}%")


def count(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: 1 leaf, 1,000 leaves."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def table(rows: Iterable[tuple[object, object]], attributes: str = "") -> str:
    """Return rows of (name, value), both plain text, as a table with row headings."""
    cells = "\n".join(f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows)
    return f"<table{' ' if attributes else ''}{attributes}><tbody>\n{cells}\n</tbody></table>"
