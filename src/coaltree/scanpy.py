"""A tree of groups of cells, in the place where scanpy looks for it. Nothing here imports scanpy.

Groups of cells are the leaves of the tree, and their cells replicates (`groups=` of `coaltree.fit`), so that a group of
12 cells counts less than one of 12,000. Under normal noise an iteration costs the same however many cells there are.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._runtime.formatting import shortlist
from ._runtime.typing import RandomState
from ._runtime.validation import check_count
from .errors import InputError
from .inference.fit import fit
from .model.data.table import Table
from .model.process.noise import NoiseLike
from .posterior.posterior import Posterior


def dendrogram(
    adata: Any,
    groupby: str | Sequence[str],
    *,
    use_rep: str = "X_pca",
    n_pcs: int | None = None,
    key_added: str | None = None,
    noise: NoiseLike = "learn",
    random_state: RandomState = 0,
    **fit_settings: Any,
) -> Posterior:
    """Fit a tree of groups of cells, and write it where scanpy's plots look for one.

    Parameters
    ----------
    adata : AnnData
    groupby : str or sequence of str, categorical columns of `adata.obs`; several are combined, as scanpy does
    use_rep : the values of the cells, a key of `adata.obsm`, or "X" for `adata.X`
    n_pcs : int, optional, how many columns of them to use
    key_added : where in `adata.uns`; by default ``dendrogram_<groupby>``
    noise : as in `coaltree.fit`, but normal by default, for which sums over the cells of a group are enough. With
        "student" (heavy tails) every iteration visits every cell.
    random_state, **fit_settings : for `coaltree.fit`, such as ``n_samples=200`` or ``covariance="scaled"``.

    Returns
    -------
    Posterior
        Of the tree; ``adata.uns[key]`` has all that scanpy's own function writes, and ``support`` (transfer support of
        the merges), ``times`` and their 90 % intervals, ``times_low`` and ``times_high``, in the order of ``linkage``.

    Examples
    --------
    >>> coaltree.scanpy.dendrogram(adata, "leiden")  # doctest: +SKIP
    >>> scanpy.pl.dotplot(adata, markers, "leiden", dendrogram=True)  # doctest: +SKIP
    """
    names = [groupby] if isinstance(groupby, str) else list(groupby)
    groups = _groups(adata, names)
    values = _representation(adata, use_rep, n_pcs)
    codes, categories = groups.codes.to_numpy(), [str(name) for name in groups.categories]
    columns = tuple(f"{use_rep}_{j}" for j in range(values.shape[1]))
    table: Any = Table(np.ascontiguousarray(values), tuple(map(str, adata.obs_names)), columns)
    settings = {"progress": False, **fit_settings, "noise": noise, "random_state": random_state}
    posterior = fit(table, groups=[categories[code] for code in codes], **settings)
    written = _for_scanpy(posterior, categories, values, codes)
    adata.uns[key_added or f"dendrogram_{'_'.join(names)}"] = written | {"groupby": names, "use_rep": use_rep}
    return posterior


def _groups(adata: Any, names: list[str]) -> Any:
    """Return the group of each cell, as a pandas Categorical accessor (`categories`, `codes`)."""
    for name in names:
        if name not in adata.obs:
            raise InputError(
                f"adata.obs has no column {name!r} (groupby); its columns are {shortlist(list(adata.obs))}."
            )
        if not hasattr(adata.obs[name], "cat"):
            raise InputError(f'column {name!r} of adata.obs is not categorical; convert it with .astype("category").')
        if n_without := int(adata.obs[name].isna().sum()):
            raise InputError(f"{n_without} cells have no group in {name!r}; leave them out of adata.")
    column = adata.obs[names[0]]
    for name in names[1:]:
        column = column.astype(str) + "_" + adata.obs[name].astype(str)
    column = column.astype("category").cat.remove_unused_categories()
    if len(column.cat.categories) < 2:
        raise InputError(f"{names[0]!r} has one group only; a tree needs at least two.")
    return column.cat


def _representation(adata: Any, use_rep: str, n_pcs: int | None) -> np.ndarray:
    """Return (cells, d) the values to fit."""
    if use_rep != "X" and use_rep not in adata.obsm:
        advice = " Make it with scanpy.pp.pca(adata)." if use_rep == "X_pca" else ""
        raise InputError(f"adata.obsm has no {use_rep!r} (use_rep); there is {shortlist([*adata.obsm, 'X'])}.{advice}")
    values = adata.X if use_rep == "X" else adata.obsm[use_rep]
    values = np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
    return values if n_pcs is None else values[:, : check_count("n_pcs", n_pcs, 1, values.shape[1])]


def _for_scanpy(posterior: Posterior, categories: list[str], values: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """Return what scanpy's own function writes, and what only a posterior has."""
    from scipy.cluster.hierarchy import dendrogram as layout

    tree = posterior.mean_tree()
    # The tree's leaves are in order of first cell, scanpy's in order of categories.
    linkage = tree.to_linkage()
    number = np.array([*map(categories.index, tree.labels), *range(tree.n, 2 * tree.n - 1)])
    linkage[:, :2] = number[linkage[:, :2].astype(int)]
    drawn = layout(linkage, labels=categories, no_plot=True)
    means = np.stack([values[codes == code].mean(axis=0) for code in range(len(categories))])
    low, high = np.asarray(posterior.node_times(tree)).T
    return {
        "linkage": linkage,
        "cor_method": "pearson",
        "linkage_method": "coaltree",
        "categories_ordered": drawn["ivl"],
        "categories_idx_ordered": drawn["leaves"],
        "dendrogram_info": drawn,
        "correlation_matrix": np.corrcoef(means) if means.shape[1] > 1 else np.ones((len(means), len(means))),
        "support": np.asarray(posterior.clade_support(tree, kind="transfer")),
        "times": np.array(tree.times),
        "times_low": low,
        "times_high": high,
    }
