"""Tables in text files, by one rule that can be told in a few lines (docs/data.md tells it to users).

Separator   Of comma, semicolon and tab the one that cuts all lines into equally many cells; of several, the one that
            leaves more numbers. A .tsv file has tabs.
Header      A first line with text beyond its first cell is the header, and so is one whose first cell is empty or
            a heading of names (name, id, …). A first line of whole numbers could be either, and is refused until
            --header or --no-header is given. Any other first line is a row.
Decimals    A point, or what --decimal says; never guessed.
"""

import csv
import io
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ..._runtime.memory import require_memory
from .cells import HEADINGS_OF_NAMES, SUFFIXES, Columns, Problem, is_missing, looks_like_a_number, number

SEPARATOR_OF = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}  # None: to be detected
_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
_BYTES_A_BYTE = 15  # of memory, for the cells of a file as Python's strings


class Dialect(NamedTuple):
    """What the user says about a text file; None is found by the rule."""

    separator: str | None = None
    decimal: str | None = None
    header: bool | None = None


def read_text(path: Path, dialect: Dialect) -> Columns:
    """Read a text file into columns of text."""
    require_memory(_BYTES_A_BYTE * path.stat().st_size, f"reading {path.name}", "save the table as Parquet or .npy")
    text = _decoded(path)
    decimal = _checked_decimal(dialect.decimal)
    separator = _checked_separator(dialect.separator, decimal) or SEPARATOR_OF[path.suffix.lower()]
    separator = separator or _separator_of(text, decimal)
    rows, lines = _split(text, separator)
    if not rows:
        raise Problem("the file is empty; expected rows and columns.")
    has_header = _has_header(rows, decimal) if dialect.header is None else dialect.header
    names = None
    if has_header:
        names, rows, header_line, lines = rows[0], rows[1:], lines[0], lines[1:]
        if not rows:
            raise Problem("the file has a header but no rows below it.")
        if _names_lack_a_heading(names, rows):
            names = ["", *names]
    width = len(rows[0] if names is None else names)
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            first = f"line {lines[0]}" if names is None else "the header"
            cells = f"{width} cell{'s' if width > 1 else ''}"
            raise Problem(f"{first} has {cells}, but this line has {len(row)}.", f"line {line}")
    cells = [list(column) for column in zip(*rows, strict=True)]
    if names is None:
        names = [str(j) for j in range(width)]
        header = "no header"
    else:  # lines that end in a separator have a last column without name and content
        kept = [(name, column) for name, column in zip(names, cells, strict=True) if name or any(column)]
        names, cells = [name for name, _ in kept], [column for _, column in kept]
        header = f"header in line {header_line}"
    mark = f"separator {_spoken(separator)}, " if separator else ""
    return Columns(names, cells, lambda i: f"line {lines[i]}", None, decimal, f"{mark}{header}")


def _decoded(path):
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise Problem("not UTF-8 text; save the file as UTF-8.", f"line {line}") from None
    if "\0" in text:
        raise Problem(f"not a text file, it contains zero bytes; expected {SUFFIXES}.")
    return text


def _checked_decimal(decimal):
    if decimal not in (None, ".", ","):
        raise Problem(f"--decimal must be a point or a comma, not {decimal!r}.")
    return decimal or "."


def _checked_separator(separator, decimal):
    mark = _WORDS.get(separator, separator)
    if mark is not None and (len(mark) != 1 or mark in '"\r\n' or mark.isalnum()):
        raise Problem(f"--separator must be one mark such as ; or the word tab or space, not {separator!r}.")
    if mark == decimal:
        raise Problem(f"--separator and --decimal cannot both be {mark!r}.")
    return mark


def _spoken(separator):
    return {"\t": "tab", " ": "space"}.get(separator, f"'{separator}'")


def _names_lack_a_heading(names, rows):
    """Whether the header is one cell short, as R writes it; names that are numbers must then be R's 1, 2, 3, …"""
    if not all(len(row) == len(names) + 1 for row in rows):
        return False
    first = [row[0] for row in rows]
    if not any(looks_like_a_number(cell) for cell in first):
        return True
    return len(names) > 1 and first == [str(i + 1) for i in range(len(first))]


def _split(text, separator):
    """Rows of cells, empty lines left out, and the number of the line that each ends in."""
    if separator == " ":  # any number of blanks is one
        text = "\n".join(line.strip(" ") for line in text.split("\n"))
    rows, lines = [], []
    reader = _reader(text, separator)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append([cell.strip() for cell in row])
                lines.append(reader.line_num)
    except csv.Error as error:
        raise Problem(f"{error}.", f"line {reader.line_num}") from None
    return rows, lines


def _reader(text, separator, strict=False):
    # Without a separator a line is one cell: no text has this mark.
    mark, is_space = separator or "\x1f", separator == " "
    return csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=is_space, strict=strict)


def _separator_of(text, decimal):
    """The separator that fits best; None for a single column. Two that fit equally well are refused."""
    marks = [mark for mark in ",;\t" if mark != decimal]
    fits = {mark: _fit(text, mark, decimal) for mark in marks}
    best = max(fits.values())
    if best[0] == 0 and _is_one_column(text):
        return None
    if best == (0, 0) and _fit(text, " ", decimal)[1] > 1:
        raise Problem("the cells seem to be separated by blanks; if so, give --separator space.")
    found = [mark for mark in marks if fits[mark] == best]
    if len(found) > 1 and best[0] > 0:
        ways = " or ".join(_spoken(mark) for mark in found)
        raise Problem(f"the cells may be separated by {ways}; say which with --separator.")
    return found[0]


def _fit(text: str, separator: str, decimal: str, most: int = 20) -> tuple[int, int]:
    """How well a separator explains the first lines: whether they have equally many cells, and how many numbers."""
    try:
        rows = [row for row in islice(_reader(text, separator, strict=True), most) if row]
    except csv.Error:  # such as text right after a closing quote, where another separator would be
        return 0, 0
    others = rows[1:] or rows
    widths = {len(row) for row in others}
    fit = 0
    if len(widths) == 1 and max(widths) > 1:
        fit = 2 if len(rows[0]) in widths else int(_names_lack_a_heading(rows[0], others))
    cells = [cell.strip() for row in rows[1:] for cell in row]
    return fit, sum(number(cell, decimal) is not None or looks_like_a_number(cell) for cell in cells)


def _is_one_column(text, most=20):
    """Whether each line is a single number, be it one with a decimal comma; the first may be a word instead."""
    lines = [line.strip() for line in islice(text.splitlines(), most) if line.strip()]
    are_numbers = [looks_like_a_number(line) or is_missing(line) for line in lines]
    return all(are_numbers[1:]) and (not lines or are_numbers[0] or not set(",;\t") & set(lines[0]))


def _has_header(rows, decimal):
    """Whether the first line names the columns, by the rule above."""
    first, *beyond = rows[0]
    named = beyond if beyond and number(first, decimal) is None else rows[0]
    numbers = [number(cell, decimal) for cell in named]
    if any(value is None and not is_missing(cell) for value, cell in zip(numbers, named, strict=True)):
        return True
    could_be_names = all(value is not None and value % 1 == 0 for value in numbers) and len(set(named)) == len(named)
    if first and first.lower() in HEADINGS_OF_NAMES:
        return True
    if first == "":
        return could_be_names or all(map(is_missing, named))
    if could_be_names and len(rows) > 1:
        shown = ", ".join(rows[0][:4]) + (", …" if len(rows[0]) > 4 else "")
        raise Problem(
            f"its numbers ({shown}) may be names of columns or a row of data; say which with --header or --no-header.",
            "line 1",
        )
    return False
