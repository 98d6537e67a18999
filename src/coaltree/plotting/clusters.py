"""Clusters of leaves to colour: labels that the user gives, or a tree or posterior cut into a number of them."""

from typing import NamedTuple

import numpy as np

from .._runtime.typing import ArrayLike
from ..errors import InputError
from ..posterior.io.pandas_output import in_order_of
from ..posterior.posterior import Posterior
from ..tree.merges import canonical
from ..tree.rooted import RootedTree
from ..tree.tree import Tree


class Clusters(NamedTuple):
    """Numbered clusters of leaves, their names if they had any, and which leaves are in no clade of the cut."""

    number: np.ndarray | None  # (n,) 0, 1, … in order of first leaf; -1 for outliers; None where none are coloured
    names: list[str] | None
    side_branch: np.ndarray  # (n,) bool


def as_clusters(tree: RootedTree, clusters: ArrayLike | None, n_clusters: int | None, *posteriors: object) -> Clusters:
    """Return the clusters asked for: labels of any kind, one per leaf, or a number to cut into.

    The first posterior among `posteriors` is cut if it has these leaves, otherwise the tree.
    """
    if clusters is not None and n_clusters is not None:
        raise InputError("give clusters or n_clusters, not both.")
    if n_clusters is not None:
        posterior = next((given for given in posteriors if isinstance(given, Posterior)), None)
        if posterior is not None and set(posterior.labels) == set(tree.labels):
            base: Tree = posterior.mean_tree()
        elif isinstance(tree, Tree):
            base = tree
        else:
            raise InputError("only a binary tree can be cut into n_clusters; give clusters, one per leaf, instead.")
        row_of = {label: row for row, label in enumerate(base.labels)}
        rows = [row_of[label] for label in tree.labels]
        return Clusters(base.cut(n_clusters)[rows], None, base.cut(n_clusters, outliers=True)[rows] < 0)
    no_leaf = np.zeros(tree.n, dtype=bool)
    if clusters is None:
        return Clusters(None, None, no_leaf)
    labels = np.asarray(in_order_of(clusters, tree))
    if labels.shape != (tree.n,):
        raise InputError(f"clusters must have shape ({tree.n},), one per leaf, not {labels.shape}.")
    if np.issubdtype(labels.dtype, np.integer) and labels.min() >= -1:
        return Clusters(labels, None, no_leaf)  # already numbers: keep them, and with them their colours
    values, first = np.unique(labels, return_index=True)
    return Clusters(canonical(labels), [str(value) for value in values[np.argsort(first)]], no_leaf)
