"""Read a table of numbers from a CSV, TSV, Excel, Parquet, .npy or .npz file, and give its columns their roles.

The first column names the rows if its heading says so (name, id, index, …, or nothing), or if its cells are text and no
two are the same. An empty cell, or one of `MISSING_WORDS`, is a missing value; numbers may be written in the ways that
`numbers` lists; any other cell is refused with its line and column, so that no table is half understood.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas
from pandas.api.types import is_float_dtype, is_numeric_dtype

from ..._runtime.formatting import escaped, listed, shortened, some
from ...errors import InputError
from ...model.data.table import Table
from ...posterior.leaf_annotations import in_order
from .files import NAME_HEADINGS, SUFFIXES, RawTable, TableError, read_raw
from .numbers import advice_for, is_date, is_missing, looks_like_a_number, read_numbers

MAX_SHOWN = 6  # columns in the description of a table
MAX_CLASSES = 10  # distinct whole numbers of a column that may be classes
MIN_ROWS_PER_CLASS = 5  # below which so few distinct numbers mean nothing
ID_WORDS = {"id", "ids", "index", "key", "no", "nr", "num", "number", "row", "rowid"}
CLASS_WORDS = {
    "category", "class", "classes", "cluster", "clusters", "diagnosis", "grade", "group", "kind", "label", "labels",
    "outcome", "species", "target", "type", "y",
}  # fmt: skip


@dataclass(frozen=True)
class TableOptions:
    """Options of the command line about a table; None is found by rule."""

    names: str | None = None  # column of the row names
    columns: tuple[str, ...] = ()  # columns to fit; empty for all
    drop: tuple[str, ...] = ()
    header: bool | None = None
    decimal: str = "."
    array: str | None = None  # of an .npz, or sheet of an .xlsx
    columns_from: str = "--columns"  # who asks for `columns`, for error messages
    groups: str | None = None  # column that says which rows measure the same leaf
    errors: str | None = None  # column of the standard errors of the rows
    label: tuple[str, ...] = ()  # columns of annotations, which are not fitted
    transpose: bool = False  # whether rows and columns change places


class TableFile(NamedTuple):
    """A table, how it was read, and the columns about its rows that are not fitted."""

    table: Table
    file: str  # its name
    lines: list[str]  # how it was read
    groups: list[str] | None
    errors: np.ndarray | None
    annotations: dict[str, list[str]]  # the columns of --label, as text

    @property
    def description(self) -> str:
        """Number of rows and columns, names of columns, the first row, and how the file was read."""
        n, d = self.table.values.shape
        features = self.table.features or tuple(map(str, range(d)))
        first, *names = (shortened(" ".join(x.split()), 30) for x in (self.table.labels[0], *features[:MAX_SHOWN]))
        cells = ", ".join("–" if np.isnan(x) else f"{x:.6g}" for x in self.table.values[0, :MAX_SHOWN])
        more = f" and {d - MAX_SHOWN:,} more" if d > MAX_SHOWN else ""
        size = f"{self.file}: {n} row{'s' * (n > 1)}, {d} column{'s' * (d > 1)}"
        return "\n".join([
            size, f"  columns    {', '.join(names)}{more}", f"  first row  {first}: {cells}{more}", *self.lines,
        ])  # fmt: skip


def read_file(path: Path, options: TableOptions) -> TableFile:
    """Read the table in a file; the suffix is the file type."""
    if not path.exists():
        raise InputError(f"file not found: {path}.")
    if not path.is_file():
        raise InputError(f"{path} is {'a folder' if path.is_dir() else 'no regular file'}; expected {SUFFIXES}.")
    try:
        return _with_roles(read_raw(path, options.header, options.decimal, options.array), options, path.name)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except TableError as error:  # names of columns may have line breaks; a message has none
        raise InputError(escaped(" ".join(f"{path.name}: {error}".split()))) from None


def column_hints(table: Table) -> list[str]:
    """A sentence for each column of whole numbers that is probably no measurement but a class or a row number."""
    hints, n = [], len(table.values)
    for name, column in zip(table.features or (), table.values.T, strict=bool(table.features)):
        observed, words = column[~np.isnan(column)], set(re.split(r"[^a-z]+", name.lower()))
        values = np.unique(observed)
        if len(values) < 2 or (observed != np.rint(observed)).any():
            continue
        is_few = len(values) <= MAX_CLASSES and n >= MIN_ROWS_PER_CLASS * len(values)
        if len(values) == n > MAX_CLASSES and (np.abs(np.diff(observed)) == 1.0).all():
            reason = "counts the rows"
        elif len(values) == n and words & ID_WORDS:
            reason = "has another whole number in each row, as names have,"
        elif is_few and words & CLASS_WORDS:
            reason = f"has only {len(values)} distinct whole numbers, as classes have,"
        else:
            continue
        hints.append(
            f"column {name!r} {reason} and is fitted like any measurement; leave it out with "
            f"{_options('drop', [name])}, or compare it with the clusters, out of the fit, with "
            f"{_options('label', [name])}."
        )
    return hints


def _with_roles(raw: RawTable, options: TableOptions, file: str) -> TableFile:
    """Split the columns into row names, groups, errors, annotations and the values to fit."""
    frame, heading = raw.frame, str(raw.frame.columns[0])
    frame.columns = [str(name) or f"column {j + 1}" for j, name in enumerate(frame.columns)]
    index, fitted = _roles(raw, heading, options)
    values, ways = _values(raw, fitted, options.decimal, is_named=index is not None)
    labels, named_by = _row_names(raw, index)
    if index is not None and not heading and index == frame.columns[0]:
        named_by = "the first column, which has no heading"
    lines = [f"  read with  {raw.read_as}{', ' if raw.read_as else ''}rows named by {named_by}"]
    if ways:
        lines.append(f"  numbers    {'; '.join(f'{shortened(name, 30)}: {how}' for name, how in ways.items())}")
    is_empty = np.isnan(values).all(axis=0) & (not options.columns)
    if is_empty.any() and not is_empty.all():
        lines.append(
            f"  left out   {some([name for name, out in zip(fitted, is_empty, strict=True) if out])} (no values)"
        )
        fitted = [name for name, out in zip(fitted, is_empty, strict=True) if not out]
        values = np.ascontiguousarray(values[:, ~is_empty])
    n_missing = int(np.isnan(values).sum())
    if n_missing:
        lines.append(f"  missing    {n_missing:,} of {values.size:,} values")
    groups = None if options.groups is None else _groups(raw, options.groups)
    if groups is not None:
        lines.append(f"  groups     {len(set(groups))} leaves, by the column {options.groups!r}")
    errors = None if options.errors is None else _errors(raw, options.errors, options.decimal)
    if errors is not None:
        lines.append(f"  errors     {errors.min():.4g} to {errors.max():.4g}, in the column {options.errors!r}")
    annotations = {name: _annotation(frame[name], name) for name in options.label}
    for name, cells in annotations.items():
        distinct = in_order(set(cells) - {""})
        lines.append(f"  label      {name!r}: {len(distinct)} distinct values, {some(distinct, 4)}")
    table = Table(values, tuple(labels), tuple(fitted))
    if options.transpose:
        if groups is not None or errors is not None or annotations:
            raise TableError("--groups, --errors and --label name columns about rows, which --transpose makes columns.")
        table = Table(np.ascontiguousarray(values.T), tuple(fitted), tuple(labels))
        lines.append("  transposed columns of the file are the rows")
    return TableFile(table, file, lines, groups, errors, annotations)


def _roles(raw: RawTable, heading: str, options: TableOptions) -> tuple[str | None, list[str]]:
    """The column of the row names, if there is one, and the columns to fit."""
    frame = raw.frame
    name, count = Counter(frame.columns).most_common(1)[0]
    if count > 1:
        raise TableError(f"{count} columns are called {name!r}; column names must be unique.")
    single = {"--names": options.names, "--groups": options.groups, "--errors": options.errors}
    aside = {"--label": options.label, "--drop": options.drop}
    aside |= {option: (name,) for option, name in single.items() if name is not None}
    for option, names in (*aside.items(), (options.columns_from, options.columns)):
        for name in names:
            if name not in frame:
                raise TableError(f"there is no column {name!r} ({option}); the columns are {some(frame.columns)}.")
    excluded = {name for names in aside.values() for name in names}
    index, first = options.names, frame.columns[0]
    is_free = raw.names is None and len(frame.columns) > 1 and first not in {*excluded, *options.columns}
    if index is None and is_free and (heading.lower() in NAME_HEADINGS or _are_names(frame[first], options.decimal)):
        index = first
    fitted = [name for name in options.columns or frame.columns if name not in {*excluded, index}]
    if not fitted:
        raise TableError(f"no column of numbers is left; the columns are {some(frame.columns)}.")
    return index, fitted


def _are_names(column: pandas.Series, decimal: str) -> bool:
    """Whether the cells are all different, and dates or no numbers however written."""
    if is_numeric_dtype(column) or not _is_unique(column):
        return False
    cells = _texts(column)
    are_words = all(any(map(str.isalpha, cell)) for cell in cells)
    return all(map(is_date, cells)) or (are_words and bool(np.isnan(read_numbers(cells, decimal)[0]).all()))


def _is_unique(column: pandas.Series) -> bool:
    return len(set(_texts(column))) == len(column)


def _row_names(raw: RawTable, index: str | None) -> tuple[Sequence[str], str]:
    """The names of the rows, and in words where they come from."""
    if index is None:
        if raw.names is not None:
            return raw.names, "the names beside the table"
        return [str(i) for i in range(len(raw.frame))], "their number, from 0"
    labels = _texts(raw.frame[index])
    drop = f"or leave the column out with {_options('drop', [index])}."
    label, count = Counter(labels).most_common(1)[0]
    if count > 1 and label:
        first, second = [_place(raw, i) for i, other in enumerate(labels) if other == label][:2]
        raise TableError(
            f"column {index!r} names the rows, but {_quoted(label)} is in {first} and again in {second}; make them "
            f"unique, choose another column with --names, {drop}"
        )
    if "" in labels:
        raise TableError(f"{_place(raw, labels.index(''))} has no name in column {index!r}; give it one, {drop}")
    return labels, f"the column {index!r}"


def _groups(raw: RawTable, name: str) -> list[str]:
    groups = _texts(raw.frame[name])
    for i, group in enumerate(groups):
        if is_missing(group):
            raise TableError(f"{_place(raw, i)} has no group in column {name!r} (--groups); give it one.")
    return groups


def _errors(raw: RawTable, name: str, decimal: str) -> np.ndarray:
    errors = _values(raw, [name], decimal, is_named=True)[0][:, 0]
    for i in np.flatnonzero(~(errors > 0.0))[:1].tolist():
        cell = "nothing" if np.isnan(errors[i]) else f"{errors[i]:g}"
        where = f"{_place(raw, i)}, column {_quoted(name)}"
        raise TableError(f"{where}: a standard error (--errors) must be a positive number, not {cell}.")
    return errors


def _annotation(column: pandas.Series, name: str) -> list[str]:
    cells = ["" if is_missing(cell) else cell for cell in _texts(column)]
    if not any(cells):
        raise TableError(f"column {name!r} (--label) has only missing values; leave it out.")
    return cells


def _values(raw: RawTable, names: Sequence[str], decimal: str, is_named: bool) -> tuple[np.ndarray, dict[str, str]]:
    """The columns as floats, NaN where a value is missing, and how those that are no plain numbers are written."""
    values = np.empty((len(raw.frame), len(names)))
    ways: dict[str, str] = {}
    wrong: dict[str, int] = {}  # the first row whose cell is neither a number nor missing, by column
    for j, name in enumerate(names):
        column = raw.frame[name]
        if is_numeric_dtype(column):
            values[:, j] = column.to_numpy(dtype=float, na_value=np.nan)
            rows = np.flatnonzero(np.isinf(values[:, j]))
        else:
            cells = _texts(column)
            values[:, j], how = read_numbers(cells, decimal)
            ways |= {name: how} if how else {}
            rows = np.array([i for i in np.flatnonzero(np.isnan(values[:, j])) if not is_missing(cells[i])])
        if len(rows):
            wrong[name] = int(rows[0])
    if wrong:
        raise _not_numbers(raw, wrong, decimal, is_named)
    return values, ways


def _not_numbers(raw: RawTable, wrong: dict[str, int], decimal: str, is_named: bool) -> TableError:
    """The error of cells that are no numbers: of whole columns of text, if there are any, else of the first cell."""
    text = [name for name in wrong if _is_text(raw.frame[name])]
    name = next(iter(text or wrong))
    row = wrong[name]
    cell, where = _texts(raw.frame[name])[row], _place(raw, row)
    if not text:
        return TableError(
            f"{where}, column {_quoted(name)}: {_quoted(cell)} is not a number; {advice_for(cell, decimal)}."
        )
    which = f"column {_quoted(name)} contains" if len(text) == 1 else f"columns {some(text)} contain"
    them = "it" if len(text) == 1 else "them"
    names = [] if is_named else [name for name in text if _is_unique(raw.frame[name])][:1]
    labels = [name for name in text if name not in names]
    instead = [f"use {_quoted(name)} as row names with {_options('names', names)}" for name in names]
    if labels:
        instead.append(
            f"compare {them if not names else some(labels)} with the clusters by {_options('label', labels)}"
        )
    drop = f"leave {them} out with {_options('drop', text)}"
    return TableError(f"{which} text ({_quoted(cell)} in {where}); {drop}, or {listed(instead)}.")


def _is_text(column: pandas.Series) -> bool:
    """Whether most cells do not even look like numbers."""
    observed = [cell for cell in _texts(column) if not is_missing(cell)]
    return 2 * sum(not looks_like_a_number(cell) for cell in observed) > len(observed)


def _texts(column: pandas.Series) -> list[str]:
    """The cells as text, whole numbers without a point, empty where a value is missing."""
    texts = [str(cell) for cell in (column.to_numpy() if isinstance(column.dtype, np.dtype) else column)]
    if is_float_dtype(column):
        texts = [text.removesuffix(".0") for text in texts]
    return ["" if is_na else text for text, is_na in zip(texts, column.isna(), strict=True)]


def _place(raw: RawTable, row: int) -> str:
    return f"{raw.unit} {raw.frame.index[row]}"


def _quoted(cell: str) -> str:
    """A cell or a column name in a message."""
    return repr(cell) if len(cell) <= 30 else repr(f"{cell[:29]}…")


def _options(option: str, names: Sequence[str]) -> str:
    """An option for each name, as one pastes it into a shell."""
    plain = re.compile(r"[\w.@%+=:,/][\w.@%+=:,/-]*")
    return " ".join(f"--{option} {name if plain.fullmatch(name) else repr(name)}" for name in map(shortened, names))
