"""Clusters: clades of the mean tree, and all trees cut alike to compare them with."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ..._runtime.typing import ArrayLike
from ...tree.cuts import MinSize, check_cut, side_branches
from ..io.pandas_output import in_order_of
from . import partitions, stability

if TYPE_CHECKING:
    from ..posterior import Posterior


def cut_mean_tree(
    posterior: "Posterior", n_clusters: int | None, time: float | None, min_size: MinSize, outliers: bool
) -> np.ndarray:
    """The cluster of each leaf, -1 for outliers; `Posterior.cut` explains the parameters."""
    tree = posterior.mean_tree()
    labels = tree.cut(n_clusters, time=time, min_size=min_size)
    how = check_cut(posterior.n, n_clusters, time, min_size, outliers)
    if not how.outliers:
        return labels
    is_outlier, rows = side_branches(tree.children, how), posterior.whitened_rows
    if rows is not None:
        is_outlier = partitions.is_outlier(np.where(is_outlier, ~labels, labels), rows)
    return np.where(is_outlier, -1, labels)


def read_partition(
    posterior: "Posterior", labels: ArrayLike, min_size: MinSize = "auto", outliers: bool | None = None
) -> tuple[stability.Reference, Callable[[int], np.ndarray], bool]:
    """The given partition, what cuts all trees into a number of clusters, and whether outliers are named."""
    reference = stability.read_labels(in_order_of(labels, posterior), posterior.n)
    outliers = bool((reference.numbers < 0).any()) if outliers is None else outliers

    @cache
    def cut_into(number: int) -> np.ndarray:
        how = check_cut(posterior.n, number, None, min_size, outliers)
        rows = posterior.whitened_rows if how.outliers else None
        return partitions.cut_labels(posterior.children, posterior.times, how, rows)

    return reference, cut_into, outliers
