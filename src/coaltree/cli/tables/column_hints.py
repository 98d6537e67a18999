"""Find columns of numbers that look like classes or row numbers rather than measurements."""

import re

import numpy as np

from ...model.data.table import Table
from .cells import shell_quoted

MAX_CLASSES = 10
MIN_ROWS_PER_CLASS = 5
MIN_ROWS = 8
MIN_ROWS_PER_CODE = 2
CLASS_WORDS = {
    "category", "class", "classes", "cluster", "clusters", "diagnosis", "grade", "group", "kind", "label", "labels",
    "outcome", "species", "target", "type", "y",
}  # fmt: skip
ID_WORDS = {"id", "ids", "index", "key", "no", "nr", "num", "number", "row", "rowid"}


def column_hints(table: Table) -> list[str]:
    """A sentence for each column of the table that is probably no measurement."""
    names = table.features or ()
    observed = {name: column[~np.isnan(column)] for name, column in zip(names, table.values.T, strict=bool(names))}
    whole = {name: x for name, x in observed.items() if len(x) >= MIN_ROWS and (x == np.rint(x)).all()}
    found = []
    codes = {name: reason for name, column in whole.items() if (reason := _reason_of_codes(column)) is not None}
    if 2 * len(codes) > len(names):  # as the answers of a questionnaire, from 1 to 5
        codes = {}
    for name, column in whole.items():
        reason = _reason(name, column, is_only_one=len(whole) == 1 and len(names) > 1) or codes.get(name)
        if reason is not None:
            drop, label = (f"--{option} {shell_quoted(name)}" for option in ("drop", "label"))
            found.append(
                f"column {name!r} {reason} and is fitted like any measurement; leave it out with {drop}, or compare it "
                f"with the clusters, out of the fit, with {label}."
            )
    return found


def _reason_of_codes(observed: np.ndarray) -> str | None:
    """Codes are 1, 2, … without gaps: a few that each occur often, or any number of blocks of rows."""
    values = np.unique(observed)
    n, k = len(observed), len(values)
    if k < 2 or values[0] != 1 or values[-1] != k:
        return None
    if k <= MAX_CLASSES and n >= MIN_ROWS_PER_CLASS * k:
        return f"has only the whole numbers 1 to {k}, as codes of classes have,"
    n_blocks = 1 + np.count_nonzero(np.diff(observed))
    if n_blocks == k and n >= MIN_ROWS_PER_CODE * k:
        return f"has the whole numbers 1 to {k} in blocks of rows, as codes of subjects have,"
    return None


def _reason(name: str, observed: np.ndarray, is_only_one: bool) -> str | None:
    words = set(re.split(r"[^a-z]+", name.lower()))
    n, n_distinct = len(observed), len(np.unique(observed))
    if np.ptp(observed) == n - 1 and (np.abs(np.diff(observed)) == 1.0).all():
        return "counts the rows"
    if n_distinct == n and words & ID_WORDS:
        return "has another whole number in each row, as names have,"
    is_few = 2 <= n_distinct <= MAX_CLASSES and n >= MIN_ROWS_PER_CLASS * n_distinct
    if is_few and (is_only_one or words & CLASS_WORDS):
        return f"has only {n_distinct} distinct whole numbers, as classes have,"
    return None
