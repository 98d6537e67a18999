"""Read a table of numbers from a CSV, TSV, Parquet, .npy or .npz file.

Every format is first read into named columns of text or numbers (`Columns`), then one function takes the column that
names the rows and turns the others into numbers. A text file's separator and header, and the column of names, are
detected where they are not given. An empty cell, or one of `MISSING`, is a missing value; any other cell that is not a
number is refused with its line and column, so that no table is half understood.
"""

import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._runtime.text import some
from ..errors import InputError
from ..model.table import Table

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
SUFFIXES = ".csv, .tsv, .txt, .parquet, .npy or .npz"

_SEPARATOR_OF = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}  # None: to be detected
_HEADINGS_OF_NAMES = frozenset({"", "id", "index", "leaf", "label", "name", "row", "unnamed: 0"})
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Choice:
    """What the user says about a table; None is to be detected."""

    index: str | None = None  # the column that names the rows
    columns: tuple[str, ...] = ()  # to keep; empty for all
    drop: tuple[str, ...] = ()
    header: bool | None = None
    array: str | None = None  # which one of an .npz
    columns_from: str = "--columns"  # who asks for `columns`, for error messages


class Columns(NamedTuple):
    """A table as it stands in a file."""

    names: list[str]
    cells: list[Any]  # for each column a list of text, or an array of numbers
    place: Callable[[int], str]  # where a row is, such as "line 2"
    labels: Sequence[str] | None = None  # names of the rows that are stored beside the columns


_DETECT = Choice()


def read(path: Path, choice: Choice = _DETECT) -> Table:
    """Read the table in a file; the suffix gives the file type."""
    path = Path(path)
    kind = path.suffix.lower()
    if not path.exists():
        raise InputError(f"file not found: {path}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file ({SUFFIXES}).")
    try:
        if kind in _SEPARATOR_OF:
            columns = _read_text(path, _SEPARATOR_OF[kind], choice.header)
        elif kind in (".parquet", ".pq"):
            columns = _read_parquet(path)
        elif kind in (".npy", ".npz"):
            columns = _read_arrays(path, choice.array)
        else:
            raise InputError(f"{path.name}: unsupported file type; expected {SUFFIXES}.")
        return _table(columns, choice)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except _Problem as problem:
        raise InputError(f"{path.name}{problem.where}: {problem}") from None


class _Problem(Exception):
    """What is wrong with the table in a file, and where in it; `read` adds the name of the file."""

    def __init__(self, message, where=""):
        super().__init__(message)
        self.where = f", {where}" if where else ""


# --- from columns to a table ----------------------------------------------------------------------------------------


def _table(columns: Columns, choice) -> Table:
    names = [name or f"column {j + 1}" for j, name in enumerate(columns.names)]
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise _Problem(f"{count} columns are called {name!r}; column names must be unique.")
    index = _find(names, choice.index, "--index") if choice.index is not None else _index_of(columns, choice)
    kept = [_find(names, name, choice.columns_from) for name in choice.columns] or range(len(names))
    dropped = {index, *(_find(names, name, "--drop") for name in choice.drop)}
    kept = [j for j in kept if j not in dropped]
    if not kept:
        raise _Problem(f"no column of numbers is left; the columns are {some(names)}.")
    values = _values(names, columns, kept)
    if index is not None:
        labels = [f"{cell:.17g}" if isinstance(cell, float) else str(cell) for cell in columns.cells[index]]
        _check_labels(names[index], labels, columns.place)
    else:
        labels = [str(i) for i in range(len(values))] if columns.labels is None else columns.labels
    return Table(values, tuple(labels), tuple(names[j] for j in kept))


def _find(names, name, option):
    if name not in names:
        raise _Problem(f"there is no column {name!r} ({option}); the columns are {some(names)}.")
    return names.index(name)


def _index_of(columns, choice):
    """The first column names the rows if it is called so, or if it is text and no two rows have the same."""
    name, cells = columns.names[0], columns.cells[0]
    if columns.labels is not None or len(columns.names) == 1 or name in (*choice.drop, *choice.columns):
        return None
    if name.lower() in _HEADINGS_OF_NAMES:
        return 0
    return 0 if not isinstance(cells, np.ndarray) and _is_text(cells) and _is_unique(cells) else None


def _check_labels(name, labels, place):
    drop = f"or leave the column out with --drop {_quoted(name)}."
    label, count = Counter(labels).most_common(1)[0]
    if count > 1:
        first, second = [place(i) for i, one in enumerate(labels) if one == label][:2]
        raise _Problem(
            f"column {name!r} names the rows, but {label!r} is in {first} and again in {second}; make the names "
            f"unique, choose another column with --index, {drop}"
        )
    if "" in labels:
        raise _Problem(f"the row has no name in column {name!r}; give it one, {drop}", place(labels.index("")))


def _values(names, columns, kept):
    """The columns `kept` as floats, NaN where a value is missing."""
    values = np.empty((len(columns.cells[0]), len(kept)))
    wrong = []  # (column, row) of every cell that is neither a number nor missing
    for at, j in enumerate(kept):
        cells = columns.cells[j]
        numbers = cells if isinstance(cells, np.ndarray) else [_number(cell) for cell in cells]
        wrong += [(j, i) for i, number in enumerate(numbers) if number is None and not _is_missing(cells[i])]
        values[:, at] = [np.nan if number is None else number for number in numbers]
    text = [j for j in dict.fromkeys(j for j, _ in wrong) if _is_text(columns.cells[j])]
    if text:
        j, row = next((j, i) for j, i in wrong if j == text[0])
        which = (
            f"column {names[j]!r} contains" if len(text) == 1 else f"columns {some([names[j] for j in text])} contain"
        )
        drops = " ".join(f"--drop {_quoted(names[j])}" for j in text)
        naming = f", or use {names[j]!r} as row names with --index {_quoted(names[j])}"
        raise _Problem(
            f"{which} text ({_short(columns.cells[j][row])} in {columns.place(row)}); leave "
            f"{'it' if len(text) == 1 else 'them'} out with {drops}{naming if _is_unique(columns.cells[j]) else ''}."
        )
    if wrong:
        (j, row), cell = wrong[0], columns.cells[wrong[0][0]][wrong[0][1]]
        more = f" (one of {len(wrong)} such cells)" if len(wrong) > 1 else ""
        advice = "correct it, or leave the cell empty if the value is missing"
        if _DECIMAL_COMMA.fullmatch(cell):
            advice = "write decimals with a point"
        elif cell.strip("+-").lower() in ("inf", "infinity"):
            advice = "values must be finite, and missing ones empty cells"
        raise _Problem(f"{_short(cell)} is not a number{more}; {advice}.", f"{columns.place(row)}, column {names[j]!r}")
    return values


def _number(cell):
    """The cell as a finite float, or None."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in cell else None


def _is_missing(cell):
    return cell.lower() in MISSING


def _is_text(cells):
    """Whether most cells are not numbers; one with a decimal comma is meant to be a number."""
    observed = [cell for cell in cells if not _is_missing(cell)]
    return 2 * sum(_number(cell) is None and not _DECIMAL_COMMA.fullmatch(cell) for cell in observed) > len(observed)


def _is_unique(cells):
    return len(set(cells)) == len(cells) and "" not in cells


def _short(cell):
    return repr(cell if len(cell) <= 30 else cell[:29] + "…")


def _quoted(name):
    """A name as it is written in a shell."""
    return name if re.fullmatch(r"[\w.@%+=:,/-]+", name) and not name.startswith("-") else f"'{name}'"


# --- text -----------------------------------------------------------------------------------------------------------


def _read_text(path, separator, header) -> Columns:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _Problem("not UTF-8 text; save the file as UTF-8.", f"line {line}") from None
    if "\0" in text:
        raise _Problem(f"not a text file, it contains zero bytes; expected {SUFFIXES}.")
    rows, lines = _split(text, separator or max(",;\t", key=lambda mark: _fits(text, mark)))
    if not rows:
        raise _Problem("the file is empty; expected rows and columns.")
    names = None
    if header if header is not None else _has_header(rows):
        names, rows, lines = rows[0], rows[1:], lines[1:]
        if not rows:
            raise _Problem("the file has a header but no rows below it.")
        if all(len(row) == len(names) + 1 for row in rows):  # as R writes: the column of row names has no name
            names = ["", *names]
    width = len(rows[0] if names is None else names)
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            first = f"line {lines[0]}" if names is None else "the header"
            raise _Problem(f"{first} has {width} cells, but this line has {len(row)}.", f"line {line}")
    cells = [list(column) for column in zip(*rows, strict=True)]
    if names is None:
        names = [str(j) for j in range(width)]
    else:  # lines that end in a separator have a last column without name and content
        names, cells = map(list, zip(*((a, b) for a, b in zip(names, cells, strict=True) if a or any(b)), strict=True))
    return Columns(names, cells, lambda i: f"line {lines[i]}")


def _split(text, separator):
    """Rows of cells, empty lines left out, and the number of the line that each ends in."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows, lines = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append([cell.strip() for cell in row])
                lines.append(reader.line_num)
    except csv.Error as error:
        raise _Problem(f"{error}.", f"line {reader.line_num}") from None
    return rows, lines


def _fits(text: str, separator: str, most: int = 20) -> tuple[int, int]:
    """How well a separator explains the first lines: whether they have equally many cells, and how many numbers."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        rows = [row for row in islice(reader, most) if row]
    except csv.Error:  # such as text right after a closing quote, where another separator would be
        return 0, 0
    widths = {len(row) for row in rows[1:] or rows}
    lacking = max(widths, default=0) - len(rows[0]) if rows else 0  # R's header has one cell less than the rows
    fit = 2 - lacking if len(widths) == 1 and max(widths) > 1 and lacking in (0, 1) else 0
    cells = [cell for row in rows[1:] for cell in row]
    return fit, sum(_number(cell) is not None or bool(_DECIMAL_COMMA.fullmatch(cell)) for cell in cells)


def _has_header(rows):
    """Whether the first line names the columns."""
    first, *others = rows
    numbers = [_number(cell) for cell in first]
    is_text = [number is None and not _is_missing(cell) for number, cell in zip(numbers, first, strict=True)]
    if any(is_text[1:]) or all(map(_is_missing, first[1:])):
        return any(is_text)
    if numbers[0] is not None or not others:
        return False
    if first[0] == "" or all(_number(row[0]) is not None for row in others):
        return True
    # Names of columns may be numbers, such as years: whole and rising, above cells that are not all whole.
    years = [number for number in numbers[1:] if number is not None]
    is_rising = len(years) > 1 and all(a < b for a, b in pairwise(years)) and all(year % 1 == 0 for year in years)
    return is_rising and any((_number(cell) or 0.0) % 1 != 0 for row in others for cell in row[1:])


# --- binary files ---------------------------------------------------------------------------------------------------


def _read_parquet(path) -> Columns:
    try:
        import pandas
        import pyarrow
    except ImportError:
        raise _Problem('Parquet needs pandas and pyarrow: pip install "coaltree[parquet]", or use CSV.') from None
    try:
        frame = pandas.read_parquet(path)
    except (pyarrow.ArrowException, ValueError) as error:
        raise _Problem(f"not a readable Parquet file ({error}).") from None
    if frame.empty:
        raise _Problem("the file is empty; expected rows and columns.")
    is_number = pandas.api.types.is_numeric_dtype
    cells: list[Any] = [
        column.to_numpy()
        if column.dtype.kind in "iu" and not column.hasnans  # which may be names with more digits than a float has
        else column.to_numpy(dtype=float, na_value=np.nan)
        if is_number(column.dtype)
        else ["" if missing else str(cell) for cell, missing in zip(column, column.isna(), strict=True)]
        for _, column in frame.items()
    ]
    labels = None if isinstance(frame.index, pandas.RangeIndex) else [str(name) for name in frame.index]
    return Columns([str(name) for name in frame.columns], cells, lambda i: f"row {i + 1}", labels)


def _read_arrays(path, wanted) -> Columns:
    try:
        content: Any = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            arrays, wanted = {"X": content}, "X"
        elif "header.json" in content:
            raise _Problem("this is a posterior or a checkpoint of coaltree, not a table of data.")
        else:
            arrays = dict(content)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise _Problem(f"not a readable NumPy file ({error}).") from None
    # The array asked for, the one called X, or the only table; labels and columns beside it.
    tables = [name for name, array in arrays.items() if array.ndim == 2]
    wanted = wanted or ("X" if "X" in tables else tables[0] if len(tables) == 1 else None)
    if wanted is None or wanted not in arrays:
        raise _Problem(f"the file contains the arrays {', '.join(arrays) or 'none'}; choose a table with --array NAME.")
    array, labels, names = arrays[wanted], arrays.get("labels"), arrays.get("columns")
    if array.ndim != 2 or array.dtype.kind not in "biuf" or array.size == 0:
        raise _Problem(f"expected a table of numbers, rows by columns, not shape {array.shape} and type {array.dtype}.")
    n, d = array.shape
    names = [str(name) for name in (range(d) if names is None else np.ravel(names))]
    labels = None if labels is None else [str(label) for label in np.ravel(labels)]
    if len(names) != d or (labels is not None and len(labels) != n):
        raise _Problem(f"the array has {n} rows and {d} columns, but labels or columns are of another length.")
    return Columns(names, list(array.T), lambda i: f"row {i + 1}", labels)
