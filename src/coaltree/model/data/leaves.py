"""From a table to what chains work on: distinct rows, their leaves and their noise.

Rows without any value say nothing of the tree, and are left out of it with a warning that names them.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.formatting import count
from ...errors import CoaltreeWarning, InputError
from ..process.noise import Noise, check_errors
from .duplicates import Distinct, find_distinct
from .missing import check_observed
from .replicates import Replicates, read_groups, replicates_of
from .table import Table, check_names

EMPTY_ROWS = "empty_rows"  # where a posterior keeps what was left out


def without_empty_rows(table: Table, groups: Any, errors: Any) -> tuple[Table, Any, Any, dict[str, Any]]:
    """The rows that have values, their groups and errors, and for `info` which leaves are gone."""
    is_empty = np.isnan(table.values).all(axis=1)
    n = len(is_empty)
    if not is_empty.any() or is_empty.all() or np.isnan(table.values).all(axis=0).any():
        return table, groups, errors, {}  # a table without values is refused later, as is an empty column
    kept = np.flatnonzero(~is_empty)
    if len(kept) < 2:
        raise InputError(f"X must have at least 2 rows with values; {n - 1} of {n} have only missing ones.")
    gone = [table.labels[i] for i in np.flatnonzero(is_empty)]
    warnings.warn(
        f"{count(len(gone), 'row')} with missing values only {'is' if len(gone) == 1 else 'are'} left out of the tree: "
        f"{', '.join(map(repr, gone))}.",
        CoaltreeWarning,
        stacklevel=4,
    )
    leaves = list(table.labels)
    if groups is not None:
        leaf, names = read_groups(groups, n)
        leaves, groups = list(names), [names[leaf[i]] for i in kept]
    left = {table.labels[i] for i in kept} if groups is None else set(groups)
    places = [i for i, name in enumerate(leaves) if name not in left]
    errors = check_errors(errors, n)
    part = Table(np.ascontiguousarray(table.values[kept]), tuple(table.labels[i] for i in kept), table.features)
    about = {EMPTY_ROWS: {"names": [leaves[i] for i in places], "places": places}} if places else {}
    return part, groups, None if errors is None else errors[kept], about


class Leaves(NamedTuple):
    """Which rows of a table are used, and the leaves they measure.

    Trees are drawn over the distinct leaves; `distinct.expand` puts the others back.
    """

    labels: tuple[str, ...]  # names of all leaves
    groups: np.ndarray | None  # (rows of the table,) the leaf of each, where groups were given
    distinct: Distinct  # leaves
    kept: np.ndarray  # (N,) rows of the table that belong to distinct leaves
    replicates: Replicates | None  # of the rows kept, where leaves have several
    errors: np.ndarray | None  # (rows of the table,)
    has_density: bool  # whether equal rows may stand apart: under a fixed noise, or beside replicates

    @property
    def places(self) -> np.ndarray:
        """(rows of the table,) where each row stands among those kept; a copy stands where its twin does."""
        if self.groups is None:
            return self.distinct.group
        place = np.full(len(self.groups), -1)
        place[self.kept] = np.arange(len(self.kept))
        first_row = self.kept[np.unique(self.groups[self.kept], return_index=True)[1]]  # of each distinct leaf
        return np.where(place >= 0, place, place[first_row[self.distinct.group[self.groups]]])

    def names_of_kept(self) -> list[str]:
        """Names of the rows that are kept, or of their leaves where there are groups."""
        return [self.labels[i if self.groups is None else self.groups[i]] for i in self.kept]


_NONE = np.empty(0, np.int64)
NO_LEAVES = Leaves((), None, Distinct(_NONE, _NONE), _NONE, None, None, False)  # of a model that chains alone see


def read_leaves(table: Table, noise: Noise, groups: Any = None, errors: Any = None, *, quiet: bool = False) -> Leaves:
    """Find the leaves of a table's rows, and which of them are copies of others."""
    errors = check_errors(errors, len(table.values))
    check_observed(table.values, table.labels, table.features)
    if errors is not None and noise.level == 0.0:
        raise InputError('errors scale the noise, which is 0; leave noise out, or give "learn" or a positive number.')
    if groups is None:
        return leaves_of(table, noise, None, table.labels, errors, quiet=quiet)
    leaf, labels = read_groups(groups, len(table.values))
    check_names("group", labels)
    if len(labels) < len(leaf) and noise.level == 0.0:
        raise InputError(
            'rows of one group differ by their noise, which is 0; leave noise out, or give "learn" or a number.'
        )
    return leaves_of(table, noise, leaf, labels, errors, quiet=quiet)


def leaves_of(
    table: Table,
    noise: Noise,
    groups: np.ndarray | None,
    labels: tuple[str, ...],
    errors: np.ndarray | None,
    *,
    quiet: bool,
    are_apart: bool = False,
) -> Leaves:
    """The leaves of these names, where the leaf of each row is known, or every row is one.

    No row is taken for a copy of another under a fixed noise, or if they are known to be apart.
    """
    fixed = are_apart or (not noise.is_learnt and noise.level > 0.0)
    if groups is None:
        distinct = find_distinct(table.values, labels, has_density=fixed, quiet=quiet)
        return Leaves(labels, None, distinct, distinct.first, None, errors, fixed)
    distinct = _distinct_leaves(table, groups, np.bincount(groups), labels, fixed, quiet)
    number = np.full(len(labels), -1)
    number[distinct.first] = np.arange(len(distinct.first))
    kept = np.flatnonzero(number[groups] >= 0)
    replicates = replicates_of(number[groups[kept]]) if len(kept) > len(distinct.first) else None
    return Leaves(labels, groups, distinct, kept, replicates, errors, fixed or replicates is not None)


def _distinct_leaves(
    table: Table, leaf: np.ndarray, counts: np.ndarray, labels: tuple[str, ...], has_density: bool, quiet: bool
) -> Distinct:
    """Leaves of one row that equal another such leaf are its copies; leaves of several rows stay apart."""
    alone = np.flatnonzero(counts[leaf] == 1)
    distinct = Distinct(np.arange(len(labels)), np.arange(len(labels)))
    if len(alone) < 2:
        return distinct
    among = find_distinct(table.values[alone], [labels[i] for i in leaf[alone]], has_density=has_density, quiet=quiet)
    twin = np.arange(len(labels))
    twin[leaf[alone]] = leaf[alone[among.first[among.group]]]
    first, group = np.unique(twin, return_inverse=True)
    return Distinct(first, group)


def warn_of_groups(rows: Leaves, table: Table, noise: Noise) -> None:
    """Groups of one row each say nothing of the noise, and copies within a group say that there is none."""
    if rows.groups is None:
        return
    message = None
    if rows.replicates is None:
        message = "every group has one row, so that groups change nothing but the names of the leaves."
    elif noise.is_learnt:
        same = find_distinct(np.column_stack([rows.groups, table.values]), quiet=True)
        twin = same.first[same.group]
        if same.n_copies:
            i = int(np.argmax(twin != np.arange(len(twin))))
            message = (
                f"rows {table.labels[twin[i]]!r} and {table.labels[i]!r} of group {rows.labels[rows.groups[i]]!r} are "
                f"equal in every column ({same.n_copies} such row(s) in all); drop those that are copies and not "
                "measurements, for they draw a learnt noise towards 0."
            )
    if message is not None:
        warnings.warn(message, CoaltreeWarning, stacklevel=4)
