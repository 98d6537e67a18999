"""Numbers as people write them: plain, yes and no, per cent, money, thousands set apart, dates.

A column is read in one of these ways only where every cell that is not missing is written so. One that can be read in
two ways (1,234 may have three decimals; days and months may change places) is refused, until --decimal says how.
"""

import math
import re
from collections.abc import Collection, Sequence

import numpy as np
import pandas

MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
YES_NO = (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"))
MARKS = "%$€£¥₹"
DATES = {r"\d{4}-\d{1,2}-\d{1,2}([ T][\d:.]+)?": None, r"\d{1,2}\.\d{1,2}\.\d{4}": "%d.%m.%Y"}  # None: ISO 8601
_BLANKS = "' ’\u00a0\u202f"  # that set thousands apart, beside the comma or the point
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")  # thousands, or three decimals
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


def is_missing(cell: str) -> bool:
    """Whether the cell is empty, or a word for a missing value."""
    return cell.lower() in MISSING_WORDS


def number(cell: str, decimal: str | None = None) -> float | None:
    """The cell as a finite float, or None."""
    if decimal == "," and "." in cell:
        return None
    try:
        value = float(cell.replace(decimal or ".", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def looks_like_a_number(cell: str) -> bool:
    """Whether the cell is a number with either decimal mark, or with thousands set apart."""
    return number(cell) is not None or bool(_COMMA_NUMBER.fullmatch(cell))


def is_date(cell: str) -> bool:
    """Whether the cell is written like 2024-01-31 or 31.1.2024."""
    return any(re.fullmatch(pattern, cell.replace("/", "-")) for pattern in DATES)


def advice(cell: str) -> str | None:
    """What to do about a cell that may be read in two ways."""
    if is_date(cell):
        return "dates must exist, and be written like 2024-01-31 where a day may be a month"
    marks = [mark for mark in ",." if mark in cell and (_EITHER.search(cell) or _COMMA_NUMBER.fullmatch(cell))]
    if not marks:
        return None
    mark, name, other = (",", "comma", ".") if marks[0] == "," else (".", "point", ",")
    return f"give --decimal {mark} if the {name} is a decimal mark, or --decimal {other} if it sets thousands apart"


def read_numbers(cells: Sequence[str], decimal: str | None) -> tuple[np.ndarray, str]:
    """The numbers of a column, NaN where there is none, and how they are written where that is not the plain way."""
    observed = {cell for cell in cells if not is_missing(cell)}
    values, how = _read(observed, decimal)
    return np.array([values.get(cell, math.nan) for cell in cells], dtype=float), how


def _read(observed: set[str], decimal: str | None) -> tuple[dict[str, float | None], str]:
    for mark in ("", *MARKS):
        texts = [_without(mark, cell) for cell in observed]
        if decimal is None and _is_either(texts):
            return {cell: None if _EITHER.search(cell) else number(cell) for cell in observed}, ""
        values = {cell: _grouped(text, decimal) for cell, text in zip(observed, texts, strict=True)}
        if None not in values.values():
            are_plain = all(number(cell, decimal) is not None for cell in observed)
            return values, f"numbers with {mark}" if mark else "" if are_plain else "thousands set apart"
    for yes, no in YES_NO:
        if observed and {cell.lower() for cell in observed} <= {yes, no}:
            return {cell: float(cell.lower() == yes) for cell in observed}, f"{yes} as 1, {no} as 0"
    days = _days([cell.replace("/", "-") for cell in observed])
    if days is not None:
        return dict(zip(observed, days, strict=True)), "dates as days since 1970-01-01"
    return {cell: number(cell, decimal) for cell in observed}, ""


def _without(mark: str, cell: str) -> str:
    """The number in $12, -$12, 12 € or 12 %; no number without the mark."""
    match = re.fullmatch(rf"([+-]?)(?:(.*?)\s*{re.escape(mark)}|{re.escape(mark)}\s*(.*))", cell)
    return match[1] + (match[2] or match[3] or "") if match else ""


def _is_either(cells: Collection[str]) -> bool:
    """Whether no cell tells a decimal mark from one of thousands; a point is one, but beside numbers above 999."""
    either = [cell for cell in cells if _EITHER.fullmatch(cell)]
    others = [cell.lstrip("+-") for cell in cells if not _EITHER.fullmatch(cell)]
    are_whole, has_large = all(map(str.isdecimal, others)), any(len(cell) > 3 for cell in others)
    return bool(either) and are_whole and (has_large or ("," in "".join(either) and not others))


def _grouped(cell: str, decimal: str | None) -> float | None:
    """The number in 1,234.5 or 1 234 (with a decimal comma 1.234,5), or without thousands."""
    point, mark = re.escape(decimal or "."), "." if decimal == "," else ","
    if re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}([{mark}{_BLANKS}]\d{{3}})+({point}\d*)?", cell):
        cell = re.sub(f"[{mark}{_BLANKS}]", "", cell)
    return number(cell, decimal)


def _days(cells: Sequence[str]) -> list[float] | None:
    """Dates as days since 1970-01-01, so that tables that are read apart agree; None where months may be days."""
    for pattern, form in DATES.items():
        if cells and all(re.fullmatch(pattern, cell) for cell in cells):
            moments = pandas.to_datetime(pandas.Series(cells), format=form or "ISO8601", errors="coerce")
            if not moments.isna().any() and (form is None or moments.dt.day.max() > 12):
                return ((moments - pandas.Timestamp("1970-01-01")) / pandas.Timedelta(days=1)).tolist()
    return None
