"""A table as it is to be fitted: rows and columns changed, some rows left out, those without values dropped."""

from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np

from ..._runtime.formatting import count, shortened, some
from ...model.data.table import Table
from .cells import TableError, quoted

MAX_SHOWN = 6  # columns in the description of a table


@dataclass(frozen=True)
class TableOptions:
    """Options of the command line about a table; None is found by rule."""

    names: str | None = None  # column of the row names
    columns: tuple[str, ...] = ()  # columns to fit; empty for all
    drop: tuple[str, ...] = ()
    header: bool | None = None
    decimal: str | None = None
    separator: str | None = None
    multiline: bool = False  # whether quoted cells may have line breaks
    array: str | None = None  # of an .npz, or sheet of an .xlsx
    columns_from: str = "--columns"  # who asks for `columns`, for error messages
    groups: str | None = None  # column that says which rows measure the same leaf
    errors: str | None = None  # column of the standard errors of the rows
    label: tuple[str, ...] = ()  # columns of annotations, which are not fitted
    dates: tuple[str, ...] = ()  # columns of dates, to be read as days
    transpose: bool = False  # whether rows and columns change places
    drop_empty: bool = False  # whether rows and columns without values are left out
    exclude_row: tuple[str, ...] = ()  # names of rows to leave out

    def is_needed(self, number: int, name: str) -> bool:
        """Whether a column is read at all; the first may name the rows."""
        if name in {*self.label, self.names, self.groups, self.errors}:
            return True
        return name not in self.drop and (not self.columns or name in self.columns or number == 0)


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
        """What was read, in lines for people."""
        return "\n".join([f"{self.file}: {describe(self.table)}", *self.lines])


def describe(table: Table) -> str:
    """Number of rows and columns, names of columns, and the first row."""
    n, d = table.values.shape
    features = table.features or tuple(map(str, range(d)))
    first, *names = (shortened(" ".join(name.split()), 30) for name in (table.labels[0], *features[:MAX_SHOWN]))
    cells = ", ".join("–" if np.isnan(value) else f"{value:.6g}" for value in table.values[0, :MAX_SHOWN])
    more = f" and {d - MAX_SHOWN:,} more" if d > MAX_SHOWN else ""
    size = f"{n} row{'s' if n > 1 else ''}, {d} column{'s' if d > 1 else ''}"
    return f"{size}\n  columns    {', '.join(names)}{more}\n  first row  {first}: {cells}{more}"


def rearranged(found: TableFile, options: TableOptions) -> TableFile:
    """Take the steps --transpose, --exclude-row and --drop-empty, in this order; rows are what is clustered."""
    table, lines = found.table, list(found.lines)
    if options.transpose:
        if found.groups is not None or found.errors is not None or found.annotations:
            raise TableError("--groups, --errors and --label name columns about rows, which --transpose makes columns.")
        table = Table(np.ascontiguousarray(table.values.T), table.features or (), table.labels)
        lines.append("  transposed columns of the file are the rows")
    rows, columns = (np.ones(length, dtype=bool) for length in table.values.shape)
    labels, features = table.labels, table.features or ()
    if options.exclude_row:
        unknown = [quoted(name) for name in options.exclude_row if name not in labels]
        if unknown:
            raise TableError(f"there is no row {some(unknown)} (--exclude-row); the rows are {some(labels)}.")
        rows = ~np.isin(labels, options.exclude_row)
        lines.append(f"  excluded   {some(options.exclude_row)}")
    if options.drop_empty:
        seen = ~np.isnan(table.values) & rows[:, None]
        empty_rows, columns = rows & ~seen.any(axis=1), seen.any(axis=0)
        dropped = (compress(labels, empty_rows), "row"), (compress(features, ~columns), "column")
        said = [f"{count(len(names), what)} ({some(names)})" for given, what in dropped if (names := [*given])]
        rows &= ~empty_rows
        lines += [f"  without values, dropped: {', '.join(said)}"] if said else []
    if not rows.any() or not columns.any():
        raise TableError("no rows or no columns are left.")
    if not (rows.all() and columns.all()):
        names = tuple(compress(labels, rows)), tuple(compress(features, columns))
        table = Table(table.values[np.ix_(rows, columns)], *names)
    return TableFile(
        table,
        found.file,
        lines,
        groups=None if found.groups is None else list(compress(found.groups, rows)),
        errors=None if found.errors is None else found.errors[rows],
        annotations={name: list(compress(cells, rows)) for name, cells in found.annotations.items()},
    )
