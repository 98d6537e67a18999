"""Columns of numbers that look like classes or row numbers, not like measurements: what a user may have overlooked."""

import re

import numpy as np

from ...model.data.table import Table
from .reading import as_in_a_shell

_MOST_CLASSES = 10
_ROWS_PER_CLASS = 5
_LEAST_ROWS = 8
_CLASS_WORDS = {
    "category", "class", "classes", "cluster", "clusters", "diagnosis", "grade", "group", "kind", "label", "labels",
    "outcome", "species", "target", "type", "y",
}  # fmt: skip
_NUMBER_WORDS = {"id", "ids", "index", "key", "no", "nr", "num", "number", "row", "rowid"}


def suspicious_columns(table: Table) -> list[str]:
    """A sentence for each column of the table that is probably no measurement."""
    values = table.values
    names = table.features or ()
    whole = [j for j in range(len(names)) if _is_whole(values[:, j])]
    found = []
    for j in whole:
        seen = values[~np.isnan(values[:, j]), j]
        what = _looks_like(names[j], seen, is_only_one=len(whole) == 1 and len(names) > 1)
        if what is not None:
            name = as_in_a_shell(names[j])
            found.append(
                f"column {names[j]!r} {what} and is fitted like any measurement; leave it out with --drop {name}, or "
                f"compare it with the clusters, out of the fit, with --label {name}."
            )
    return found


def _is_whole(column):
    seen = column[~np.isnan(column)]
    return len(seen) >= _LEAST_ROWS and bool((seen == np.rint(seen)).all())


def _looks_like(name, seen, is_only_one):
    words = set(re.split(r"[^a-z]+", name.lower()))
    distinct = len(np.unique(seen))
    if np.ptp(seen) == len(seen) - 1 and bool((np.abs(np.diff(seen)) == 1.0).all()):
        return "counts the rows"
    if distinct == len(seen) and words & _NUMBER_WORDS:
        return "has another whole number in each row, as names have,"
    few = 2 <= distinct <= _MOST_CLASSES and len(seen) >= _ROWS_PER_CLASS * distinct
    if few and (is_only_one or words & _CLASS_WORDS):
        return f"has only {distinct} distinct whole numbers, as classes have,"
    return None
