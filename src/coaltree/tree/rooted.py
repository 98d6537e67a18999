"""`RootedTree`: what a binary `Tree` and a consensus tree, whose nodes may have many children, have in common.

Leaves are 0 … n-1 and inner node n + k is made by merge k, in order of time, so that the root is the last node.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class RootedTree:
    """Leaves with names, and inner nodes with times; which nodes an inner node joins is the subclass's to say."""

    __slots__ = ("_labels", "_times")
    _labels: tuple[str, ...]
    _times: np.ndarray

    @property
    def children(self) -> "np.ndarray | tuple[tuple[int, ...], ...]":
        """The nodes that each inner node joins: `children[k]` are those of node n + k."""
        raise NotImplementedError

    @property
    def times(self) -> np.ndarray:
        """The time of each inner node, float64, non-decreasing. Read-only."""
        return self._times

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the n leaves."""
        return self._labels

    @property
    def n(self) -> int:
        """The number of leaves."""
        return len(self._labels)

    @property
    def root(self) -> int:
        """The root's node number, the largest of all."""
        return self.n + len(self._times) - 1

    @property
    def node_times(self) -> np.ndarray:
        """The time of each node, leaves first; 0 for leaves."""
        return np.append(np.zeros(self.n), self._times)

    def plot(self, ax: "Axes | None" = None, **options: Any) -> "Axes":
        """Draw a dendrogram and return its axes; options are those of `plotting.dendrogram`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        options
            As of `plotting.dendrogram`.

        Returns
        -------
        matplotlib.axes.Axes
            With the tree.

        Examples
        --------
        >>> ax = ct.Tree.from_newick("((a:1,b:1):1,c:2);").plot(n_clusters=2)
        """
        from .. import plotting

        return plotting.dendrogram(self, ax=ax, **options)

    def svg(self, **options: Any) -> str:
        """The dendrogram as an SVG element, for pages and notebooks; options are those of `plotting.dendrogram`.

        Parameters
        ----------
        options
            As of `plotting.dendrogram`.

        Returns
        -------
        str
            The element.

        Examples
        --------
        >>> ct.Tree.from_newick("((a:1,b:1):1,c:2);").svg().startswith("<svg")
        True
        """
        from io import StringIO

        from matplotlib.figure import Figure

        from .. import plotting
        from ..plotting import style

        n_tips = min(self.n, 40)
        figure = Figure(figsize=(6.5, max(1.6, 0.8 + 0.17 * n_tips)), layout="constrained")
        plotting.dendrogram(self, ax=figure.add_subplot(), **options)
        file = StringIO()
        style.save(figure, file, "svg")
        return file.getvalue()[file.getvalue().index("<svg") :]

    def _repr_svg_(self) -> str:
        return self.svg()


def default_labels(n: int) -> tuple[str, ...]:
    """Names for n leaves that nobody named: "0", "1", …"""
    return tuple(map(str, range(n)))


def as_names(names: Any, what: str, n: int) -> tuple[str, ...]:
    """Return n names as strings; anything but n of them is refused as `what`."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InputError(f"{what} must be a sequence of {n} names, not {type(names).__name__}.")
    strings = tuple(map(str, names))
    if len(strings) != n:
        raise InputError(f"{what} must be {n} names, not {len(strings)}.")
    return strings


def check_labels(labels: Any, n: int) -> tuple[str, ...]:
    """Return the names of n leaves, all different and none empty; numbers where none are given."""
    if labels is None:
        return default_labels(n)
    names = as_names(labels, "labels", n)
    if "" in names:
        raise InputError(f"labels must not be empty, but that of leaf {names.index('')} is.")
    if len(set(names)) < n:
        first = {name: n - 1 - i for i, name in enumerate(reversed(names))}
        leaf = next(leaf for leaf, name in enumerate(names) if first[name] < leaf)
        raise InputError(f"labels must differ, but leaves {first[names[leaf]]} and {leaf} are both {names[leaf]!r}.")
    return names
