"""Read a table of numbers from a CSV, TSV, Excel, Parquet, .npy or .npz file.

Every format is first read into columns of text or numbers (`RawTable`); then the columns get their roles here.
The first column names the rows if its heading says so (name, id, index, …, or nothing), or if every cell has a letter
and no two are the same. An empty cell, or one of `MISSING_WORDS`, is a missing value; any other cell that is not a
number is refused with its line and column, so that no table is half understood. Columns that consistently are money,
per cent, thousands set apart or yes and no are numbers, too (`written_numbers`); dates are on request.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas
from pandas.api.types import is_float_dtype, is_numeric_dtype

from ..._runtime.formatting import escaped, listed, shortened, some
from ...errors import InputError
from ...model.data.table import Table
from ...posterior.leaf_annotations import in_order
from . import cells as cell_rules
from .binary_files import read_arrays, read_excel, read_parquet
from .cells import SUFFIXES, RawTable, TableError, is_missing, quoted, shell_quoted
from .rearranging import TableFile, TableOptions, rearranged
from .text_files import SEPARATORS, read_text
from .written_numbers import are_dates, days, shows_thousands, understand

__all__ = ["TableFile", "TableOptions", "read_file"]


def read_file(path: Path, options: TableOptions) -> TableFile:
    """Read the table in a file; the suffix is the file type."""
    if not path.exists():
        raise InputError(f"file not found: {path}.")
    if not path.is_file():
        raise InputError(f"{path} is {'a folder' if path.is_dir() else 'no regular file'}; expected {SUFFIXES}.")
    try:
        with open(path, "rb"):
            raw = _read_raw(path, options)
        return rearranged(_with_roles(raw, options, path.name), options)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except TableError as error:  # names of columns may have line breaks; a message has none
        raise InputError(escaped(" ".join(f"{path.name}{error.where}: {error}".split()))) from None


def _read_raw(path: Path, options: TableOptions) -> RawTable:
    suffix = path.suffix.lower()
    if suffix in SEPARATORS:
        return read_text(path, options.separator, options.decimal, options.header, options.multiline)
    if suffix == ".xlsx":
        return read_excel(path, options.array, options.header)
    if suffix in (".parquet", ".pq"):
        return read_parquet(path, options.is_needed)
    if suffix in (".npy", ".npz"):
        return read_arrays(path, options.array)
    raise TableError(f"unsupported file type; expected {SUFFIXES}.")


def _with_roles(raw: RawTable, options: TableOptions, file: str) -> TableFile:
    """Split the columns into row names, groups, errors, annotations and the values to fit."""
    frame, heading = raw.frame, str(raw.frame.columns[0])
    frame.columns = [str(name) or f"column {j + 1}" for j, name in enumerate(frame.columns)]
    name, count = Counter(frame.columns).most_common(1)[0]
    if count > 1:
        raise TableError(f"{count} columns are called {name!r}; column names must be unique.")
    single = {"--names": options.names, "--groups": options.groups, "--errors": options.errors}
    aside = {"--label": options.label, "--drop": options.drop}
    asked = {"--dates": options.dates, options.columns_from: options.columns}
    aside |= {option: (name,) for option, name in single.items() if name is not None}
    for option, names in (*aside.items(), *asked.items()):
        for name in names:
            if name not in frame:
                raise TableError(f"there is no column {name!r} ({option}); the columns are {some(frame.columns)}.")
    excluded = {name for names in aside.values() for name in names}
    index = options.names
    if index is None and frame.columns[0] not in {*excluded, *options.columns} and _are_names(frame, heading):
        index = frame.columns[0]
    fitted = [name for name in options.columns or frame.columns if name not in {*excluded, index}]
    if not fitted:
        raise TableError(f"no column of numbers is left; the columns are {some(frame.columns)}.")
    values, understood = _values(raw, fitted, options.dates, is_named=index is not None)
    labels, named_by = _row_names(raw, index)
    table = Table(values, tuple(labels), tuple(fitted))
    groups = None if options.groups is None else _groups(raw, options.groups)
    errors = None if options.errors is None else _errors(raw, options.errors)
    annotations = {name: _annotation(frame[name], name) for name in options.label}
    lines: list[str] = []
    if index is not None and index == frame.columns[0] and not heading:
        named_by = "the first column, which has no heading"
    lines.append(f"  read with  {raw.read_as}{', ' if raw.read_as else ''}rows named by {named_by}")
    if understood:
        said = [f"{shortened(name, 30)}: {how}" for name, how in understood.items()]
        lines.append(f"  numbers    {'; '.join(said)}")
    n_missing = int(np.isnan(values).sum())
    if n_missing:
        lines.append(f"  missing    {n_missing:,} of {values.size:,} values")
    if groups is not None:
        lines.append(f"  groups     {len(set(groups))} leaves, by the column {options.groups!r}")
    if errors is not None:
        lines.append(f"  errors     {errors.min():.4g} to {errors.max():.4g}, in the column {options.errors!r}")
    for name, cells in annotations.items():
        distinct = in_order(set(cells) - {""})
        lines.append(f"  label      {name!r}: {len(distinct)} distinct values, {some(distinct, 4)}")
    return TableFile(table, file, lines, groups, errors, annotations)


def _are_names(frame: pandas.DataFrame, heading: str) -> bool:
    """Whether the first column is headed as names are, or all its cells are names and no two are the same."""
    if not isinstance(frame.index, pandas.RangeIndex) or len(frame.columns) == 1:
        return False
    column = frame.iloc[:, 0]
    if heading.lower() in cell_rules.NAME_HEADINGS:
        return True
    return not is_numeric_dtype(column) and column.is_unique and all(map(cell_rules.is_name, _texts(column)))


def _row_names(raw: RawTable, index: str | None) -> tuple[list[str], str]:
    """The names of the rows, and in words where they come from."""
    if index is None:
        is_range = isinstance(raw.frame.index, pandas.RangeIndex)
        return list(map(str, raw.frame.index)), "their number, from 0" if is_range else "the names beside the table"
    labels = _texts(raw.frame[index])
    drop = f"or leave the column out with --drop {shell_quoted(index)}."
    label, count = Counter(labels).most_common(1)[0]
    if count > 1 and label:
        first, second = [raw.where(i) for i, other in enumerate(labels) if other == label][:2]
        raise TableError(
            f"column {index!r} names the rows, but {quoted(label)} is in {first} and again in {second}; make the names "
            f"unique, choose another column with --names, {drop}"
        )
    if "" in labels:
        raise TableError(f"the row has no name in column {index!r}; give it one, {drop}", raw.where(labels.index("")))
    return labels, f"the column {index!r}"


def _groups(raw: RawTable, name: str) -> list[str]:
    groups = _texts(raw.frame[name])
    for i, group in enumerate(groups):
        if is_missing(group):
            raise TableError(f"the row has no group in column {name!r} (--groups); give it one.", raw.where(i))
    return groups


def _errors(raw: RawTable, name: str) -> np.ndarray:
    errors = _values(raw, [name])[0][:, 0]
    for i in np.flatnonzero(~(errors > 0.0)).tolist():
        cell = "nothing" if np.isnan(errors[i]) else f"{errors[i]:g}"
        where = f"{raw.where(i)}, column {quoted(name)}"
        raise TableError(f"a standard error (--errors) must be a positive number, not {cell}.", where)
    return errors


def _annotation(column: pandas.Series, name: str) -> list[str]:
    cells = ["" if is_missing(cell) else cell for cell in _texts(column)]
    if not any(cells):
        raise TableError(f"column {name!r} (--label) has only missing values; leave it out.")
    return cells


def _values(
    raw: RawTable, names: Sequence[str], dates: Sequence[str] = (), is_named: bool = True
) -> tuple[np.ndarray, dict[str, str]]:
    """The columns as floats, NaN where a value is missing, and how those that are no plain numbers were understood.

    float32 where all of them are. `is_named`: whether a column names the rows already.
    """
    columns = [raw.frame[name] for name in names]
    is_single = all(column.dtype == np.float32 for column in columns)
    values = np.empty((len(raw.frame), len(names)), np.float32 if is_single else np.float64)
    wrong: dict[str, list[int]] = {}  # rows of cells that are neither numbers nor missing, by column
    understood: dict[str, str] = {}
    for j, column in enumerate(columns):
        if is_numeric_dtype(column):
            values[:, j] = column.to_numpy(dtype=values.dtype, na_value=np.nan)
            continue
        cells = _texts(column)
        numbers = [cell_rules.number(cell, raw.decimal) for cell in cells]
        if names[j] in dates or any(x is None and not is_missing(cell) for x, cell in zip(numbers, cells, strict=True)):
            found = days(cells) if names[j] in dates else understand(cells, raw.decimal)
            if found is None and names[j] in dates:
                raise TableError(f"column {quoted(names[j])} (--dates) has cells that are no dates such as 2024-01-31.")
            if found is None and shows_thousands(cell for other in raw.frame for cell in _texts(raw.frame[other])):
                found = understand(cells, raw.decimal, thousands=True)
            if found is not None:
                numbers, understood[names[j]] = found
        values[:, j] = [np.nan if value is None else value for value in numbers]
        rows = [i for i, value in enumerate(numbers) if value is None and not is_missing(cells[i])]
        if rows:
            wrong[names[j]] = rows
    if wrong:
        raise _not_numbers(raw, wrong, is_named)
    return values, understood


def _not_numbers(raw: RawTable, wrong: dict[str, list[int]], is_named: bool) -> TableError:
    """The error of cells that are no numbers: of whole columns of text, if there are any, else of the first cell."""
    _refuse_second_header(raw)
    columns = [name for name in wrong if cell_rules.is_text(_texts(raw.frame[name]), raw.decimal)]
    name = next(iter(columns or wrong))
    row, cells = wrong[name][0], _texts(raw.frame[name])
    if not columns:
        n_wrong = sum(map(len, wrong.values()))
        others = f" (one of {n_wrong} such cells)" if n_wrong > 1 else ""
        advice = cell_rules.advice_for(cells[row], raw.decimal)
        where = f"{raw.where(row)}, column {quoted(name)}"
        return TableError(f"{quoted(cells[row])} is not a number{others}; {advice}.", where)
    which = f"column {quoted(name)} contains"
    if len(columns) > 1:
        which = f"columns {some([name[:30] for name in columns])} contain"
    dates = [name for name in columns if are_dates(_texts(raw.frame[name]))]
    others = [name for name in columns if name not in dates]
    names = [name for name in others if (column := raw.frame[name]).is_unique and "" not in _texts(column)]
    own = names[: 0 if is_named else 1]  # every cell has content of its own, as names have
    others = [name for name in others if name not in own]
    instead = [f"use {quoted(name)} as row names with {_options('names', own)}" for name in own]
    if others:
        which_others = some(others) if own or dates else _them(others)
        instead.append(f"show and compare {which_others} with {_options('label', others)}")
    if dates:
        instead.append(f"read dates as numbers of days with {_options('dates', dates)}")
    text = f"text ({quoted(cells[row])} in {raw.where(row)})"
    return TableError(
        f"{which} {text}; leave {_them(columns)} out with {_options('drop', columns)}, or {listed(instead)}."
    )


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _options(option: str, names: Sequence[str]) -> str:
    """An option for each name, as one pastes it."""
    return " ".join(f"--{option} {shell_quoted(name)}" for name in names)


def _refuse_second_header(raw: RawTable) -> None:
    """Refuse a first row without a number where columns of numbers have text, such as units below their names."""
    firsts, above = raw.frame.iloc[0].astype(str).tolist(), []
    if len(raw.frame) < 3 or any(cell_rules.looks_like_a_number(cell) for cell in firsts):
        return
    for cell, (name, column) in zip(firsts, raw.frame.items(), strict=True):
        below = [text for text in _texts(column)[1:] if not is_missing(text)]
        if not is_missing(cell) and below and all(map(cell_rules.looks_like_a_number, below)):
            above.append(f"{quoted(cell)} in column {quoted(str(name))}")
    if above:
        what = f"looks like a second header ({above[0]}); remove it, so that rows follow the names of the columns."
        raise TableError(f"this {raw.unit} {what}", raw.where(0))


def _texts(column: pandas.Series) -> list[str]:
    """The cells as text, whole numbers without a point, empty where a value is missing."""
    if isinstance(column.dtype, pandas.CategoricalDtype):  # each text once in memory, in however many rows it stands
        words = [*map(str, column.cat.categories), ""]
        return [words[code] for code in column.cat.codes]
    cells = column.to_numpy() if isinstance(column.dtype, np.dtype) else column  # nullable integers stay exact
    texts = [str(cell) for cell in cells]
    if is_float_dtype(column):
        texts = [text.removesuffix(".0") for text in texts]
    return ["" if is_na else text for text, is_na in zip(texts, column.isna().to_numpy(), strict=True)]
