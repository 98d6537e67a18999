"""Numbers as people write them in spreadsheets: money, per cent, thousands, units, yes and no, dates.

A column is read so only where every cell that is not missing is written in the same way, and what was understood is
shown. 1,234 may be a number with thousands or, in other countries, with three decimals: a column in which every cell
looks so is read only where another column, with 1,234.5 for example, tells which.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from .cells import is_missing, number

CURRENCIES = "$€£¥₹"
YES_NO = ({"yes": 1.0, "no": 0.0}, {"y": 1.0, "n": 0.0}, {"true": 1.0, "false": 0.0}, {"t": 1.0, "f": 0.0})
UNITS = frozenset({
    "mm", "cm", "m", "km", "in", "ft", "g", "kg", "mg", "µg", "ug", "t", "l", "ml", "s", "ms", "min", "h", "d", "°c",
    "°f", "k", "hz", "khz", "v", "w", "kw", "pa", "hpa", "bar", "ppm", "mmhg", "mol", "mmol",
})  # that may follow a number without a blank  # fmt: skip
EPOCH = "1970-01-01"
_UNIT = re.compile(r"([+-]?[\d.,]*\d)(\s*)([^\W\d_][^\d]*|°[^\d]*)")
_GROUPS = re.compile(r"([+-]?)([1-9]\d{0,2})((?:[,' ’\u00a0\u202f]\d{3})+)(\.\d*)?")  # 1,234 and 1 234.5
_MARKS = re.compile(r"[,' ’\u00a0\u202f]")
_THOUSANDS_FOR_SURE = re.compile(r"\d,\d{3}(\.\d|,\d{3}(?!\d))")
_AMBIGUOUS = re.compile(r"[+-]?\d{1,3},\d{3}")
_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T][\d:.]+(Z|[+-]\d\d:?\d\d)?)?|\d{1,2}\.\d{1,2}\.\d{4}")

# The numbers in the cells of a column, None where one is missing, and in words how they were written.
Understood = tuple[list[float | None], str]


def understand(cells: Sequence[str], decimal: str, thousands: bool = False) -> Understood | None:
    """The numbers of a column that is consistently written in one of these ways; None for any other column.

    `thousands` says that the comma of 1,234 is known to set thousands apart.
    """
    observed = [cell for cell in cells if not is_missing(cell)]
    if not observed:
        return None
    each = partial(_each, cells, observed, decimal, thousands)
    for words in YES_NO:
        if all(cell.lower() in words for cell in observed):
            yes, no = words
            return [words.get(cell.lower()) for cell in cells], f"{yes} as 1, {no} as 0"
    if all(cell.endswith("%") for cell in observed):
        return each(lambda cell: cell.removesuffix("%").rstrip(), "per cent")
    for mark in CURRENCIES:
        if all(cell.count(mark) == 1 for cell in observed):
            return each(partial(_without_mark, mark=mark), f"amounts in {mark}")
    unit = _unit(observed)
    if unit:
        return each(lambda cell: cell.removesuffix(unit).rstrip(), f"in {unit}")
    return each(str, "")


def shows_thousands(cells: Iterable[str]) -> bool:
    """Whether any cell, such as 1,234.5 or 1,234,567, tells that commas set thousands apart."""
    return any(_THOUSANDS_FOR_SURE.search(cell) for cell in cells)


def _unit(observed: Sequence[str]) -> str:
    """The unit behind every number, after a blank or one that people know; empty where there is none."""
    found = _UNIT.fullmatch(observed[0])
    if found is None or not (found[2] or found[3].lower() in UNITS):
        return ""
    unit = found[3]
    same = (_UNIT.fullmatch(cell) for cell in observed)
    return unit if all(one is not None and one[3] == unit for one in same) else ""


def _without_mark(cell: str, mark: str) -> str:
    """The amount in $12, -$12, ($12) or 12 €; what has the mark elsewhere stays as it is, and is no number."""
    is_negative = cell.startswith("(") and cell.endswith(")")
    inner = cell[1:-1].strip() if is_negative else cell
    sign, rest = (inner[0], inner[1:].lstrip()) if inner[:1] in ("-", "+") else ("", inner)
    if not (rest.startswith(mark) or rest.endswith(mark)):
        return cell
    amount = rest.strip(mark).strip()
    return f"-{amount}" if is_negative and not sign else f"{sign}{amount}"


def _each(
    cells: Sequence[str], observed: Sequence[str], decimal: str, thousands: bool, strip: Callable[[str], str], how: str
) -> Understood | None:
    """Read each cell without its mark, with thousands set apart where that can be told from decimals."""
    bare = [strip(cell) for cell in observed]
    has_groups = decimal == "." and any(_GROUPS.fullmatch(cell) for cell in bare)
    if has_groups:
        is_plain_long = any(number(cell) is not None and re.fullmatch(r"[+-]?\d{4,}(\.\d*)?", cell) for cell in bare)
        is_known = thousands or how.startswith("amounts")
        if is_plain_long or (all(_AMBIGUOUS.fullmatch(cell) for cell in bare) and not is_known):
            return None
        how = ", ".join(filter(None, (how, "thousands set apart")))
    if not how:
        return None

    def read(cell: str) -> float | None:
        return number(_MARKS.sub("", cell) if has_groups and _GROUPS.fullmatch(cell) else cell, decimal)

    if any(read(cell) is None for cell in bare):
        return None
    return [None if is_missing(cell) else read(strip(cell)) for cell in cells], how


def are_dates(cells: Sequence[str]) -> bool:
    """Whether every cell that is not missing is a date such as 2024-01-31 or 31.1.2024."""
    observed = [cell for cell in cells if not is_missing(cell)]
    return bool(observed) and all(_DATE.fullmatch(cell) for cell in observed)


def days(cells: Sequence[str]) -> Understood | None:
    """Dates as days since 1970-01-01, so that tables that are read apart agree; None where a cell is no date."""
    import pandas

    if not are_dates(cells):
        return None
    found: list[float | None] = []
    for cell in cells:
        if is_missing(cell):
            found.append(None)
            continue
        try:
            moment = pandas.to_datetime(cell.replace("/", "-"), dayfirst="." in cell.partition(" ")[0], utc=True)
        except (ValueError, OverflowError):  # the 31st of February
            return None
        found.append((moment - pandas.Timestamp(EPOCH, tz="UTC")) / pandas.Timedelta(days=1))
    return found, f"dates as days since {EPOCH}"
