"""Read text files, by a rule that docs/guides/data.md tells users.

Separator   Of comma, semicolon and tab the one that splits all lines into equally many cells; of several, the one that
            leaves more numbers. A .tsv file has tabs.
Header      A first line with text beyond its first cell is the header, and so is one whose first cell is empty or
            a heading of names (name, id, …). A first line of whole numbers could be either, and is refused until
            --header or --no-header is given. Any other first line is a row.
Decimals    A point, or what --decimal says; never guessed.
Quotes      A quoted cell ends in its line, unless --multiline is given: a quote that is never closed would otherwise
            swallow rows.

Lines are split by the csv module: pandas fills short lines up silently, and does not know the number of a row's line.
"""

import csv
import io
from itertools import islice
from pathlib import Path
from typing import Any

import pandas

from ..._runtime.formatting import count
from ..._runtime.memory import require_memory
from .cells import NAME_HEADINGS, SUFFIXES, RawTable, TableError, is_missing, looks_like_a_number, number, quoted

SEPARATORS = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}  # by suffix; None: to be found
MEMORY_PER_BYTE = 15  # bytes of memory for the cells of a file as strings
MAX_SNIFFED_LINES = 20
_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
_SPOKEN = {"\t": "tab", " ": "space", None: ""}

Rows = list[list[str]]


def read_text(
    path: Path, separator: str | None, decimal: str | None, header: bool | None, multiline: bool = False
) -> RawTable:
    """Read a text file; what is None is found by the rule above."""
    require_memory(MEMORY_PER_BYTE * path.stat().st_size, f"reading {path.name}", "save the table as Parquet or .npy")
    if decimal not in (None, ".", ","):
        raise TableError(f"--decimal must be a point or a comma, not {decimal!r}.")
    decimal, mark = decimal or ".", SEPARATORS[path.suffix.lower()]
    if separator is not None:
        mark = _WORDS.get(separator, separator)
        if len(mark) != 1 or mark in '"\r\n' or mark.isalnum():
            raise TableError(f"--separator must be one mark such as ; or the word tab or space, not {separator!r}.")
        if mark == decimal:
            raise TableError(f"--separator and --decimal cannot both be {mark!r}.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TableError("not UTF-8 text; save the file as UTF-8.", f"line {line}") from None
    if "\0" in text:
        raise TableError(f"not a text file, it contains zero bytes; expected {SUFFIXES}.")
    mark = mark or _find_separator(text, decimal)
    rows, lines, n_lines, n_empty = _split(text, mark, multiline)
    raw = table_of_rows(rows, lines, "line", decimal, header)
    separated = f"separator {_SPOKEN.get(mark, repr(mark))}, " if mark else ""
    skipped = f" ({n_empty:,} empty)" if n_empty else ""
    return raw._replace(read_as=f"{separated}{raw.read_as}, {count(n_lines, 'line')}{skipped}")


def table_of_rows(rows: Rows, lines: list[int], unit: str, decimal: str, header: bool | None) -> RawTable:
    """Make a table of rows of text, the first of which may be the header."""
    if not rows:
        raise TableError("the file is empty; expected rows and columns.")
    first = f"{unit} {lines[0]}"
    if header is None and _is_title(rows):
        why = f"{quoted(rows[0][0])} looks like a title above the table"
        raise TableError(f"{why}; remove this {unit}, so that the first one has the names of the columns.", first)
    names, read_as = [str(j) for j in range(len(rows[0]))], "no header"
    has_header = _has_header(rows, decimal, first) if header is None else header
    if has_header:
        names, first, read_as, rows, lines = rows[0], "the header", f"header in {first}", rows[1:], lines[1:]
        if not rows:
            raise TableError("the file has a header but no rows below it.")
        if _lacks_heading_of_names(names, rows):
            names = ["", *names]
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(names):
            cells = f"{len(names)} cell{'s' if len(names) > 1 else ''}"
            raise TableError(f"{first} has {cells}, but this {unit} has {len(row)}.", f"{unit} {line}")
    frame = pandas.DataFrame(rows, columns=names, dtype=object)
    if has_header:  # lines that end in a separator have a last column without name and content
        is_kept = [bool(name) or any(column) for name, column in frame.items()]
        frame = frame.loc[:, is_kept]
        n_empty = len(is_kept) - sum(is_kept)
        read_as += f", {count(n_empty, 'empty column')} skipped" if n_empty else ""
    return RawTable(frame, lines, unit, decimal, read_as)


def _is_title(rows: Rows) -> bool:
    """Whether the first line has one cell of text and the second several, none of which looks like a number."""
    if len(rows) < 3 or not rows[0][0] or any(rows[0][1:]) or looks_like_a_number(rows[0][0]):
        return False
    below = [cell for cell in rows[1] if cell]
    return len(below) > 1 and len(rows[1]) > 2 and not any(map(looks_like_a_number, below))


def _split(text: str, separator: str | None, multiline: bool) -> tuple[Rows, list[int], int, int]:
    """Rows of cells without empty lines, the number of the line that each ends in, and those of all and empty lines."""
    if separator == " ":  # any number of blanks is one
        text = "\n".join(line.strip(" ") for line in text.split("\n"))
    rows, lines, n_empty = [], [], 0
    reader, before = _reader(text, separator, strict=multiline), 0
    try:
        for row in reader:
            cells, first, before = [cell.strip() for cell in row], before + 1, reader.line_num
            if before > first and not multiline:
                why = f"a quote opens here and its cell goes on to line {before}"
                raise TableError(f"{why}; close it, or give --multiline if cells have line breaks.", f"line {first}")
            if any(cells):
                rows.append(cells)
                lines.append(reader.line_num)
            else:
                n_empty += 1
    except csv.Error as error:
        raise TableError(f"{error}.", f"line {reader.line_num}") from None
    return rows, lines, reader.line_num, n_empty


def _reader(text: str, separator: str | None, strict: bool = False) -> Any:
    mark = separator or "\x1f"  # which no text has: a line is one cell
    return csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=mark == " ", strict=strict)


def _find_separator(text: str, decimal: str) -> str | None:
    """The separator that fits best; None for a single column. Two that fit equally well are refused."""
    fits = {mark: _fit(text, mark, decimal) for mark in ",;\t" if mark != decimal}
    best = max(fits.values())
    if best[0] == 0 and _is_one_column(text):
        return None
    if best == (0, 0) and _fit(text, " ", decimal)[1] > 1:
        raise TableError("the cells seem to be separated by blanks; if so, give --separator space.")
    found = [mark for mark, fit in fits.items() if fit == best]
    if len(found) > 1 and best[0] > 0:
        ways = " or ".join(_SPOKEN.get(mark, repr(mark)) for mark in found)
        raise TableError(f"the cells may be separated by {ways}; say which with --separator.")
    return found[0]


def _fit(text: str, separator: str, decimal: str) -> tuple[int, int]:
    """How well a separator explains the first lines: whether they have equally many cells, and how many numbers."""
    try:
        rows = [row for row in islice(_reader(text, separator, strict=True), MAX_SNIFFED_LINES) if row]
    except csv.Error:  # such as text right after a closing quote, where another separator would be
        return 0, 0
    others = rows[1:] or rows
    widths = {len(row) for row in others}
    fit = 0
    if len(widths) == 1 and max(widths) > 1:
        fit = 2 if len(rows[0]) in widths else int(_lacks_heading_of_names(rows[0], others))
    cells = [cell.strip() for row in rows[1:] for cell in row]
    return fit, sum(number(cell, decimal) is not None or looks_like_a_number(cell) for cell in cells)


def _is_one_column(text: str) -> bool:
    """Whether each line is a single number, possibly with a decimal comma; the first may be a word instead."""
    lines = [line.strip() for line in islice(text.splitlines(), MAX_SNIFFED_LINES) if line.strip()]
    are_numbers = [looks_like_a_number(line) or is_missing(line) for line in lines]
    return all(are_numbers[1:]) and (not lines or are_numbers[0] or not set(",;\t") & set(lines[0]))


def _lacks_heading_of_names(names: list[str], rows: Rows) -> bool:
    """Whether the header is one cell short, as R writes it; names that are numbers must then be R's 1, 2, 3, …"""
    if any(len(row) != len(names) + 1 for row in rows):
        return False
    first = [row[0] for row in rows]
    is_count = len(names) > 1 and first == [str(i + 1) for i in range(len(first))]
    return is_count or not any(map(looks_like_a_number, first))


def _has_header(rows: Rows, decimal: str, where: str) -> bool:
    """Whether the first line names the columns, by the rule above."""
    first, *beyond = rows[0]
    named = beyond if beyond and number(first, decimal) is None else rows[0]
    numbers = [number(cell, decimal) for cell in named]
    if any(value is None and not is_missing(cell) for value, cell in zip(numbers, named, strict=True)):
        return True
    could_be_names = all(value is not None and value % 1 == 0 for value in numbers) and len(set(named)) == len(named)
    if first == "":
        return could_be_names or all(map(is_missing, named))
    if could_be_names and len(rows) > 1 and first.lower() not in NAME_HEADINGS:
        shown = ", ".join(rows[0][:4]) + (", …" if len(rows[0]) > 4 else "")
        which = f"its numbers ({shown}) may be names of columns or a row of data"
        raise TableError(f"{which}; say which with --header or --no-header.", where)
    return first.lower() in NAME_HEADINGS
