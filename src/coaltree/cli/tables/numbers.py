"""Numbers as tables have them: plain, or yes and no where every cell of a column that is not missing is one of them."""

import math
import re
from collections.abc import Sequence

import numpy as np

MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
YES_NO = (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"))
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
    """The numbers of a column, NaN where there is none, and in words how yes and no were read."""
    observed = {cell.lower() for cell in cells if not is_missing(cell)}
    for yes, no in YES_NO:
        if observed and observed <= {yes, no}:
            values = {yes: 1.0, no: 0.0}
            return np.array([values.get(cell.lower(), math.nan) for cell in cells]), f"{yes} as 1, {no} as 0"
    numbers = [number(cell, decimal) for cell in cells]
    return np.array([math.nan if value is None else value for value in numbers], dtype=float), ""
