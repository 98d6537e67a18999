"""Read a file into columns of text or numbers, by pandas and NumPy; docs/start/command_line.md has the rules."""

import csv
import math
import re
from collections.abc import Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from ..._runtime.formatting import count, shortlist
from ...errors import InputError
from .numbers import is_missing, looks_like_a_number, number

SUFFIXES = ".csv, .tsv, .txt, .xlsx, .parquet, .npy or .npz"
NAME_HEADINGS = frozenset({"", "id", "index", "leaf", "label", "name", "row", "unnamed: 0"})  # of a column of row names
MIN_RISING = 4  # numbers, of which one in 24 lines rises by chance
_SEPARATORS = {"\t": "tab", ";": "';'", ",": "','", "|": "'|'", " ": "blanks"}


def read_cells(path: Path, header: bool | None, decimal: str | None, array: str | None) -> tuple[pandas.DataFrame, str]:
    """Read a file by its suffix: its columns, the index being the number of the line or row, and how it was read.

    Whatever a damaged file makes its reader raise is an `InputError`; `read_file` adds the name of the file.
    """
    suffix = path.suffix.lower()
    try:
        if suffix in (".csv", ".txt", ".tsv", ".tab"):
            return _read_text(path, header, decimal)
        if suffix == ".xlsx":
            return _read_excel(path, header, decimal, array)
        if suffix in (".parquet", ".pq"):
            return _numbered(pandas.read_parquet(path)), ""
        if suffix in (".npy", ".npz"):
            return _read_arrays(path, array)
    except InputError:
        raise
    except ImportError as error:
        extra = {".xlsx": "excel"}.get(suffix, "parquet")
        raise InputError(f'{suffix} files need another package: pip install "coaltree[{extra}]"') from error
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text; save the file as UTF-8.") from None
    except Exception as error:
        reason = " ".join(str(error).split())[:150].rstrip(".") or type(error).__name__
        raise InputError(f"not a readable {suffix} file ({reason}).") from None
    raise InputError(f"unsupported file type; expected {SUFFIXES}.")


def _read_text(path: Path, header: bool | None, decimal: str | None) -> tuple[pandas.DataFrame, str]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = list(islice(file, 30))
    first = next((i for i, line in enumerate(lines, 1) if line.strip()), None)
    if first is None:
        raise InputError("the file is empty; expected rows and columns.")
    mark = "\t" if path.suffix.lower() in (".tsv", ".tab") else find_separator(lines, decimal)
    top, *below = _split(lines, mark)
    if lacks_first_heading(top, below):
        top = ["", *top]
    width = len(top)
    frame = pandas.read_csv(
        path, sep=r"\s+" if mark == " " else mark, header=None, names=range(width + 1), index_col=False, dtype=str,
        na_filter=False, skip_blank_lines=False, skipinitialspace=True, encoding="utf-8-sig", low_memory=False,
    )  # fmt: skip
    frame.index = pandas.RangeIndex(1, len(frame) + 1, name="line")
    for i in frame.index[frame.apply(lambda column: column.str.contains("[\r\n]")).any(axis=1)][:1]:
        raise InputError(f"line {i}: a cell has a line break, as where a quote is not closed; remove it.")
    frame = frame.apply(lambda column: column.str.strip())
    for i in frame.index[frame[width] != ""][:1]:
        raise InputError(f"line {i} has more cells than line {first}, which has {width}; remove a title above a table.")
    frame.loc[first] = [*top, ""]
    frame, read_as = with_header(frame.drop(columns=width), header, decimal)
    return frame, f"separator {_SEPARATORS[mark]}, {read_as}" if width > 1 else read_as


def _split(lines: Sequence[str], mark: str) -> list[list[str]]:
    """The cells of the lines that have any."""
    whole = [line.strip() if mark == " " else line for line in lines if line.strip()]
    return [[cell.strip() for cell in row] for row in csv.reader(whole, delimiter=mark, skipinitialspace=mark == " ")]


def find_separator(lines: Sequence[str], decimal: str | None) -> str:
    """The separator that splits lines into equally many cells, of several the one that leaves most numbers."""
    best, separator = (0, 0), "\t"
    for mark in _SEPARATORS:
        if mark == decimal or (mark == " " and best[0]):
            continue
        header, *rows = _split(lines, mark)
        widths = [len(row) for row in rows or [header]]
        is_even = len(set(widths)) == 1 < widths[0] and len(header) == widths[0]
        # else most lines have several cells; two below a line of one may be a decimal comma
        has_several = 2 * sum(width > 1 + (len(header) == 1) for width in widths) > len(widths)
        fit = 2 * (is_even or lacks_first_heading(header, rows)) or int(has_several)
        n_numbers = sum(looks_like_a_number(cell) for row in rows for cell in row)
        if fit and (mark != " " or n_numbers) and (fit, n_numbers) > best:
            best, separator = (fit, n_numbers), mark
    return separator


def lacks_first_heading(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the header is one cell short, as R writes it; 1,5 below a single heading is rather one number."""
    is_short = bool(rows) and all(len(row) == len(header) + 1 for row in rows)
    return is_short and (len(header) > 1 or not any(looks_like_a_number(row[0]) for row in rows))


def with_header(cells: pandas.DataFrame, header: bool | None, decimal: str | None) -> tuple[pandas.DataFrame, str]:
    """Cells of text with the names of their columns, without empty rows, and whether the first row had the names."""
    is_row, unit = (cells != "").any(axis=1), cells.index.name
    cells, n_empty = cells[is_row], int((~is_row).sum())
    if cells.empty:
        raise InputError("the file is empty; expected rows and columns.")
    first, *below = cells.iloc[:30].to_numpy().tolist()
    where = f"{unit} {cells.index[0]}"
    if header is None:
        header = has_header(first, below, decimal, where)
    if header and len(cells) == 1:
        raise InputError("the file has a header but no rows below it.")
    names = first if header else [str(j) for j in range(len(first))]
    cells = cells.iloc[int(header) :]
    is_kept = np.array([bool(name) or any(cells[column] != "") for name, column in zip(names, cells, strict=True)])
    cells = cells.loc[:, is_kept].set_axis(np.array(names, dtype=object)[is_kept], axis=1)
    skipped = f", {count(n_empty, f'empty {unit}')} skipped" if n_empty else ""
    return cells, (f"header in {where}" if header else "no header") + skipped


def has_header(cells: Sequence[str], below: Sequence[Sequence[str]], decimal: str | None, where: str) -> bool:
    """Whether the first line names the columns; it is refused if it may be a row as well."""
    first, *others = cells
    named = others if others and number(first, decimal) is None else cells
    numbers = [number(cell, decimal) for cell in named]
    if any(value is None and not is_missing(cell) for value, cell in zip(numbers, named, strict=True)):
        return True
    could_be_names = all(value is not None and value % 1 == 0 for value in numbers) and len(set(named)) == len(named)
    if len(named) >= MIN_RISING and _rises(named, decimal):
        could_be_names |= sum(_rises(row[-len(named) :], decimal) for row in below) < len(below) / 2
    if could_be_names and below and first.lower() not in NAME_HEADINGS:
        which = f"its numbers ({shortlist(cells, 4)}) may be names of columns or a row of data"
        raise InputError(f"{where}: {which}; say which with --header or --no-header.")
    return first.lower() in NAME_HEADINGS


def _rises(cells: Sequence[str], decimal: str | None) -> bool:
    numbers = [number(cell, decimal) for cell in cells]
    return all(a is not None and b is not None and a < b for a, b in pairwise(numbers))


def _read_excel(
    path: Path, header: bool | None, decimal: str | None, sheet: str | None
) -> tuple[pandas.DataFrame, str]:
    with pandas.ExcelFile(path, engine="openpyxl", engine_kwargs={"read_only": False}) as book:
        name = str(book.sheet_names[0]) if sheet is None else sheet
        if name not in book.sheet_names:
            raise InputError(f"there is no sheet {name!r} (--sheet); the sheets are {shortlist(book.sheet_names)}.")
        cells = pandas.read_excel(book, sheet_name=name, header=None, dtype=object, keep_default_na=False, na_values=[])
        n_hidden = sum(row.hidden for row in book.book[name].row_dimensions.values())
    cells.index = pandas.RangeIndex(1, len(cells) + 1, name="row")

    def text(cell: Any) -> str:
        if not isinstance(cell, float):
            return "" if pandas.isna(cell) else str(cell).strip()
        # of three decimals a fourth says that they are not thousands
        shown = f"{cell!r}0" if re.search(r"\.\d{3}$", repr(cell)) else repr(cell)
        return "" if math.isnan(cell) else shown.replace(".", decimal or ".")

    frame, read_as = with_header(cells.map(text), header, decimal)
    hidden = f", {count(n_hidden, 'row')} among them hidden in Excel" if n_hidden else ""
    return frame, f"sheet {name!r}, {read_as}{hidden}"


def _read_arrays(path: Path, wanted: str | None) -> tuple[pandas.DataFrame, str]:
    """The array of an .npy, or one of an .npz: the one asked for, the one called X, or the only one."""
    loaded = np.load(path, allow_pickle=False)
    if path.suffix.lower() == ".npy":
        name, arrays = "X", {"X": loaded}
    else:
        with loaded:
            if "header.json" in loaded:
                raise InputError("this is a posterior or a checkpoint of coaltree, not a table of data.")
            tables = [name for name in loaded if name not in ("labels", "columns")]
            name = wanted or ("X" if "X" in tables or len(tables) != 1 else tables[0])
            if name not in tables:
                raise InputError(f"the file contains the arrays {shortlist(tables)}; choose one with --array.")
            arrays = {part: loaded[part] for part in (name, "labels", "columns") if part in loaded}
    X = arrays[name]
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(f"expected a table of numbers, not an array of shape {X.shape} and type {X.dtype}.")
    frame = pandas.DataFrame(X, arrays.get("labels"), arrays.get("columns"))
    return _numbered(frame), "" if name == "X" else f"array {name!r}"


def _numbered(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The table with its rows numbered, and their names, if they have any, in a first column without heading."""
    if frame.empty:
        raise InputError("the file is empty; expected rows and columns.")
    names = None if isinstance(frame.index, pandas.RangeIndex) else frame.index.astype(str)
    frame = frame.set_axis(list(map(str, frame)), axis=1).set_axis(pandas.RangeIndex(1, len(frame) + 1, name="row"))
    if names is not None:
        frame.insert(0, "", np.asarray(names, dtype=object), allow_duplicates=True)
    return frame
