"""Read a file into columns of text or numbers, by pandas and NumPy; text files by a rule that docs/start tells users.

Separator   Of tab, semicolon, comma, bar and blanks the one that splits all lines into equally many cells; of several,
            the one that leaves more numbers. A .tsv file has tabs.
Header      A first line with text beyond its first cell is the header, and so is one whose first cell is empty or
            a heading of names (name, id, …). A first line of other whole numbers could be either, and is refused until
            --header or --no-header is given. Any other first line is a row.
"""

import csv
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas

from ..._runtime.formatting import count, some
from .numbers import is_missing, looks_like_a_number, number

SUFFIXES = ".csv, .tsv, .txt, .xlsx, .parquet, .npy or .npz"
NAME_HEADINGS = frozenset({"", "id", "index", "leaf", "label", "name", "row", "unnamed: 0"})  # of a column of row names
N_SNIFFED_LINES = 30
_SEPARATORS = {"\t": "tab", ";": "';'", ",": "','", "|": "'|'", " ": "blanks"}


class RawTable(NamedTuple):
    """A table as it is in a file: columns of text or numbers; its index numbers the lines (or rows) of the file."""

    frame: pandas.DataFrame
    names: Sequence[str] | None = None  # of the rows, where they are beside the table
    unit: str = "row"  # what the index numbers: line or row
    read_as: str = ""  # such as "separator ';', header in line 1"


class TableError(Exception):
    """What is wrong with a table; `read_file` adds the name of the file."""


def read_raw(path: Path, header: bool | None, decimal: str, array: str | None) -> RawTable:
    """Read a file by its suffix; whatever a damaged one makes its reader raise is a `TableError`."""
    suffix = path.suffix.lower()
    try:
        if suffix in (".csv", ".txt", ".tsv", ".tab"):
            return _read_text(path, header, decimal)
        if suffix == ".xlsx":
            return _read_excel(path, header, array)
        if suffix in (".parquet", ".pq"):
            return _read_parquet(path)
        if suffix in (".npy", ".npz"):
            return _read_arrays(path, array)
    except TableError:
        raise
    except ImportError as error:
        extra = {".xlsx": "excel"}.get(suffix, "parquet")
        raise TableError(f'{suffix} files need another package: pip install "coaltree[{extra}]"') from error
    except UnicodeDecodeError:
        raise TableError("not UTF-8 text; save the file as UTF-8.") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:  # else it is pyarrow's, of a damaged file
            raise
        reason = " ".join(str(error).split())[:150].rstrip(".") or type(error).__name__
        raise TableError(f"not a readable {suffix} file ({reason}).") from None
    raise TableError(f"unsupported file type; expected {SUFFIXES}.")


def _read_text(path: Path, header: bool | None, decimal: str) -> RawTable:
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = list(islice(file, N_SNIFFED_LINES))
    if any("\0" in line for line in lines):
        raise TableError(f"not a text file, it contains zero bytes; expected {SUFFIXES}.")
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise TableError("the file is empty; expected rows and columns.")
    mark = "\t" if path.suffix.lower() in (".tsv", ".tab") else find_separator(lines, decimal)
    rest = lines[first + 1 :]
    if mark not in lines[first] and any(len(row) > 2 for row in _split(rest[:1], find_separator(rest, decimal))):
        raise TableError(f"line {first + 1} is no part of the table but a title, as it seems; remove it.")
    top, *below = _split(lines, mark)
    width = len(top) + lacks_first_heading(top, below)
    frame = pandas.read_csv(
        path, sep=r"\s+" if mark == " " else mark, header=None, names=range(width + 1), index_col=False, dtype=str,
        na_filter=False, skip_blank_lines=False, skipinitialspace=True, encoding="utf-8-sig", low_memory=False,
    )  # fmt: skip
    frame.index = pandas.RangeIndex(1, len(frame) + 1)
    for i in frame.index[frame.apply(lambda column: column.str.contains("[\r\n]")).any(axis=1)][:1]:
        raise TableError(f"line {i}: a cell has a line break, as where a quote is not closed; remove it.")
    frame = frame.apply(lambda column: column.str.strip())
    for i in frame.index[frame[width] != ""][:1]:
        raise TableError(f"line {i} has more cells than line {first + 1}, which has {width}.")
    raw = table_of_text(frame.drop(columns=width), "line", header, decimal)
    return raw._replace(read_as=f"separator {_SEPARATORS[mark]}, {raw.read_as}" if width > 1 else raw.read_as)


def _split(lines: Sequence[str], mark: str) -> list[list[str]]:
    """The cells of the lines that have any."""
    whole = [line.strip() if mark == " " else line for line in lines if line.strip()]
    return [[cell.strip() for cell in row] for row in csv.reader(whole, delimiter=mark, skipinitialspace=mark == " ")]


def find_separator(lines: Sequence[str], decimal: str) -> str:
    """The separator by the rule above; the tab where there is a single column."""
    best, found = (0, 0), "\t"
    for mark in _SEPARATORS:
        if mark == decimal or (mark == " " and best[0]):
            continue
        header, *rows = _split(lines, mark) or [[]]
        widths = [len(row) for row in rows or [header]]
        if len(set(widths)) == 1 < widths[0]:
            fit = 3 if len(header) == widths[0] else 2 * lacks_first_heading(header, rows)
        else:
            fit = int(len(header) > 1 and 2 * widths.count(1) < len(widths))
        n_numbers = sum(looks_like_a_number(cell) for row in rows for cell in row)
        if fit and (mark != " " or n_numbers) and (fit, n_numbers) > best:
            best, found = (fit, n_numbers), mark
    return found


def lacks_first_heading(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the header is one cell short, as R writes it; names that are numbers must then be R's 1, 2, 3, …"""
    if not rows or any(len(row) != len(header) + 1 for row in rows):
        return False
    first = [row[0] for row in rows]
    is_count = len(header) > 1 and first == [str(i + 1) for i in range(len(first))]
    return is_count or not any(map(looks_like_a_number, first))


def table_of_text(cells: pandas.DataFrame, unit: str, header: bool | None, decimal: str) -> RawTable:
    """A table of cells of text, the first row of which may be the header; rows without content are left out."""
    is_row = (cells != "").any(axis=1)
    cells, n_empty = cells[is_row], int((~is_row).sum())
    if cells.empty:
        raise TableError("the file is empty; expected rows and columns.")
    where, first = f"{unit} {cells.index[0]}", cells.iloc[0].tolist()
    rest = cells.iloc[1 : N_SNIFFED_LINES + 1].to_numpy().tolist()
    is_short = first[-1] == "" and any(row[-1] for row in rest) and lacks_first_heading(first[:-1], rest)
    if header is None:
        header = is_short or has_header(first, decimal, len(cells) > 1, where)
    names = [str(j) for j in range(len(first))]
    if header:
        names, cells = ["", *first[:-1]] if is_short else first, cells.iloc[1:]
        if cells.empty:
            raise TableError("the file has a header but no rows below it.")
    is_kept = [bool(name) or any(cells[column] != "") for name, column in zip(names, cells, strict=True)]
    cells = cells.loc[:, is_kept].set_axis([name for name, kept in zip(names, is_kept, strict=True) if kept], axis=1)
    said = [
        f"header in {where}" if header else "no header",
        f"{count(n_empty, f'empty {unit}')} skipped" if n_empty else "",
    ]
    return RawTable(cells, None, unit, ", ".join(filter(None, said)))


def has_header(cells: Sequence[str], decimal: str, has_rows: bool, where: str) -> bool:
    """Whether the first line names the columns, by the rule above."""
    first, *others = cells
    named = others if others and number(first, decimal) is None else cells
    numbers = [number(cell, decimal) for cell in named]
    if any(value is None and not is_missing(cell) for value, cell in zip(numbers, named, strict=True)):
        return True
    could_be_names = all(value is not None and value % 1 == 0 for value in numbers) and len(set(named)) == len(named)
    if could_be_names and has_rows and first.lower() not in NAME_HEADINGS:
        which = f"its numbers ({some(cells, 4)}) may be names of columns or a row of data"
        raise TableError(f"{where}: {which}; say which with --header or --no-header.")
    return first.lower() in NAME_HEADINGS


def _read_excel(path: Path, header: bool | None, sheet: str | None) -> RawTable:
    with pandas.ExcelFile(path, engine="openpyxl") as book:
        name = str(book.sheet_names[0]) if sheet is None else sheet
        if name not in book.sheet_names:
            raise TableError(f"there is no sheet {name!r} (--sheet); the sheets are {some(book.sheet_names)}.")
        cells = pandas.read_excel(book, sheet_name=name, header=None, dtype=object, keep_default_na=False, na_values=[])
    cells.index = pandas.RangeIndex(1, len(cells) + 1)
    text = cells.map(lambda cell: "" if pandas.isna(cell) else str(cell).strip())
    raw = table_of_text(text, "row", header, ".")
    return raw._replace(read_as=f"sheet {name!r}, {raw.read_as}")


def _read_parquet(path: Path) -> RawTable:
    frame = pandas.read_parquet(path)
    if frame.empty:
        raise TableError("the file is empty; expected rows and columns.")
    names = None if isinstance(frame.index, pandas.RangeIndex) else [str(name) for name in frame.index]
    return RawTable(frame.set_axis(range(1, len(frame) + 1)).set_axis([str(name) for name in frame], axis=1), names)


def _read_arrays(path: Path, wanted: str | None) -> RawTable:
    """The array of an .npy, or one of an .npz: the one asked for, the one called X, or the only one."""
    loaded = np.load(path, allow_pickle=False)
    if path.suffix.lower() == ".npy":
        name, arrays = "X", {"X": loaded}
    else:
        with loaded:
            if "header.json" in loaded:
                raise TableError("this is a posterior or a checkpoint of coaltree, not a table of data.")
            tables = [name for name in loaded if name not in ("labels", "columns")]
            name = wanted or ("X" if "X" in tables or len(tables) != 1 else tables[0])
            if name not in tables:
                raise TableError(f"the file contains the arrays {some(tables)}; choose one with --array.")
            arrays = {part: loaded[part] for part in (name, "labels", "columns") if part in loaded}
    X, labels, columns = arrays[name], arrays.get("labels"), arrays.get("columns")
    if X.ndim != 2 or X.dtype.kind not in "biuf" or X.size == 0:
        raise TableError(f"expected a table of numbers, not an array of shape {X.shape} and type {X.dtype}.")
    n, d = X.shape
    if (labels is not None and labels.shape != (n,)) or (columns is not None and columns.shape != (d,)):
        raise TableError(f"the array has {n} rows and {d} columns, but labels or columns are of another length.")
    names = None if labels is None else labels.astype(str).tolist()
    frame = pandas.DataFrame(X, range(1, n + 1), (np.arange(d) if columns is None else columns).astype(str))
    return RawTable(frame, names, read_as="" if name == "X" else f"array {name!r}")
