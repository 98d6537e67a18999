"""Trees of single cells, in the places where scanpy looks for them.

    import coaltree.scanpy
    coaltree.scanpy.dendrogram(adata, "leiden")
    scanpy.pl.dotplot(adata, markers, "leiden", dendrogram=True)

Groups of cells are the leaves of the tree, and their cells replicates (`groups=` of `coaltree.fit`), so that a group of
12 cells counts less than one of 12,000. Under normal noise an iteration costs the same however many cells there are.
Nothing here imports scanpy: an AnnData object is enough.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ._runtime.formatting import some
from ._runtime.random_streams import as_generator
from ._runtime.typing import RandomState
from ._runtime.validation import check_count
from .errors import InputError
from .inference.fit import fit
from .model.data.table import Table
from .model.process.noise import NoiseLike
from .posterior.clusters.answer import answer_for
from .posterior.posterior import Posterior


def dendrogram(
    adata: Any,
    groupby: str | Sequence[str],
    *,
    use_rep: str = "X_pca",
    n_pcs: int | None = None,
    key_added: str | None = None,
    max_cells: int | None = None,
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
    max_cells : int to which larger groups are subsampled; by default all cells are used
    noise : as in `coaltree.fit`, but normal by default, for which sums over the cells of a group are enough. With
        "student" (heavy tails) every iteration visits every cell, so that `max_cells` is of use.
    random_state, **fit_settings : for `coaltree.fit`, such as ``n_samples=200`` or ``covariance="scaled"``.

    Returns
    -------
    Posterior
        Of the tree; ``adata.uns[key]`` has all that scanpy's own function writes, and ``support`` (transfer support of
        the merges), ``times`` and their 90 % intervals, ``times_low`` and ``times_high``, in the order of ``linkage``.
    """
    names = [groupby] if isinstance(groupby, str) else list(groupby)
    groups = _groups(adata, names)
    values = _representation(adata, use_rep, n_pcs)
    codes = groups.codes.to_numpy()
    cells = np.arange(len(codes))
    if max_cells is not None:
        cells = _subsample(codes, check_count("max_cells", max_cells, 2), random_state)
    categories = [str(name) for name in groups.categories]
    members = [categories[code] for code in codes[cells]]
    settings = {"progress": False, **fit_settings, "noise": noise, "random_state": random_state, "groups": members}
    posterior = fit(_table(adata.obs_names[cells], values[cells], use_rep), **settings)
    found = _for_scanpy(posterior, categories, values, codes)
    adata.uns[key_added or f"dendrogram_{'_'.join(names)}"] = found | {"groupby": names, "use_rep": use_rep}
    return posterior


def cells(
    adata: Any,
    *,
    use_rep: str = "X_pca",
    n_pcs: int | None = None,
    n_clusters: int | None = None,
    key_added: str = "coaltree",
    random_state: RandomState = 0,
    **fit_settings: Any,
) -> Posterior:
    """Fit a tree of all cells, for data of some thousands of them, and write its clusters into `adata.obs`.

    Parameters
    ----------
    adata, use_rep, n_pcs, random_state, **fit_settings : as in `dendrogram`.
    n_clusters : int, by default the suggested number
    key_added : str
        ``adata.obs[key_added]`` has the clusters, counted from 1, and ``adata.obs[f"{key_added}_probability"]`` how
        probable the cluster of each cell is.

    Returns
    -------
    Posterior, with the cells as leaves.
    """
    table = _table(adata.obs_names, _representation(adata, use_rep, n_pcs).copy(), use_rep)
    posterior = fit(table, **{"progress": False, **fit_settings, "random_state": random_state})
    answer = answer_for(posterior, n_clusters or posterior.suggest_n_clusters().n_clusters)
    numbers = [str(c + 1) for c in range(answer.n_clusters)]
    adata.obs[key_added] = pd.Categorical([numbers[c] for c in answer.labels], categories=numbers)
    adata.obs[f"{key_added}_probability"] = answer.probability
    return posterior


def to_treedata(adata: Any, posterior: Posterior, key: str = "coaltree") -> Any:
    """Return the cells with their mean tree as a `treedata.TreeData` (`pip install treedata`).

    The leaves of the posterior must be cells, as those of `cells` are. Nodes have ``time`` and ``depth`` (the time from
    the root on), inner ones also ``support`` (transfer).
    """
    try:
        import networkx
        import treedata
    except ImportError:
        raise InputError("to_treedata() needs the package treedata: pip install treedata.") from None
    tree = posterior.mean_tree()
    unknown = sorted(set(tree.labels) - set(map(str, adata.obs_names)))
    if unknown:
        raise InputError(f"the leaves of the tree must be cells of adata, but {some(unknown)} are not.")
    support = np.asarray(posterior.clade_support(tree, kind="transfer"))
    times = tree.node_times
    names = [*tree.labels, *(f"node {k}" for k in range(tree.n - 1))]
    graph = networkx.DiGraph()
    for name, time in zip(names, times.tolist(), strict=True):
        graph.add_node(name, time=time, depth=float(times[-1]) - time)
    for name, children, share in zip(names[tree.n :], tree.children.tolist(), support.tolist(), strict=True):
        graph.nodes[name]["support"] = share
        graph.add_edges_from((name, names[child]) for child in children)
    return treedata.TreeData(adata, obst={key: graph})


def _table(names: Iterable[object], values: np.ndarray, use_rep: str) -> Any:
    columns = tuple(f"{use_rep}_{j}" for j in range(values.shape[1]))
    return Table(np.ascontiguousarray(values), tuple(map(str, names)), columns)


def _groups(adata: Any, names: list[str]) -> Any:
    """Return the group of each cell, as a pandas Categorical accessor (`categories`, `codes`)."""
    for name in names:
        if name not in adata.obs:
            raise InputError(f"adata.obs has no column {name!r} (groupby); its columns are {some(list(adata.obs))}.")
        if not hasattr(adata.obs[name], "cat"):
            raise InputError(f'column {name!r} of adata.obs is not categorical; convert it with .astype("category").')
        n_without = int(adata.obs[name].isna().sum())  # asked here: as text, one of two columns could be called "nan"
        if n_without:
            raise InputError(f"{n_without} cells have no group in {name!r}; leave them out of adata.")
    column = adata.obs[names[0]]
    for name in names[1:]:
        column = (column.astype(str) + "_" + adata.obs[name].astype(str)).astype("category")
    counts = np.bincount(column.cat.codes, minlength=len(column.cat.categories))
    if (counts == 0).any():
        empty = [str(column.cat.categories[k]) for k in np.flatnonzero(counts == 0)]
        raise InputError(
            f"no cell is in {some(empty)}; drop such groups: adata.obs[{names[0]!r}].cat.remove_unused_categories()."
        )
    if len(counts) < 2:
        raise InputError(f"{names[0]!r} has one group only; a tree needs at least two.")
    return column.cat


def _representation(adata: Any, use_rep: str, n_pcs: int | None) -> np.ndarray:
    """Return (cells, d) the values to fit."""
    if use_rep == "X":
        values = adata.X.toarray() if hasattr(adata.X, "toarray") else adata.X
    elif use_rep in adata.obsm:
        values = adata.obsm[use_rep]
    else:
        existing = some([*map(str, adata.obsm.keys()), "X"])
        advice = " Make it with scanpy.pp.pca(adata)." if use_rep == "X_pca" else ""
        raise InputError(f"adata.obsm has no {use_rep!r} (use_rep); there are {existing}.{advice}")
    values = np.asarray(values, dtype=np.float64)
    if n_pcs is not None:
        values = values[:, : check_count("n_pcs", n_pcs, 1, values.shape[1])]
    return values


def _subsample(codes: np.ndarray, max_cells: int, random_state: RandomState) -> np.ndarray:
    """Return the numbers of the cells to fit, in order: all of a small group, `max_cells` of a large one."""
    rng = as_generator(random_state if isinstance(random_state, int | np.integer | None) else 0)
    kept = []
    for code in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == code)
        kept.append(members if len(members) <= max_cells else rng.choice(members, max_cells, replace=False))
    return np.sort(np.concatenate(kept))


def _for_scanpy(posterior: Posterior, categories: list[str], values: np.ndarray, codes: np.ndarray) -> dict[str, Any]:
    """Return what scanpy's own function writes, and what only a posterior has."""
    from scipy.cluster.hierarchy import dendrogram as layout

    tree = posterior.mean_tree()
    linkage = tree.to_linkage()
    # The tree's leaves are in order of first cell, scanpy's in order of categories.
    number = np.array([*map(categories.index, tree.labels), *range(tree.n, 2 * tree.n - 1)])
    linkage[:, :2] = number[linkage[:, :2].astype(int)]
    drawn = layout(linkage, labels=categories, no_plot=True)
    means = np.stack([values[codes == code].mean(axis=0) for code in range(len(categories))])
    interval = np.asarray(posterior.node_times(tree))
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
        "times_low": interval[:, 0],
        "times_high": interval[:, 1],
    }
