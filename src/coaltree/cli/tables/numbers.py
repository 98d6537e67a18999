"""Numbers as people write them: plain, yes and no, per cent, money, thousands set apart, dates.

A column is read in one of these ways only where every cell that is not missing is written so. 1,234 may be a number
with thousands or, in other countries, with three decimals: a column in which every cell may be either is refused.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pandas

MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
YES_NO = (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"))
_BLANKS = "' ’\u00a0\u202f"  # that set thousands apart, beside the comma or the point
_AMBIGUOUS = re.compile(r"[+-]?\d{1,3}[.,]\d{3}|[+-]?\d{4,}")
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T][\d:.]+)?|\d{1,2}\.\d{1,2}\.\d{4}")


def is_missing(cell: str) -> bool:
    """Whether the cell is empty, or a word for a missing value."""
    return cell.lower() in MISSING_WORDS


def number(cell: str, decimal: str = ".") -> float | None:
    """The cell as a finite float, or None."""
    if decimal != "." and "." in cell:
        return None
    try:
        value = float(cell.replace(decimal, "."))
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def has_comma(cell: str) -> bool:
    """Whether the cell is a number with a decimal comma, or with commas that set thousands apart."""
    return bool(_COMMA_NUMBER.fullmatch(cell))


def looks_like_a_number(cell: str) -> bool:
    """Whether the cell is a number with either decimal mark, or with thousands set apart."""
    return number(cell) is not None or has_comma(cell)


def is_date(cell: str) -> bool:
    """Whether the cell is written like 2024-01-31 or 31.1.2024."""
    return bool(_DATE.fullmatch(cell))


def read_numbers(cells: Sequence[str], decimal: str) -> tuple[np.ndarray, str]:
    """The numbers of a column, NaN where there is none, and how they are written where that is not the plain way."""
    observed = {cell for cell in cells if not is_missing(cell)}
    for how, parse in _ways(observed, decimal):
        values = {cell: parse(cell) for cell in observed}
        if None not in values.values():
            return np.array([values.get(cell, math.nan) for cell in cells], dtype=float), how
    plain = [number(cell, decimal) for cell in cells]
    return np.array([math.nan if value is None else value for value in plain]), ""


def _ways(observed: set[str], decimal: str) -> Iterator[tuple[str, Callable[[str], float | None]]]:
    """Each way to write numbers, and the function that reads a cell written so."""
    yield "", partial(number, decimal=decimal)
    for yes, no in YES_NO:
        yield f"{yes} as 1, {no} as 0", partial(_word, yes, no)
    for mark in "%$€£¥₹":
        yield f"numbers with {mark}", partial(_marked, mark, decimal)
    if not all(map(_AMBIGUOUS.fullmatch, observed)):
        yield "thousands set apart", partial(_grouped, decimal)
    yield "dates as days since 1970-01-01", _days


def _word(yes: str, no: str, cell: str) -> float | None:
    return {yes: 1.0, no: 0.0}.get(cell.lower())


def _marked(mark: str, decimal: str, cell: str) -> float | None:
    """The number in $12, -$12, 12 € or 12 %."""
    sign = cell[:1] if cell.startswith(("+", "-")) else ""
    marked = cell.removeprefix(sign)
    amount = marked.removesuffix(mark) if marked.endswith(mark) else marked.removeprefix(mark)
    return None if amount == marked else _grouped(decimal, sign + amount.strip())


def _grouped(decimal: str, cell: str) -> float | None:
    """The number in 1,234.5 or 1 234 (with a decimal comma 1.234,5), or without thousands."""
    point, mark = re.escape(decimal), "." if decimal == "," else ","
    if re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}([{mark}{_BLANKS}]\d{{3}})+({point}\d*)?", cell):
        cell = re.sub(f"[{mark}{_BLANKS}]", "", cell)
    return number(cell, decimal)


def _days(cell: str) -> float | None:
    """A date as days since 1970-01-01, so that tables that are read apart agree."""
    if not is_date(cell):
        return None
    moment = pandas.to_datetime(cell.replace("/", "-"), dayfirst="." in cell[:3], errors="coerce")
    return None if pandas.isna(moment) else (moment - pandas.Timestamp("1970-01-01")) / pandas.Timedelta(days=1)
