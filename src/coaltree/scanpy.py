"""Trees of single cells, in the places where scanpy looks for them.

    import coaltree.scanpy
    coaltree.scanpy.dendrogram(adata, "leiden")
    scanpy.pl.dotplot(adata, markers, "leiden", dendrogram=True)

Groups of cells are the leaves of the tree, and their cells replicates (`groups=` of `coaltree.fit`), so that a group of
12 cells counts less than one of 12,000. All cells count: under normal noise a round costs the same however many there
are. Nothing here imports scanpy: an AnnData object is enough.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._runtime.formatting import some
from ._runtime.random_streams import as_generator
from ._runtime.typing import RandomState
from ._runtime.validation import check_count
from .errors import InputError
from .inference.fit import fit
from .model.data.table import Table, as_double
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
    groupby : str or sequence of str
        Categorical columns of `adata.obs`; several are combined, as scanpy does.
    use_rep : str
        The values of the cells: a key of `adata.obsm`, or "X" for `adata.X`.
    n_pcs : int, optional
        How many columns of them to use.
    key_added : str, optional
        Where in `adata.uns`; by default ``dendrogram_<groupby>``.
    max_cells : int, optional
        Of larger groups so many cells are drawn; by default all count.
    noise : as in `coaltree.fit`, but normal by default, for which sums over the cells of a group are enough. With
        "student" (heavy tails) every round looks at every cell, so that `max_cells` is of use.
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
    chosen = np.arange(len(codes))
    if max_cells is not None:
        chosen = _some_cells(codes, check_count("max_cells", max_cells, 2), random_state)
    table: Any = Table(
        np.ascontiguousarray(values[chosen]),
        tuple(str(name) for name in adata.obs_names[chosen]),
        tuple(f"{use_rep}_{j}" for j in range(values.shape[1])),
    )
    categories = [str(name) for name in groups.categories]
    member = [categories[code] for code in codes[chosen]]
    settings = {"progress": False, **fit_settings, "noise": noise, "random_state": random_state, "groups": member}
    posterior = fit(table, **settings)
    key = key_added or f"dendrogram_{'_'.join(names)}"
    adata.uns[key] = _for_scanpy(posterior, categories, values, codes) | {
        "groupby": names,
        "use_rep": use_rep,
    }
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
    adata, use_rep, n_pcs, random_state, **fit_settings : as in `dendrogram`; ``neighbors=adata.obsp["distances"]``
        takes the neighbours that scanpy has found.
    n_clusters : int, optional
        By default the suggested number.
    key_added : str
        ``adata.obs[key_added]`` has the clusters, counted from 1, and ``adata.obs[f"{key_added}_probability"]`` how
        probable the cluster of each cell is.

    Returns
    -------
    Posterior, with the cells as leaves.
    """
    import pandas

    values = _representation(adata, use_rep, n_pcs)
    names = tuple(str(name) for name in adata.obs_names)
    table: Any = Table(np.array(values, order="C"), names, tuple(f"{use_rep}_{j}" for j in range(values.shape[1])))
    settings = {"progress": False, **fit_settings, "random_state": random_state}
    posterior = fit(table, **settings)
    answer = answer_for(posterior, n_clusters or posterior.suggest_n_clusters().n_clusters)
    numbers = [str(c + 1) for c in range(answer.n_clusters)]
    adata.obs[key_added] = pandas.Categorical([numbers[c] for c in answer.labels], categories=numbers)
    adata.obs[f"{key_added}_probability"] = answer.probability
    return posterior


def to_treedata(adata: Any, posterior: Posterior, key: str = "coaltree") -> Any:
    """The cells with their mean tree as a `treedata.TreeData` (`pip install treedata`).

    The leaves of the posterior must be cells, as those of `cells` are. Nodes have ``time`` and ``depth`` (the time from
    the root on), inner ones also ``support`` (transfer).
    """
    try:
        import networkx
        import treedata
    except ImportError:
        raise InputError("to_treedata() needs the package treedata: pip install treedata.") from None
    tree = posterior.mean_tree()
    strange = sorted(set(tree.labels) - {str(name) for name in adata.obs_names})
    if strange:
        raise InputError(f"the leaves of the tree must be cells of adata, but {some(strange)} are not.")
    support = posterior.clade_support(tree, kind="transfer", output="numpy")
    times = tree.node_times
    names = [*tree.labels, *(f"node {k}" for k in range(tree.n - 1))]
    graph = networkx.DiGraph()
    for node, name in enumerate(names):
        known = {"time": float(times[node]), "depth": float(times[-1] - times[node])}
        if node >= tree.n:
            known["support"] = float(support[node - tree.n])
        graph.add_node(name, **known)
    for k, (left, right) in enumerate(tree.children.tolist()):
        graph.add_edge(names[tree.n + k], names[left])
        graph.add_edge(names[tree.n + k], names[right])
    return treedata.TreeData(adata, obst={key: graph})


def _groups(adata, names):
    """The group of each cell, as a pandas Categorical accessor (`categories`, `codes`)."""
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


def _representation(adata, use_rep, n_pcs):
    """(cells, d) the values to fit."""
    if use_rep == "X":
        values = adata.X.toarray() if hasattr(adata.X, "toarray") else adata.X
    elif use_rep in adata.obsm:
        values = adata.obsm[use_rep]
    else:
        known = some([*map(str, adata.obsm.keys()), "X"])
        advice = " Make it with scanpy.pp.pca(adata)." if use_rep == "X_pca" else ""
        raise InputError(f"adata.obsm has no {use_rep!r} (use_rep); there are {known}.{advice}")
    values = np.asarray(values, dtype=np.float32 if getattr(values, "dtype", None) == np.float32 else np.float64)
    if n_pcs is not None:
        values = values[:, : check_count("n_pcs", n_pcs, 1, values.shape[1])]
    return values


def _some_cells(codes, most, random_state):
    """Numbers of the cells to fit, in order: all of a small group, and `most` of a large one."""
    rng = as_generator(random_state if isinstance(random_state, int | np.integer | None) else 0)
    chosen = []
    for code in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == code)
        chosen.append(members if len(members) <= most else rng.choice(members, most, replace=False))
    return np.sort(np.concatenate(chosen))


def _for_scanpy(posterior, categories, values, codes):
    """What scanpy's own function writes, and what only a posterior knows."""
    from scipy.cluster.hierarchy import dendrogram as layout

    tree = posterior.mean_tree()
    order = {name: number for number, name in enumerate(categories)}
    number = np.array([order[label] for label in tree.labels])  # leaves are numbered as they are met
    linkage = tree.to_linkage()
    linkage[:, :2] = np.where(
        linkage[:, :2] < tree.n, number[np.minimum(linkage[:, :2], tree.n - 1).astype(int)], linkage[:, :2]
    )
    drawn = layout(linkage, labels=categories, no_plot=True)
    means = np.stack([as_double(values[codes == code]).mean(axis=0) for code in range(len(categories))])
    interval = posterior.node_times(tree, output="numpy")
    return {
        "linkage": linkage,
        "cor_method": "pearson",
        "linkage_method": "coaltree",
        "categories_ordered": drawn["ivl"],
        "categories_idx_ordered": drawn["leaves"],
        "dendrogram_info": drawn,
        "correlation_matrix": np.corrcoef(means) if means.shape[1] > 1 else np.ones((len(means), len(means))),
        "support": posterior.clade_support(tree, kind="transfer", output="numpy"),
        "times": np.array(tree.times),
        "times_low": interval[:, 0],
        "times_high": interval[:, 1],
    }
