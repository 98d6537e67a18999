"""Duplicate rows: merged at time 0 before sampling, put back on the trees after it.

They have no density under the model without leaf noise, so the sampler runs over the distinct rows, and
`Distinct.expand` puts the duplicates back.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._runtime.formatting import count
from ...errors import CoaltreeWarning


class Distinct(NamedTuple):
    """Which rows are copies of which: row i equals distinct row ``group[i]``, first seen at ``first[group[i]]``."""

    first: np.ndarray  # (g,) row numbers
    group: np.ndarray  # (n,)

    @property
    def n_copies(self) -> int:
        """How many rows repeat an earlier one."""
        return len(self.group) - len(self.first)

    def expand(self, children: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Turn trees over the g distinct rows, (T, g-1, 2) and (T, g-1), into trees over all n rows."""
        n, g = len(self.group), len(self.first)
        if n == g:
            return children, times
        node_of_group = self.first.copy()
        merges_of_copies = []
        for i in np.flatnonzero(self.first[self.group] != np.arange(n)):
            merges_of_copies.append((node_of_group[self.group[i]], i))
            node_of_group[self.group[i]] = n + len(merges_of_copies) - 1
        copies = len(merges_of_copies)
        new_node = np.concatenate([node_of_group, n + copies + np.arange(g - 1)])
        zero_merges = np.broadcast_to(np.array(merges_of_copies), (len(times), copies, 2))
        return (
            np.concatenate([zero_merges, new_node[children]], axis=1).astype(np.int32),
            np.concatenate([np.zeros((len(times), copies)), times], axis=1),
        )


def find_distinct(
    values: np.ndarray, labels: Sequence[str] | None = None, *, has_density: bool = False, quiet: bool = False
) -> Distinct:
    """Group identical rows; without leaf noise they have no density, and the user is told that they merge at time 0.

    Rows are compared after centring, as samplers see them: a difference that centring rounds away counts as none.
    With leaf noise, or where entries are missing (NaN), rows stay apart.
    """
    n = len(values)
    everyone = np.arange(n)
    if has_density:
        return Distinct(everyone, everyone)
    rows = np.array(values, dtype=np.float64, order="C")
    rows -= _centre(rows)
    rows += 0.0  # -0.0 and 0.0 are the same
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()  # of shape (n, 1) in NumPy 2.0
    if len(first) < n:
        missing = np.isnan(rows).any(axis=1)
        keys = np.where(missing, n + everyone, first[group])  # a row with missing entries equals no other
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    distinct = Distinct(first[order], np.argsort(order)[group])
    if distinct.n_copies and not quiet:
        i = next(i for i in range(n) if distinct.first[distinct.group[i]] != i)
        twin = distinct.first[distinct.group[i]]
        names = (labels[twin], labels[i]) if labels else (twin, i)
        warnings.warn(
            f"X has {count(distinct.n_copies, 'duplicate row')} (for example {names[0]!r} and {names[1]!r}, equal "
            "exactly or to within rounding), merged at time 0. A fixed noise, such as noise=0.1 (--noise 0.1), keeps "
            "them apart.",
            CoaltreeWarning,
            stacklevel=3,
        )
    return distinct


def _centre(values: np.ndarray) -> np.ndarray:
    """Return the mean of each column's finite entries, or 0 where differences from it might not be finite."""
    finite = np.isfinite(values)
    moderate = np.where(finite & (np.abs(values) < 1e300), values, 0.0)
    return np.asarray(moderate.sum(axis=0) / np.maximum(finite.sum(axis=0), 1))
