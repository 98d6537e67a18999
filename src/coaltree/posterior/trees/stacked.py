"""Many trees as stacked arrays: children (T, n-1, 2) and times (T, n-1)."""

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex, overload

import numpy as np

from ..._runtime.typing import ArrayLike
from ...errors import InputError
from ...tree import Tree, unchecked_tree


class TreeSequence(Sequence[Tree]):
    """A lazy sequence of the trees of a posterior."""

    def __init__(self, children: np.ndarray, times: np.ndarray, labels: tuple[str, ...]) -> None:
        self._children, self._times, self._labels = children, times, labels

    def __len__(self) -> int:
        return len(self._times)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Tree: ...

    @overload
    def __getitem__(self, index: slice) -> "TreeSequence": ...

    def __getitem__(self, index: SupportsIndex | slice) -> "Tree | TreeSequence":
        if isinstance(index, slice):
            return TreeSequence(self._children[index], self._times[index], self._labels)
        index = operator.index(index)
        return unchecked_tree(self._children[index].astype(np.int64), self._times[index], self._labels)

    def __repr__(self) -> str:
        return f"<{len(self)} trees of {self._times.shape[1] + 1} leaves>"


def read_only(array: ArrayLike, dtype: Any = np.float64) -> np.ndarray:
    """A read-only view in the given type, contiguous; copied only where it must be."""
    array = np.ascontiguousarray(array, dtype=dtype).view()
    array.flags.writeable = False
    return array


def check_trees(children: np.ndarray, times: np.ndarray) -> None:
    """Raise InputError unless each row of stacked arrays is a tree."""
    if times.ndim != 2 or times.size == 0 or children.shape != (*times.shape, 2):
        raise InputError(
            "A posterior needs at least one tree, with children of shape (T, n-1, 2) and times of shape (T, n-1), "
            f"not {children.shape} and {times.shape}."
        )
    n = times.shape[1] + 1
    before = np.column_stack([np.zeros(len(times)), times[:, :-1]])
    are_in_order = ((before <= times) & (times < np.inf)).all(axis=1)
    are_made = ((children >= 0) & (children < n + np.arange(n - 1)[:, None])).all(axis=(1, 2))  # on which kernels rely
    is_joined = np.zeros((len(times), 2 * n - 2), dtype=bool)  # once each
    np.put_along_axis(is_joined, children.reshape(len(times), -1) % (2 * n - 2), True, axis=1)
    for wrong in np.flatnonzero(~(are_in_order & are_made & is_joined.all(axis=1))):
        try:
            Tree(children[wrong], times[wrong])  # says what is wrong with it
        except InputError as error:
            raise InputError(f"Tree {wrong} of the posterior is not valid: {error}") from None
