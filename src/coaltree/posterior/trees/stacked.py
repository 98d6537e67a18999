"""Many trees as stacked arrays: children (T, n-1, 2) and times (T, n-1)."""

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex, overload

import numpy as np

from ..._runtime.jit import jit
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
    wrong = _first_wrong(children, times)
    if wrong >= 0:
        try:
            Tree(children[wrong], times[wrong])  # says what is wrong with it
        except InputError as error:
            raise InputError(f"Tree {wrong} of the posterior is not valid: {error}") from None


@jit
def _first_wrong(children: np.ndarray, times: np.ndarray) -> int:
    """The first invalid tree, or -1: kernels rely on every node being joined once, after it is made."""
    n = times.shape[1] + 1
    joined_in = np.full(2 * n - 1, -1, np.int64)
    for t in range(len(times)):
        last = 0.0
        for k in range(n - 1):
            if not (last <= times[t, k] < np.inf):
                return t
            last = times[t, k]
            for c in children[t, k]:
                if c < 0 or c >= n + k or joined_in[c] == t:
                    return t
                joined_in[c] = t
    return -1
