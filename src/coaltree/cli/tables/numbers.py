"""Numbers as people write them: plain, yes and no, per cent, money, thousands set apart, dates.

A column is read in one of these ways only where every cell that is not missing is written so. 1,234 may be a number
with thousands or, in other countries, with three decimals: a column in which every cell looks so is refused.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
YES_NO = ({"yes": 1.0, "no": 0.0}, {"y": 1.0, "n": 0.0}, {"true": 1.0, "false": 0.0}, {"t": 1.0, "f": 0.0})
_BLANKS = "' ’\u00a0\u202f"  # that set thousands apart, beside the comma or the point
_AMBIGUOUS = re.compile(r"[+-]?\d{1,3}[.,]\d{3}|[+-]?\d{4,}")
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
_DATE = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([ T][\d:.]+)?|\d{1,2}\.\d{1,2}\.\d{4}")

Parse = Callable[[str], float | None]


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


def looks_like_a_number(cell: str) -> bool:
    """Whether the cell is a number with either decimal mark, or with thousands set apart."""
    return number(cell) is not None or bool(_COMMA_NUMBER.fullmatch(cell))


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
    plain = {cell: value for cell in observed if (value := number(cell, decimal)) is not None}
    return np.array([plain.get(cell, math.nan) for cell in cells], dtype=float), ""


def advice_for(cell: str, decimal: str) -> str:
    """What to do about a cell that is not a number."""
    if decimal == "," and "." in cell:
        return "with --decimal , a number has no point"
    if _COMMA_NUMBER.fullmatch(cell):
        return "give --decimal , if the comma is a decimal mark, or remove it if it sets thousands apart"
    if cell.strip("+-").lower() in ("inf", "infinity"):
        return "values must be finite, and missing ones empty cells"
    return "correct it, or leave the cell empty if the value is missing"


def _ways(observed: set[str], decimal: str) -> Iterator[tuple[str, Parse]]:
    """Each way to write numbers in words, and what reads a cell that is written so."""
    yield "", lambda cell: number(cell, decimal)
    for words in YES_NO:
        yes, no = words
        yield f"{yes} as 1, {no} as 0", partial(_word, words=words)
    yield "per cent", lambda cell: number(cell[:-1].rstrip(), decimal) if cell.endswith("%") else None
    for mark in "$€£¥₹":
        yield f"amounts in {mark}", partial(_amount, mark=mark, decimal=decimal)
    if not all(map(_AMBIGUOUS.fullmatch, observed)):
        yield "thousands set apart", lambda cell: _grouped(cell, decimal)
    yield "dates as days since 1970-01-01", _days


def _word(cell: str, words: Mapping[str, float]) -> float | None:
    return words.get(cell.lower())


def _grouped(cell: str, decimal: str) -> float | None:
    """The number in 1,234.5 or 1 234 (with a decimal comma 1.234,5), or without thousands."""
    point, mark = re.escape(decimal), "." if decimal == "," else ","
    if re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}([{mark}{_BLANKS}]\d{{3}})+({point}\d*)?", cell):
        cell = re.sub(f"[{mark}{_BLANKS}]", "", cell)
    return number(cell, decimal)


def _amount(cell: str, mark: str, decimal: str) -> float | None:
    """The amount in $12, -$12, ($12) or 12 €."""
    is_negative = cell.startswith("(") and cell.endswith(")")
    sign, before, amount, after = re.fullmatch(
        rf"([+-]?)\s*({re.escape(mark)}?)\s*(.*?)\s*({re.escape(mark)}?)",
        cell[1:-1] if is_negative else cell,
        re.DOTALL,
    ).groups()  # type: ignore[union-attr]  # which every text matches
    if bool(before) == bool(after):
        return None
    return _grouped(f"-{amount}" if is_negative or sign == "-" else amount, decimal)


def _days(cell: str) -> float | None:
    """A date as days since 1970-01-01, so that tables that are read apart agree."""
    import pandas

    if not is_date(cell):
        return None
    try:
        moment = pandas.to_datetime(cell.replace("/", "-"), dayfirst="." in cell[:3])
    except (ValueError, OverflowError):  # the 31st of February
        return None
    return (moment - pandas.Timestamp("1970-01-01")) / pandas.Timedelta(days=1)
