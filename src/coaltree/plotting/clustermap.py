"""The data between a tree of the rows and a tree of the columns: seaborn's clustermap, with our trees and clusters."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..posterior.leaf_annotations import annotations_of
from ..posterior.posterior import Posterior
from ..tree.rooted import default_labels
from ..tree.tree import Tree
from .strips import as_strips, strip_lines
from .style import LEGEND, color_of, number_runs

if TYPE_CHECKING:
    from seaborn.matrix import ClusterGrid


def clustermap(
    posterior: Posterior,
    *,
    columns: "Posterior | Tree | np.ndarray | None" = None,
    n_clusters: int | None = None,
    row_colors: Any = None,
    **settings: Any,
) -> "ClusterGrid":
    """Draw the data as a heat map beside the mean tree, with seaborn's `clustermap`.

    Needs seaborn: ``pip install "coaltree[plots]"``.

    Parameters
    ----------
    posterior : Posterior
        Its mean tree orders the rows; the values are those of its leaves.
    columns : Posterior, Tree or linkage matrix, optional
        A tree of the columns, such as a fit to the transposed table. By default seaborn makes one, or keeps the order
        of the columns where values are missing.
    n_clusters : int, optional
        Number of clusters to colour beside the rows; by default the suggested number.
    row_colors : Series, DataFrame, mapping or sequence, optional
        Leaf annotations beside the clusters: classes, numbers or colours, as in `dendrogram`; by default the
        posterior's own.
    **settings
        Keywords of `seaborn.clustermap`, such as ``z_score=1``, ``cmap="vlag"``, ``annot=True`` or ``figsize=(8, 10)``.

    Returns
    -------
    seaborn.matrix.ClusterGrid

    Examples
    --------
    >>> X, tree = ct.simulate(20, 4, random_state=0)
    >>> post = ct.fit(X, n_samples=20, n_warmup=20, random_state=0, progress=False)
    >>> grid = ct.plotting.clustermap(post, n_clusters=3, z_score=1)
    >>> grid.savefig("clustermap.png")
    """
    try:
        import seaborn
    except ImportError:
        raise InputError('clustermap needs seaborn, which is not installed: pip install "coaltree[plots]".') from None
    import pandas

    values = posterior.model.leaf_values()
    names = posterior.model.columns or default_labels(values.shape[1])
    data = pandas.DataFrame(values, list(posterior.labels), list(names))
    k = n_clusters or posterior.suggest_n_clusters().n_clusters
    number = np.asarray(posterior.cut(k))
    strips = as_strips(annotations_of(posterior) or None if row_colors is None else row_colors, posterior.labels)
    missing = {"none": "white"}  # which seaborn would take for black
    colors = {strip.name: [missing.get(color, color) for color in strip.colors.tolist()] for strip in strips}
    beside = pandas.DataFrame(colors, data.index)
    beside.insert(len(strips), "cluster", [color_of(cluster) for cluster in number.tolist()], allow_duplicates=True)
    if columns is not None:
        settings["col_linkage"] = _linkage(columns, names)
    elif np.isnan(values).any():
        settings = {"col_cluster": False, **settings}
    row_linkage = posterior.mean_tree().to_linkage()
    grid = seaborn.clustermap(data, row_linkage=row_linkage, row_colors=beside, **settings)
    if grid.dendrogram_row is not None:
        number = number[grid.dendrogram_row.reordered_ind]
        number_runs(grid.ax_row_colors, number, len(strips) + 0.5, first=0.5)
        grid.ax_heatmap.hlines(np.flatnonzero(np.diff(number)) + 1, *grid.ax_heatmap.get_xlim(), color="white", lw=1.5)
    handles = [entry for line in strip_lines(strips) for entry in line]
    if handles:
        grid.figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 0.8), **LEGEND)
    return grid


def _linkage(columns: "Posterior | Tree | np.ndarray", names: Any) -> np.ndarray:
    """The linkage of a tree of the columns."""
    tree = columns.mean_tree() if isinstance(columns, Posterior) else columns
    linkage = tree.to_linkage() if isinstance(tree, Tree) else np.asarray(tree, dtype=float)
    if linkage.shape != (len(names) - 1, 4):
        raise InputError(f"columns must be a tree of the {len(names)} columns, not of {len(linkage) + 1} leaves.")
    return linkage
