"""Read a table of numbers from a CSV, TSV, Parquet, .npy or .npz file.

Every format is first read into named columns of text or numbers (`Columns`, by `text_tables` and `array_tables`), then
one function takes the column that names the rows and turns the others into numbers:

The first column names the rows if its heading says so (name, id, index, …, or nothing), or if every cell has a letter
and no two are the same. An empty cell, or one of `MISSING`, is a missing value; any other cell that is not a number is
refused with its line and column, so that no table is half understood. `understood` also says how it was read.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..._runtime.formatting import some
from ...errors import InputError
from ...model.data.table import Table
from .array_files import read_arrays, read_parquet
from .cells import (
    HEADINGS_OF_NAMES,
    SUFFIXES,
    Columns,
    Problem,
    advice_for,
    is_missing,
    is_name,
    is_text,
    number,
    short,
)
from .text_files import SEPARATOR_OF, Dialect, read_text


@dataclass(frozen=True)
class Choice:
    """What the user says about a table; None is found by rule."""

    names: str | None = None  # the column that names the rows
    columns: tuple[str, ...] = ()  # to keep; empty for all
    drop: tuple[str, ...] = ()
    header: bool | None = None
    decimal: str | None = None
    separator: str | None = None
    array: str | None = None  # which one of an .npz
    columns_from: str = "--columns"  # who asks for `columns`, for error messages
    groups: str | None = None  # the column that says which rows measure the same leaf
    errors: str | None = None  # the column with standard errors of the rows
    label: tuple[str, ...] = ()  # columns that are shown and compared with clusters, but not fitted


_BY_RULE = Choice()


class Reading(NamedTuple):
    """A table, in a few lines how it was read, and the columns that are not of it but about its rows."""

    table: Table
    how: str
    groups: list[str] | None
    errors: np.ndarray | None
    known: dict[str, list[str]]  # the columns of --label, as text


def read(path: Path, choice: Choice = _BY_RULE) -> Table:
    """Read the table in a file; the suffix gives the file type."""
    return understood(path, choice).table


def understood(path: Path, choice: Choice = _BY_RULE) -> Reading:
    """Read the table in a file, and say in a few lines how it was read: rows, columns, names, the first row."""
    path = Path(path)
    kind = path.suffix.lower()
    if not path.exists():
        raise InputError(f"file not found: {path}.")
    if not path.is_file():
        raise InputError(f"{path} is {'a folder' if path.is_dir() else 'no regular file'}; expected {SUFFIXES}.")
    try:
        if kind in SEPARATOR_OF:
            columns = read_text(path, Dialect(choice.separator, choice.decimal, choice.header))
        elif kind in (".parquet", ".pq"):
            columns = read_parquet(path)
        elif kind in (".npy", ".npz"):
            columns = read_arrays(path, choice.array)
        else:
            raise InputError(f"{path.name}: unsupported file type; expected {SUFFIXES}.")
        table, named_by, groups, errors, known = _table(columns, choice)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except Problem as problem:
        # Names of columns may have line breaks in them; a refusal has none.
        raise InputError(" ".join(f"{path.name}{problem.where}: {problem}".split())) from None
    how = ", ".join(filter(None, (columns.read_as, f"rows named by {named_by}")))
    how = f"{path.name}: {description(table)}\n  read with  {how}"
    if groups is not None:
        how += f"\n  groups     {len(set(groups))} leaves, by the column {choice.groups!r}"
    if errors is not None:
        how += f"\n  errors     {errors.min():.4g} to {errors.max():.4g}, in the column {choice.errors!r}"
    for name, values in known.items():
        how += f"\n  label      {name!r}: {_described(values)}"
    return Reading(table, how, groups, errors, known)


def _described(values):
    """How many distinct values a column has, and some of them."""
    distinct = sorted({value for value in values if not is_missing(value)})
    return f"{len(distinct)} distinct values, {some(distinct, 4)}"


def description(table: Table, most: int = 6) -> str:
    """How many rows and columns, the columns' names, and the first row."""
    n, d = table.values.shape
    numbers = ", ".join("–" if np.isnan(value) else f"{value:.6g}" for value in table.values[0, :most])
    features = table.features or tuple(map(str, range(d)))
    names = [" ".join(name.split()) for name in (table.labels[0], *features[:most])]
    shown = [name if len(name) <= 30 else f"{name[:29]}…" for name in names]
    more = f" and {d - most:,} more" if d > most else ""
    return (
        f"{n} row{'s' if n > 1 else ''}, {d} column{'s' if d > 1 else ''}\n"
        f"  columns    {', '.join(shown[1:])}{more}\n"
        f"  first row  {shown[0]}: {numbers}{more}"
    )


def _table(columns: Columns, choice):
    """The table, in words what names its rows, and their groups and errors."""
    names = [name or f"column {j + 1}" for j, name in enumerate(columns.names)]
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise Problem(f"{count} columns are called {name!r}; column names must be unique.")
    index = _find(names, choice.names, "--names") if choice.names is not None else _index_of(columns, choice)
    kept = [_find(names, name, choice.columns_from) for name in choice.columns] or range(len(names))
    by_group = None if choice.groups is None else _find(names, choice.groups, "--groups")
    by_error = None if choice.errors is None else _find(names, choice.errors, "--errors")
    by_label = [_find(names, name, "--label") for name in choice.label]
    dropped = {index, by_group, by_error, *by_label, *(_find(names, name, "--drop") for name in choice.drop)}
    kept = [j for j in kept if j not in dropped]
    if not kept:
        raise Problem(f"no column of numbers is left; the columns are {some(names)}.")
    values = _values(names, columns, kept)
    if index is not None:
        labels = _as_names(columns.cells[index])
        _check_labels(names[index], labels, columns.place)
        named_by = f"the column {names[index]!r}"
    else:
        stored = columns.labels
        labels = [str(i) for i in range(len(values))] if stored is None else list(stored)
        named_by = "their number, from 0" if stored is None else "the names beside the table"
    groups = None if by_group is None else _groups(names[by_group], columns, by_group)
    errors = None if by_error is None else _errors(names, columns, by_error)
    known = {names[j]: _label_cells(names[j], columns.cells[j]) for j in by_label}
    return Table(values, tuple(labels), tuple(names[j] for j in kept)), named_by, groups, errors, known


def _label_cells(name, cells):
    texts = ["" if is_missing(text) else text for text in _as_names(cells)]
    if not any(texts):
        raise Problem(f"column {name!r} (--label) has no value at all; leave it out with --drop {as_in_a_shell(name)}.")
    return texts


def _as_names(cells):
    return [f"{cell:.17g}" if isinstance(cell, float) else str(cell) for cell in cells]


def _groups(name, columns, j):
    """The group of each row, as text."""
    groups = _as_names(columns.cells[j])
    for i, group in enumerate(groups):
        if is_missing(group):
            raise Problem(f"the row has no group in column {name!r} (--groups); give it one.", columns.place(i))
    return groups


def _errors(names, columns, j):
    """The standard error of each row."""
    errors = _values(names, columns, [j])[:, 0]
    wrong = np.flatnonzero(~(errors > 0.0))
    if len(wrong):
        cell = "nothing" if np.isnan(errors[wrong[0]]) else f"{errors[wrong[0]]:g}"
        where = f"{columns.place(int(wrong[0]))}, column {short(names[j])}"
        raise Problem(f"a standard error (--errors) must be a positive number, not {cell}.", where)
    return errors


def _find(names, name, option):
    if name not in names:
        raise Problem(f"there is no column {name!r} ({option}); the columns are {some(names)}.")
    return names.index(name)


def _index_of(columns, choice):
    """The first column, if it is headed as names are, or if all its cells are names and no two are the same."""
    name, cells = columns.names[0], columns.cells[0]
    if columns.labels is not None or len(columns.names) == 1 or name in _spoken_of(choice):
        return None
    if name.lower() in HEADINGS_OF_NAMES:
        return 0
    are_names = not isinstance(cells, np.ndarray) and all(map(is_name, cells)) and _is_unique(cells)
    return 0 if are_names else None


def _spoken_of(choice):
    """Columns that the user has another use for than names of the rows."""
    return (*choice.drop, *choice.columns, *choice.label, choice.groups, choice.errors)


def _check_labels(name, labels, place):
    drop = f"or leave the column out with --drop {as_in_a_shell(name)}."
    label, count = Counter(labels).most_common(1)[0]
    if count > 1 and label:
        first, second = [place(i) for i, one in enumerate(labels) if one == label][:2]
        raise Problem(
            f"column {name!r} names the rows, but {short(label)} is in {first} and again in {second}; make the names "
            f"unique, choose another column with --names, {drop}"
        )
    if "" in labels:
        raise Problem(f"the row has no name in column {name!r}; give it one, {drop}", place(labels.index("")))


def _values(names, columns, kept):
    """The columns `kept` as floats, NaN where a value is missing; float32 where all of them are."""
    is_single = len(kept) > 0 and all(getattr(columns.cells[j], "dtype", None) == np.float32 for j in kept)
    values = np.empty((len(columns.cells[0]), len(kept)), np.float32 if is_single else np.float64)
    wrong = []  # (column, row) of every cell that is neither a number nor missing
    for at, j in enumerate(kept):
        cells = columns.cells[j]
        if isinstance(cells, np.ndarray):
            values[:, at] = cells
            continue
        numbers = [number(cell, columns.decimal) for cell in cells]
        wrong += [(j, i) for i, value in enumerate(numbers) if value is None and not is_missing(cells[i])]
        values[:, at] = [np.nan if value is None else value for value in numbers]
    text = [j for j in dict.fromkeys(j for j, _ in wrong) if is_text(columns.cells[j], columns.decimal)]
    if text:
        j, row = next((j, i) for j, i in wrong if j == text[0])
        which = f"column {short(names[j])} contains"
        if len(text) > 1:
            which = f"columns {some([names[j][:30] for j in text])} contain"
        drops = " ".join(f"--drop {as_in_a_shell(names[j])}" for j in text[:6])
        naming = f", or use {short(names[j])} as row names with --names {as_in_a_shell(names[j])}"
        labels = " ".join(f"--label {as_in_a_shell(names[j])}" for j in text[:6])
        labelling = f", or show and compare {'it' if len(text) == 1 else 'them'} with {labels}"
        is_unique = _is_unique(columns.cells[j])
        raise Problem(
            f"{which} text ({short(columns.cells[j][row])} in {columns.place(row)}); leave "
            f"{'it' if len(text) == 1 else 'them'} out with {drops}{naming if is_unique else labelling}."
        )
    if wrong:
        (j, row), cell = wrong[0], columns.cells[wrong[0][0]][wrong[0][1]]
        more = f" (one of {len(wrong)} such cells)" if len(wrong) > 1 else ""
        where = f"{columns.place(row)}, column {short(names[j])}"
        raise Problem(f"{short(cell)} is not a number{more}; {advice_for(cell, columns.decimal)}.", where)
    return values


def _is_unique(cells):
    return len(set(cells)) == len(cells) and "" not in cells


def as_in_a_shell(name):
    """A name as it is written in a shell."""
    name = name if len(name) <= 60 else f"{name[:59]}…"
    return name if re.fullmatch(r"[\w.@%+=:,/-]+", name) and not name.startswith("-") else f"'{name}'"
