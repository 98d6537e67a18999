"""Leaves of a table: rows that measure the same thing, and rows that are copies of others."""

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.formatting import count
from ..._runtime.validation import as_array, refusal
from ...errors import CoaltreeWarning, InputError
from ..process.noise import Noise, check_errors
from .missing import check_observed
from .replicates import Replicates, replicates_of
from .table import Table, check_names


def find_distinct(values: np.ndarray) -> Replicates:
    """Group identical rows (n, d) as one leaf each; those with missing entries (NaN) are equal to no other.

    Rows are compared after centring, as samplers see them: a difference that centring rounds away counts as none.
    """
    everyone = np.arange(len(values))
    # not centred where differences might be infinite; -0.0 and 0.0 are the same
    moderate = np.where(np.abs(values) < 1e300, values, 0.0)
    rows = values - moderate.sum(axis=0) / np.maximum(np.isfinite(values).sum(axis=0), 1) + 0.0
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    # of shape (n, 1) in NumPy 2.0
    twin = np.where(np.isnan(rows).any(axis=1), everyone, first[group.ravel()])
    return replicates_of(np.unique(twin, return_inverse=True)[1])


class Leaves(NamedTuple):
    """Which rows of a table are used, and the leaves they measure."""

    labels: tuple[str, ...]  # names of all leaves
    groups: np.ndarray | None  # (rows of the table,) the leaf of each, where groups were given
    distinct: Replicates  # of leaves, where some are copies: these have no density without a fixed noise
    kept: np.ndarray  # (N,) rows of the table that belong to distinct leaves
    replicates: Replicates | None  # of the rows kept, where leaves have several
    errors: np.ndarray | None  # (rows of the table,)
    has_density: bool  # whether equal rows may stand apart: under a fixed noise, or beside replicates

    @property
    def places(self) -> np.ndarray:
        """(rows of the table,) where each row stands among those kept; a copy stands where its twin does."""
        if self.groups is None:
            return self.distinct.leaf
        place = np.full(len(self.groups), -1)
        place[self.kept] = np.arange(len(self.kept))
        first_row = self.kept[np.unique(self.groups[self.kept], return_index=True)[1]]  # of each distinct leaf
        return np.where(place >= 0, place, place[first_row[self.distinct.leaf[self.groups]]])


_NONE = np.empty(0, np.int64)
NO_LEAVES = Leaves((), None, replicates_of(_NONE), _NONE, None, None, False)  # of a model that chains alone see


def read_leaves(table: Table, noise: Noise, groups: Any = None, errors: Any = None) -> Leaves:
    """Find the leaves of a table's rows, and which of them are copies of others; warn of these."""
    errors = check_errors(errors, len(table.values))
    check_observed(table.values, table.labels, table.features)
    if errors is not None and noise.level == 0.0:
        raise InputError('errors scale the noise, which is 0; leave noise out, or give "learn" or a positive number.')
    leaf, labels = None, table.labels
    if groups is not None:
        leaf, labels = read_groups(groups, len(table.values))
        check_names("group", labels)
        if len(labels) < len(leaf) and noise.level == 0.0:
            raise InputError(
                'rows of one group differ by their noise, which is 0; leave noise out, or give "learn" or a number.'
            )
    leaves = leaves_of(table, noise, leaf, labels, errors)
    if n_copies := len(leaves.distinct.merges):
        twin, copy = leaves.distinct.merges[0]
        warnings.warn(
            f"X has {count(n_copies, 'duplicate row')} (for example {labels[twin]!r} and {labels[copy]!r}, equal "
            "exactly or to within rounding), merged at time 0. A fixed noise, such as noise=0.1, keeps "
            "them apart.",
            CoaltreeWarning,
            stacklevel=4,
        )
    return leaves


def leaves_of(
    table: Table,
    noise: Noise,
    leaf: np.ndarray | None,
    labels: tuple[str, ...],
    errors: np.ndarray | None,
    *,
    are_apart: bool = False,
) -> Leaves:
    """The leaves of these names, where the leaf of each row is known, or every row is one.

    No row is taken for a copy of another under a fixed noise, or if they are known to be apart; of leaves those that
    have one row may be.
    """
    fixed = are_apart or (not noise.is_learnt and noise.level > 0.0)
    of_rows = np.arange(len(table.values)) if leaf is None else leaf
    alone, twin = np.flatnonzero(np.bincount(of_rows)[of_rows] == 1), np.arange(len(labels))
    if not fixed:
        among = find_distinct(table.values[alone])
        twin[of_rows[alone]] = of_rows[alone[among.first[among.leaf]]]
    distinct = replicates_of(np.unique(twin, return_inverse=True)[1])
    if leaf is None:
        return Leaves(labels, None, distinct, distinct.first, None, errors, fixed)
    number = np.full(len(labels), -1)
    number[distinct.first] = np.arange(len(distinct.first))
    kept = np.flatnonzero(number[leaf] >= 0)
    replicates = replicates_of(number[leaf[kept]]) if len(kept) > len(distinct.first) else None
    return Leaves(labels, leaf, distinct, kept, replicates, errors, fixed or replicates is not None)


def read_groups(groups: Any, n_rows: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """The leaf of each row and the leaves' names, in order of first sight, from one value a row."""
    from pandas import factorize, isna

    values = as_array("groups", groups, object)
    if values.shape != (n_rows,):
        raise refusal("groups", f"a sequence of one value for each of the {n_rows} rows", groups)
    leaf, names = factorize(np.array(list(map(str, values)), dtype=object))
    if isna(values).any() or "" in names:
        raise InputError("groups has a missing value or an empty name; give every row a group.")
    if len(names) < 2:
        raise InputError("groups must name at least two groups; all rows have the same.")
    return leaf, tuple(names)
