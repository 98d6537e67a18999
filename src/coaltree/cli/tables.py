"""Tables in files, as people have them: CSV, TSV, Parquet, .npy and .npz become numbers with names.

Whether a text file has a header, and whether its first column names the rows, is found by looking; both can be said.
An empty cell, or one of `MISSING`, is a missing value. Anything else that is no number is refused with its line and
column, and with what to do about it: a table is never understood in part.
"""

import csv
import io
import re
import zipfile
from collections import Counter
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..model.table import Table

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "?"})
SUFFIXES = ".csv, .tsv, .txt, .parquet, .npy or .npz"

_TEXT = {".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}  # suffix: what separates its cells, if it says so
_NAMES_OF_NAMES = frozenset({"", "id", "index", "leaf", "label", "name", "row", "unnamed: 0"})
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Choice:
    """What the user says of a table; None is for finding out."""

    index: str | None = None  # the column that names the rows
    columns: tuple[str, ...] = ()  # to keep; all, if there are none
    drop: tuple[str, ...] = ()
    header: bool | None = None
    array: str | None = None  # which one of an .npz
    columns_are: str = "--columns"  # who says so


_FIND_OUT = Choice()


def read(path, choice: Choice = _FIND_OUT) -> Table:
    """Read the table in a file; the suffix says what it is."""
    path = Path(path)
    kind = path.suffix.lower()
    if not path.exists():
        raise InputError(f"there is no file {str(path)!r}.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder; name a file, {SUFFIXES}.")
    try:
        if kind in _TEXT:
            return _read_text(path, _TEXT[kind], choice)
        if kind in (".parquet", ".pq"):
            return _read_parquet(path, choice)
        if kind in (".npy", ".npz"):
            return _read_arrays(path, choice)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
    raise InputError(f"{path.name!r} is of no kind that can be read here; give a file that ends in {SUFFIXES}.")


# --- text -----------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """One row of cells, and the number of the line it ends in."""

    number: int
    cells: list[str]


def _read_text(path, separator, choice):
    lines = _lines(path, separator)
    header = choice.header
    if header is None:
        header = _has_header(lines)
    names = None
    if header:
        (_, names), *lines = lines
        if not lines:
            raise InputError(f"{path.name} has a header and no rows below it.")
        if all(len(line.cells) == len(names) + 1 for line in lines):  # as R writes: the names of rows have no name
            names = ["", *names]
    width = len(names) if names is not None else len(lines[0].cells)
    for line in lines:
        if len(line.cells) != width:
            first = "the header" if names is not None else f"line {lines[0].number}"
            raise InputError(f"{path.name}, line {line.number}: {len(line.cells)} cells, but {first} has {width}.")
    columns = [list(column) for column in zip(*(line.cells for line in lines), strict=True)]
    if names is None:
        names = [str(j) for j in range(width)]
    else:
        names, columns = _without_nameless_blanks(names, columns)
    return _assemble(path, names, columns, [line.number for line in lines], choice, header)


def _lines(path, separator):
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        number = error.object[: error.start].count(b"\n") + 1
        raise InputError(f"{path.name}, line {number}: not UTF-8 text; save the file as UTF-8.") from None
    if "\0" in text:
        raise InputError(f"{path.name} holds zero bytes and is no text file; give {SUFFIXES}.")
    if separator is None:
        separator = max(",;\t", key=lambda mark: _fits(text, mark))  # a comma, where nothing tells them apart
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    lines = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                lines.append(Line(reader.line_num, [cell.strip() for cell in cells]))
    except csv.Error as error:
        raise InputError(f"{path.name}, line {reader.line_num}: {error}.") from None
    if not lines:
        raise InputError(f"{path.name} is empty; a table has rows and columns.")
    return lines


def _fits(text, separator, most=20):
    """How well a separator explains the first lines: whether it gives them all as many cells, and how many numbers."""
    try:
        rows = [row for row in islice(csv.reader(io.StringIO(text, newline=""), delimiter=separator), most) if row]
    except csv.Error:
        return False, 0
    widths = {len(row) for row in rows[1:]} or {len(row) for row in rows}
    as_many = len(widths) == 1 and max(widths) > 1 and max(widths) - len(rows[0]) in (0, 1)
    cells = [cell for row in rows[1:] for cell in row]
    return as_many, sum(_number(cell) is not None or bool(_DECIMAL_COMMA.fullmatch(cell)) for cell in cells)


def _has_header(lines):
    """Whether the first line names the columns: some cell beyond the first is text, or it can be nothing else."""
    (_, first), *others = lines
    beyond = [cell for cell in first[1:] if not _is_missing(cell)]
    if not beyond:
        return _number(first[0]) is None and not _is_missing(first[0])
    if any(_number(cell) is None for cell in beyond):
        return True
    if _number(first[0]) is not None or not others:
        return False
    if first[0] == "" or all(_number(line.cells[0]) is not None for line in others):
        return True
    # Names of columns may be numbers, such as years: whole and rising, above cells that are not all whole.
    years = [_number(cell) or 0.0 for cell in beyond]
    rising = all(a < b for a, b in pairwise(years)) and all(value % 1 == 0 for value in years)
    below = [_number(cell) or 0.0 for line in others for cell in line.cells[1:]]
    return rising and len(years) > 1 and any(value % 1 != 0 for value in below)


def _without_nameless_blanks(names, columns):
    """Lines that end in a separator have a last column of nothing."""
    kept = [j for j, name in enumerate(names) if name or any(columns[j])]
    return [names[j] for j in kept], [columns[j] for j in kept]


def _assemble(path, names, columns, numbers, choice, has_header):
    """Split the columns into the one that names the rows and those of numbers."""
    index = _index_of(path, names, columns, choice, has_header)
    names = [name or f"column {j + 1}" for j, name in enumerate(names)]
    _check_unique(path, names)
    labels = tuple(map(str, range(len(numbers)))) if index is None else tuple(columns[index])
    if index is not None:
        _check_labels(path, names[index], labels, numbers)
    kept = _kept(path, names, index, choice)
    values = np.empty((len(numbers), len(kept)))
    trouble = []
    for at, j in enumerate(kept):
        values[:, at], wrong = _numbers(columns[j])
        if wrong:
            trouble.append((j, wrong, _is_text(columns[j])))
    _refuse_text(path, names, columns, numbers, trouble)
    return Table(values, labels, tuple(names[j] for j in kept))


def _index_of(path, names, columns, choice, has_header):
    if choice.index is not None:
        return _find(path, names, choice.index, "--index")
    if names[0] in (*choice.drop, *choice.columns) or len(columns) == 1:
        return None
    if has_header and names[0].lower() in _NAMES_OF_NAMES:
        return 0
    # Text names the rows if it tells them apart; a class or a bad cell does not.
    return 0 if _is_text(columns[0]) and _tells_apart(columns[0]) else None


def _is_text(cells):
    """Whether most cells are no numbers; those with a decimal comma are meant to be some."""
    observed = [cell for cell in cells if not _is_missing(cell)]
    wrong = sum(_number(cell) is None and not _DECIMAL_COMMA.fullmatch(cell) for cell in observed)
    return 2 * wrong > len(observed)


def _tells_apart(cells):
    return len(set(cells)) == len(cells) and "" not in cells


def _check_labels(path, name, labels, numbers):
    counts = Counter(labels)
    label, count = counts.most_common(1)[0]
    if count > 1:
        first, second = [number for one, number in zip(labels, numbers, strict=True) if one == label][:2]
        raise InputError(
            f"{path.name}: column {name!r} names the rows, but {label!r} stands in lines {first} and {second}; make "
            f"the names unique, choose another column with --index, or leave this one out with --drop {_word(name)}."
        )
    if "" in counts:
        raise InputError(
            f"{path.name}, line {numbers[labels.index('')]}: the row has no name in column {name!r}; give it one, or "
            f"leave the column out with --drop {_word(name)}."
        )


def _numbers(cells):
    """The column as floats, NaN where it is missing, and the places of what is neither."""
    values, wrong = np.empty(len(cells)), []
    for i, cell in enumerate(cells):
        value = _number(cell)
        if value is None:
            value = np.nan
            if not _is_missing(cell):
                wrong.append(i)
        values[i] = value
    return values, wrong


def _number(cell):
    """The cell as a finite float, or None."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in cell else None


def _is_missing(cell):
    return cell.lower() in MISSING


def _refuse_text(path, names, columns, numbers, trouble):
    """One sentence about the first thing that is no number: a column of text, or a cell."""
    text = [(j, wrong) for j, wrong, is_text in trouble if is_text]
    if text:
        j, wrong = text[0]
        others = f", and so do {len(text) - 1} more" if len(text) > 1 else ""
        raise InputError(
            f"{path.name}: column {names[j]!r} holds text ({_short(columns[j][wrong[0]])} in line {numbers[wrong[0]]})"
            f"{others}; {_advice([names[j] for j, _ in text], _tells_apart(columns[j]))}."
        )
    if trouble:
        j, wrong, _ = trouble[0]
        cell = columns[j][wrong[0]]
        count = sum(len(wrong) for _, wrong, _ in trouble)
        others = f" (and {count - 1} more such cells)" if count > 1 else ""
        advice = "correct it, or leave the cell empty if the value is missing"
        if _DECIMAL_COMMA.fullmatch(cell):
            advice = "write decimals with a point"
        elif cell.strip("+-").lower() in ("inf", "infinity"):
            advice = "every value must be finite, and a missing one an empty cell"
        raise InputError(
            f"{path.name}, line {numbers[wrong[0]]}, column {names[j]!r}: {_short(cell)} is not a number{others}; "
            f"{advice}."
        )


def _advice(names, tells_apart):
    """What to do about columns of text."""
    drops = " ".join(f"--drop {_word(name)}" for name in names)
    naming = f", or name the rows by it with --index {_word(names[0])}" if tells_apart else ""
    return f"leave {'it' if len(names) == 1 else 'them'} out with {drops}{naming}"


def _short(cell):
    return repr(cell if len(cell) <= 30 else cell[:29] + "…")


# --- choosing columns -----------------------------------------------------------------------------------------------


def _kept(path, names, index, choice):
    dropped = {_find(path, names, name, "--drop") for name in choice.drop}
    chosen = [_find(path, names, name, choice.columns_are) for name in choice.columns] or range(len(names))
    kept = [j for j in chosen if j not in dropped and j != index]
    if not kept:
        raise InputError(f"{path.name}: no column of numbers is left; the columns are {_list(names)}.")
    return kept


def _find(path, names, name, option):
    if name not in names:
        raise InputError(f"{path.name} has no column {name!r} ({option}); the columns are {_list(names)}.")
    return names.index(name)


def _check_unique(path, names):
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InputError(f"{path.name} has {count} columns called {name!r}; every column needs a name of its own.")


def _list(names, most=12):
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


def _word(name):
    """A name as one writes it in a shell."""
    return name if re.fullmatch(r"[\w.@%+=:,/-]+", name) and not name.startswith("-") else f"'{name}'"


# --- binary files ---------------------------------------------------------------------------------------------------


def _read_parquet(path, choice):
    try:
        import pandas
        import pyarrow
    except ImportError:
        raise InputError(
            f'{path.name}: Parquet needs pandas and pyarrow: pip install "coaltree[parquet]", or give a CSV file.'
        ) from None
    try:
        frame = pandas.read_parquet(path)
    except (pyarrow.ArrowException, ValueError) as error:
        raise InputError(f"{path.name} is no Parquet file that can be read ({error}).") from None
    names = [str(name) for name in frame.columns]
    _check_unique(path, names)
    if frame.empty:
        raise InputError(f"{path.name} is empty; a table has rows and columns.")
    index = None if choice.index is None else _find(path, names, choice.index, "--index")
    if index is None and names[0] not in (*choice.drop, *choice.columns):
        first = frame.iloc[:, 0]
        is_text = not pandas.api.types.is_numeric_dtype(first)
        default = isinstance(frame.index, pandas.RangeIndex)
        index = 0 if default and is_text and first.is_unique and len(names) > 1 else None
    labels = tuple(str(name) for name in (frame.index if index is None else frame.iloc[:, index]))
    _check_labels(path, "index" if index is None else names[index], labels, range(1, len(labels) + 1))
    kept = _kept(path, names, index, choice)
    text = [j for j in kept if not pandas.api.types.is_numeric_dtype(frame.dtypes.iloc[j])]
    if text:
        raise InputError(
            f"{path.name}: column {names[text[0]]!r} holds {frame.dtypes.iloc[text[0]]}, not numbers; "
            f"{_advice([names[j] for j in text], frame.iloc[:, text[0]].is_unique)}."
        )
    return Table(frame.iloc[:, kept].to_numpy(dtype=float, na_value=np.nan), labels, tuple(names[j] for j in kept))


def _read_arrays(path, choice):
    try:
        content: Any = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path.name} is no array file that can be read ({error}).") from None
    labels = columns = None
    if isinstance(content, np.ndarray):
        array = content
    else:
        with content:
            array, labels, columns = _from_npz(path, content, choice.array)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            f"{path.name} holds an array of shape {array.shape} and type {array.dtype}; a table of numbers, rows by "
            "columns, is needed."
        )
    n, d = array.shape
    names = [str(j) for j in range(d)] if columns is None else [str(name) for name in columns]
    if len(names) != d or (labels is not None and len(labels) != n):
        raise InputError(f"{path.name}: an array of {n} rows and {d} columns needs as many labels and columns.")
    _check_unique(path, names)
    index = None if choice.index is None else _find(path, names, choice.index, "--index")
    if index is not None:
        labels = [f"{value:.17g}" for value in array[:, index].astype(float)]
    labels = tuple(map(str, range(n) if labels is None else labels))
    kept = _kept(path, names, index, choice)
    return Table(array[:, kept].astype(float), labels, tuple(names[j] for j in kept))


def _from_npz(path, content, wanted):
    """The table of an .npz: the one asked for, the one called X, or the only one; labels and columns beside it."""
    if "header.json" in content.files:
        raise InputError(f"{path.name} is a posterior or a checkpoint of coaltree, not a table of data.")
    try:
        arrays = {name: content[name] for name in content.files}
    except ValueError as error:
        raise InputError(f"{path.name} is no array file that can be read ({error}).") from None
    tables = [name for name, array in arrays.items() if array.ndim == 2]
    if wanted is None:
        wanted = "X" if "X" in tables else tables[0] if len(tables) == 1 else None
    if wanted is None or wanted not in arrays:
        raise InputError(
            f"{path.name} holds the arrays {', '.join(arrays) or 'none'}; choose a table with --array NAME."
        )
    return arrays[wanted], arrays.get("labels"), arrays.get("columns")
