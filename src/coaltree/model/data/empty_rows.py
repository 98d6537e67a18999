"""Rows without any value: they say nothing of the tree, and are left out of it with a warning that names them."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.formatting import count
from ...errors import CoaltreeWarning, InputError
from ..process.noise import check_errors
from .replicates import read_groups
from .table import Table

EMPTY_ROWS = "empty_rows"  # where a posterior keeps what was left out


class RowInputs(NamedTuple):
    """What was given of the rows: the table, and what goes with its rows."""

    table: Table
    groups: Any = None
    errors: Any = None
    neighbors: Any = None


def without_empty_rows(given: RowInputs, stacklevel: int = 4) -> tuple[RowInputs, dict[str, Any]]:
    """The rows that have values, and for `info` the names and places of the leaves that are gone."""
    table = given.table
    is_empty = np.isnan(table.values).all(axis=1)
    n = len(is_empty)
    if not is_empty.any() or is_empty.all() or np.isnan(table.values).all(axis=0).any():
        return given, {}  # a table without values is refused later, as is an empty column
    kept = np.flatnonzero(~is_empty)
    if len(kept) < 2:
        raise InputError(f"X must have at least 2 rows with values; {n - 1} of {n} have only missing ones.")
    gone = [table.labels[i] for i in np.flatnonzero(is_empty)]
    warnings.warn(
        f"{count(len(gone), 'row')} with missing values only {'is' if len(gone) == 1 else 'are'} left out of the tree: "
        f"{', '.join(map(repr, gone))}.",
        CoaltreeWarning,
        stacklevel=stacklevel,
    )
    leaves, groups = list(table.labels), given.groups
    if groups is not None:
        leaf, names = read_groups(groups, n)
        leaves, groups = list(names), [names[leaf[i]] for i in kept]
    left = {table.labels[i] for i in kept} if groups is None else set(groups)
    places = [i for i, name in enumerate(leaves) if name not in left]
    errors = check_errors(given.errors, n)
    neighbors = given.neighbors
    if getattr(neighbors, "shape", None) == (n, n) and hasattr(neighbors, "tocsr"):
        neighbors = neighbors.tocsr()[kept][:, kept]
    part = Table(np.ascontiguousarray(table.values[kept]), tuple(table.labels[i] for i in kept), table.features)
    about = {EMPTY_ROWS: {"names": [leaves[i] for i in places], "places": places}} if places else {}
    return RowInputs(part, groups, None if errors is None else errors[kept], neighbors), about
