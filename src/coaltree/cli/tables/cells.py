"""Cells of a table as text: which are numbers, missing values or names."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import pandas

from ..._runtime.formatting import shortened

MISSING_WORDS = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
NAME_HEADINGS = frozenset({"", "id", "index", "leaf", "label", "name", "row", "unnamed: 0"})  # of a column of row names
SUFFIXES = ".csv, .tsv, .txt, .xlsx, .parquet, .npy or .npz"
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


class RawTable(NamedTuple):
    """A table as it is in a file: columns of text or numbers. An index other than a range names the rows."""

    frame: pandas.DataFrame
    lines: Sequence[int]  # number of each row in the file
    unit: str = "row"  # what is numbered: line or row
    decimal: str = "."  # decimal mark of text cells
    read_as: str = ""  # how the file was read, such as "separator ';', header in line 1"

    def where(self, row: int) -> str:
        return f"{self.unit} {self.lines[row]}"


class TableError(Exception):
    """What is wrong with a table, and where in its file; `read_file` adds the name of the file."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.where: str = f", {where}" if where else ""


def number(cell: str, decimal: str = ".") -> float | None:
    """The cell as a finite float, or None."""
    if decimal != "." and "." in cell:
        return None
    try:
        value = float(cell.replace(decimal, "."))
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in cell else None


def is_missing(cell: str) -> bool:
    """Whether the cell is empty, or a word for a missing value."""
    return cell.lower() in MISSING_WORDS


def looks_like_a_number(cell: str) -> bool:
    """Whether the cell is a number with either decimal mark, or with thousands separators."""
    return number(cell) is not None or bool(_COMMA_NUMBER.fullmatch(cell) or _THOUSANDS.fullmatch(cell))


def is_name(cell: str) -> bool:
    """Whether the cell can only be a name: it has a letter; $1, 10 %, 2020-01-31, 1e5 and true are values."""
    return any(map(str.isalpha, cell)) and number(cell) is None and cell.lower() not in ("true", "false")


def is_text(cells: Sequence[str], decimal: str) -> bool:
    """Whether most cells do not even look like numbers."""
    observed = [cell for cell in cells if not is_missing(cell)]
    return 2 * sum(number(cell, decimal) is None and not looks_like_a_number(cell) for cell in observed) > len(observed)


def advice_for(cell: str, decimal: str) -> str:
    """What to do about a cell that is not a number."""
    if decimal == "," and "." in cell:
        return "with --decimal , a number has no point; remove thousands separators"
    if _THOUSANDS.fullmatch(cell):
        return "remove thousands separators, or give --decimal , if the comma is a decimal mark"
    if _COMMA_NUMBER.fullmatch(cell):
        return "give --decimal , if the comma is a decimal mark, or --separator , if it separates cells"
    if cell.strip("+-").lower() in ("inf", "infinity"):
        return "values must be finite, and missing ones empty cells"
    return "correct it, or leave the cell empty if the value is missing"


def quoted(cell: str) -> str:
    """A cell or a column name in a message."""
    return repr(cell) if len(cell) <= 30 else repr(f"{cell[:29]}…")


def shell_quoted(name: str) -> str:
    """A name as it is written in a shell."""
    name = shortened(name)
    return name if re.fullmatch(r"[\w.@%+=:,/-]+", name) and not name.startswith("-") else f"'{name}'"
