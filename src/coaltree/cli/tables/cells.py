"""Cells of a table as they stand in a file: what is a number, what is missing, what is a name."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
SUFFIXES = ".csv, .tsv, .txt, .parquet, .npy or .npz"

_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")

HEADINGS_OF_NAMES = frozenset({"", "id", "index", "leaf", "label", "name", "row", "unnamed: 0"})  # of a column of names


class Columns(NamedTuple):
    """A table as it stands in a file."""

    names: list[str]
    cells: list[Any]  # for each column a list of text, or an array of numbers
    place: Callable[[int], str]  # where a row is, such as "line 2"
    labels: Sequence[str] | None = None  # names of the rows that are stored beside the columns
    decimal: str = "."  # the decimal mark of text
    read_as: str = ""  # how it was understood, such as "separator ';', header in line 1"


class Problem(Exception):
    """What is wrong with the table in a file, and where in it; `tables.read` adds the name of the file."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.where: str = f", {where}" if where else ""


def number(cell: str, decimal: str = ".") -> float | None:
    """The cell as a finite float, or None."""
    if decimal != ".":
        if "." in cell:
            return None
        cell = cell.replace(decimal, ".")
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def is_missing(cell: str) -> bool:
    """Whether the cell is empty, or one of the words for it."""
    return cell.lower() in MISSING


def is_comma_number(cell: str) -> bool:
    """Whether the cell would be a number if the comma were a decimal mark."""
    return bool(_COMMA_NUMBER.fullmatch(cell))


def looks_like_a_number(cell: str) -> bool:
    """Whether the cell is a number with either decimal mark, or with separators of thousands."""
    return number(cell) is not None or is_comma_number(cell) or bool(_THOUSANDS.fullmatch(cell))


def is_name(cell: str) -> bool:
    """Whether the cell can only be a name: it has a letter; $1, 10 %, 2020-01-31, 1e5 and true are values."""
    return any(letter.isalpha() for letter in cell) and number(cell) is None and cell.lower() not in ("true", "false")


def is_text(cells: Sequence[str], decimal: str) -> bool:
    """Whether most cells are not even meant to be numbers."""
    observed = [cell for cell in cells if not is_missing(cell)]
    strange = sum(number(cell, decimal) is None and not looks_like_a_number(cell) for cell in observed)
    return 2 * strange > len(observed)


def advice_for(cell: str, decimal: str) -> str:
    """What to do about a cell that is no number."""
    if decimal == "," and "." in cell:
        return "with --decimal , a number has no point; remove separators of thousands"
    if _THOUSANDS.fullmatch(cell):
        return "remove separators of thousands, or give --decimal , if the comma is a decimal mark"
    if is_comma_number(cell):
        return "give --decimal , if the comma is a decimal mark, or --separator , if it separates cells"
    if cell.strip("+-").lower() in ("inf", "infinity"):
        return "values must be finite, and missing ones empty cells"
    return "correct it, or leave the cell empty if the value is missing"


def short(cell: str) -> str:
    """A cell in a message."""
    return repr(cell if len(cell) <= 30 else cell[:29] + "…")
