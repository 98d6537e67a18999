"""Clusters of leaves to colour: labels that the user gives, or a tree or posterior cut into a number of them."""

import numpy as np

from .._runtime.typing import ArrayLike
from ..errors import InputError
from ..posterior.io.pandas_output import in_order_of
from ..posterior.posterior import Posterior
from ..tree.merges import canonical
from ..tree.rooted import RootedTree
from ..tree.tree import Tree


def as_clusters(
    tree: RootedTree, clusters: ArrayLike | None, n_clusters: int | None, *posteriors: object
) -> tuple[np.ndarray | None, list[str] | None]:
    """Return clusters (n,) as numbers, -1 for outliers, and their names if they had any; None where none are coloured.

    The first posterior among `posteriors` is cut into `n_clusters` if it has these leaves, otherwise the tree.
    """
    if clusters is not None and n_clusters is not None:
        raise InputError("give clusters or n_clusters, not both.")
    if n_clusters is not None:
        posterior = next((one for one in posteriors if isinstance(one, Posterior)), None)
        if posterior is not None and set(posterior.labels) == set(tree.labels):
            base: Tree = posterior.mean_tree()
        elif isinstance(tree, Tree):
            base = tree
        else:
            raise InputError("only a binary tree can be cut into n_clusters; give clusters, one per leaf, instead.")
        row_of = {label: row for row, label in enumerate(base.labels)}
        return base.cut(n_clusters)[[row_of[label] for label in tree.labels]], None
    if clusters is None:
        return None, None
    labels = np.asarray(in_order_of(clusters, tree))
    if labels.shape != (tree.n,):
        raise InputError(f"clusters must have shape ({tree.n},), one per leaf, not {labels.shape}.")
    if np.issubdtype(labels.dtype, np.integer) and labels.min() >= -1:
        return labels, None  # already numbers: keep them, and with them their colours
    values, first = np.unique(labels, return_index=True)
    return canonical(labels), [str(value) for value in values[np.argsort(first)]]
