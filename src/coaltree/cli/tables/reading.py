"""Read a table of numbers from a file, and give its columns their roles.

A cell that is neither missing nor a number is refused with its line and column, so that no table is half understood.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas
from pandas.api.types import is_float_dtype, is_numeric_dtype

from ..._runtime.atomic_write import open_to_read
from ..._runtime.formatting import escaped, shortened, shortlist
from ...errors import InputError
from ...model.data.table import Table, numbered
from .files import NAME_HEADINGS, read_cells
from .numbers import advice, is_date, is_missing, read_numbers

MAX_SHOWN = 6  # columns in the description of a table
NAMES_OR_CLASSES = {
    "category", "class", "cluster", "diagnosis", "group", "id", "index", "label", "no", "nr", "row", "species",
    "target",
}  # fmt: skip


@dataclass(frozen=True)
class TableOptions:
    """Options of the command line about a table; None is decided by rule."""

    names: str | None = None  # column of the row names
    columns: tuple[str, ...] = ()  # columns to fit; empty for all
    drop: tuple[str, ...] = ()
    header: bool | None = None
    decimal: str | None = None  # where cells do not tell, they are refused
    array: str | None = None  # of an .npz, or sheet of an .xlsx
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
    open_to_read(path).close()
    try:
        frame, read_as = read_cells(path, options.header, options.decimal, options.array)
        return _with_roles(frame, read_as, options, path.name)
    except InputError as error:
        raise InputError(escaped(f"{path.name}: {error}")) from None


def column_hints(table: Table) -> list[str]:
    """A sentence for each column of whole numbers whose heading says that they are names or classes of the rows."""
    return [
        f"column {name!r} has whole numbers, and its heading is one of names or classes; leave it out with "
        f"{_options('drop', [name])}, or compare it with the clusters with {_options('label', [name])}, unless it is a "
        "measurement."
        for name, column in zip(table.features or (), table.values.T, strict=bool(table.features))
        if NAMES_OR_CLASSES & set(re.split(r"[^a-z]+", name.lower())) and not (column % 1 > 0).any()
    ]


def _with_roles(frame: pandas.DataFrame, read_as: str, options: TableOptions, file: str) -> TableFile:
    """Split the columns into row names, groups, errors, annotations and the values to fit."""
    heading = str(frame.columns[0])
    frame.columns = numbered([str(name) or f"column {j + 1}" for j, name in enumerate(frame.columns)], "columns")
    index, fitted = _roles(frame, heading, options)
    values, ways = _values(frame, fitted, options.decimal)
    has_values = ~np.isnan(values).all(axis=0) | bool(options.columns)
    has_values |= not has_values.any()  # `fit` says what is wrong
    empty = [name for name, is_kept in zip(fitted, has_values, strict=True) if not is_kept]
    fitted = [name for name in fitted if name not in empty]
    values = np.ascontiguousarray(values[:, has_values])
    labels = list(map(str, range(len(frame)))) if index is None else _row_names(frame, index)
    groups = None if options.groups is None else _annotation(frame, options.groups)
    errors = None if options.errors is None else _values(frame, [options.errors], options.decimal)[0][:, 0]
    annotations = {name: _annotation(frame, name) for name in options.label}
    table = Table(values, tuple(labels), tuple(fitted))
    if options.transpose:
        if groups or errors is not None or annotations:
            raise InputError("--groups, --errors and --label name columns about rows, which --transpose makes columns.")
        table = Table(np.ascontiguousarray(values.T), tuple(fitted), tuple(labels))

    named_by = "their number, from 0" if index is None else f"the column {index!r}"
    n_missing = int(np.isnan(values).sum())
    notes = [
        ("read with", ", ".join(filter(None, [read_as, f"rows named by {named_by}"]))),
        ("numbers", "; ".join(f"{shortened(name, 30)}: {how}" for name, how in ways.items())),
        ("left out", f"{shortlist(empty)} (no values)" if empty else ""),
        ("missing", f"{n_missing:,} of {values.size:,} values" if n_missing else ""),
        ("groups", f"{len(set(groups))} leaves, by the column {options.groups!r}" if groups else ""),
    ]
    return TableFile(table, file, [f"  {key:10} {text}" for key, text in notes if text], groups, errors, annotations)


def _roles(frame: pandas.DataFrame, heading: str, options: TableOptions) -> tuple[str | None, list[str]]:
    """The column of the row names, if there is one, and the columns to fit."""
    single = [name for name in (options.names, options.groups, options.errors) if name is not None]
    aside = {*single, *options.label, *options.drop}
    for name in (*single, *options.label, *options.drop, *options.columns):
        if name not in frame:
            raise InputError(f"there is no column {name!r}; the columns are {shortlist(frame.columns)}.")
    index, first = options.names, frame.columns[0]
    is_free = len(frame.columns) > 1 and first not in {*aside, *options.columns}
    if index is None and is_free and (heading.lower() in NAME_HEADINGS or _are_names(frame[first], options.decimal)):
        index = first
    fitted = [name for name in dict.fromkeys(options.columns or frame.columns) if name not in {*aside, index}]
    if not fitted:
        raise InputError(f"no column of numbers is left; the columns are {shortlist(frame.columns)}.")
    return index, fitted


def _are_names(column: pandas.Series, decimal: str | None) -> bool:
    """Whether the cells are all different, and dates or no numbers however written."""
    cells = _texts(column)
    if is_numeric_dtype(column) or len(set(cells)) < len(cells):
        return False
    are_words = all(any(map(str.isalpha, cell)) for cell in cells)
    return all(map(is_date, cells)) or (are_words and bool(np.isnan(read_numbers(cells, decimal)[0]).all()))


def _row_names(frame: pandas.DataFrame, index: str) -> list[str]:
    """The names of the rows, which must be there and differ."""
    labels = _texts(frame[index])
    instead = f"name the rows by another column with --names, or {_options('drop', [index])}"
    place: dict[str, str] = {}
    for row, label in enumerate(labels):
        if not label:
            raise InputError(f"{_place(frame, row)} has no name in column {index!r}; {instead}.")
        if label in place:
            again = f"'{shortened(label, 30)}' is in {place[label]} and again in {_place(frame, row)}"
            same = f"{_options('groups', [index])} where rows of one name measure the same thing"
            raise InputError(f"column {index!r} names the rows, but {again}; {instead}, or {same}.")
        place[label] = _place(frame, row)
    return labels


def _annotation(frame: pandas.DataFrame, name: str) -> list[str]:
    cells = ["" if is_missing(cell) else cell for cell in _texts(frame[name])]
    if not any(cells):
        raise InputError(f"column {name!r} has only missing values; leave it out.")
    return cells


def _values(frame: pandas.DataFrame, names: Sequence[str], decimal: str | None) -> tuple[np.ndarray, dict[str, str]]:
    """The columns as floats, NaN where a value is missing, and how those that are no plain numbers are written."""
    values = np.empty((len(frame), len(names)))
    ways: dict[str, str] = {}
    wrong: dict[str, tuple[int, str]] = {}  # the first row whose cell is neither a number nor missing, by column
    for j, name in enumerate(names):
        column = frame[name]
        if is_numeric_dtype(column):
            values[:, j] = column.to_numpy(dtype=float, na_value=np.nan)
            is_wrong = np.isinf(values[:, j])
        else:
            cells = _texts(column)
            values[:, j], how = read_numbers(cells, decimal)
            ways |= {name: how} if how else {}
            is_wrong = np.isnan(values[:, j]) & [not is_missing(cell) for cell in cells]
        if is_wrong.any():
            wrong[name] = int(is_wrong.argmax()), str(column.iloc[is_wrong.argmax()])
    for name, (row, cell) in wrong.items():
        drop, label = (_options(option, list(wrong)) for option in ("drop", "label"))
        do = advice(cell) or f"correct it, leave text out with {drop}, or compare it with the clusters with {label}"
        where, what = f"{_place(frame, row)}, column '{shortened(name, 30)}'", f"'{shortened(cell, 30)}'"
        raise InputError(f"{where}: {what} is not a number; {do}.")
    return values, ways


def _texts(column: pandas.Series) -> list[str]:
    """The cells as text, whole numbers without a point, empty where a value is missing."""
    texts = [str(cell) for cell in (column.to_numpy() if isinstance(column.dtype, np.dtype) else column)]
    if is_float_dtype(column):
        texts = [text.removesuffix(".0") for text in texts]
    return ["" if is_na else text for text, is_na in zip(texts, column.isna(), strict=True)]


def _place(frame: pandas.DataFrame, row: int) -> str:
    return f"{frame.index.name} {frame.index[row]}"


def _options(option: str, names: Sequence[str]) -> str:
    """An option for each name, as one pastes it into a shell."""
    shown = " ".join(f"--{option} {shlex.quote(shortened(name))}" for name in names[:MAX_SHOWN])
    return f"{shown} and {len(names) - MAX_SHOWN:,} more" if len(names) > MAX_SHOWN else shown
