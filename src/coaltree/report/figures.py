"""What the page's script draws, as plain lists, numbers and characters: the tree, the data and the co-clustering.

Rows come in tree order: the mean tree with the smaller clade of each merge first. For matrices too
large for a screen, neighbouring rows (and columns) of the data are averaged, and the co-clustering shows evenly spaced
leaves only, so that the page stays small and no n × n matrix is ever made.
"""

from typing import Any, NamedTuple

import numpy as np

from .._runtime.typing import ArrayLike
from ..errors import InputError
from ..model.data.replicates import leaf_means
from ..model.data.table import read_table
from ..numerics.weighted import pick_evenly
from ..plotting.color_scale import colour_limits, moments, rescaled, scales_differ
from ..posterior.clusters import partitions
from ..posterior.posterior import Posterior
from ..posterior.trees import node_times
from ..tree import Tree, unchecked_tree
from ..tree.cuts import check_cut
from . import pixels
from .text import printable

LEVEL = 0.9  # of the credible intervals

_MOST_COLUMNS = 256
_MOST_CELLS = 160_000  # of the data; two characters each
_MOST_TOGETHER = 512  # leaves across the co-clustering at the number of clusters the page starts with
_MOST_TOGETHER_ELSEWHERE = 180  # and at others
_OTHER_NUMBERS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50)
_MOST_DRAWS = 1000  # used for co-clustering
_MOST_CELLS_TWICE = 60_000  # of data that the page has both scaled and as they are


class TreeFigure(NamedTuple):
    """The tree of the page and what the posterior says of its merges."""

    tree: Tree
    support: np.ndarray  # (n-1,) transfer support
    exact: np.ndarray  # (n-1,) share of trees with exactly this clade
    interval: np.ndarray  # (n-1, 2) of the time; NaN where too few trees have such a clade
    basis: np.ndarray  # (n-1,) what the interval is taken from: "exact", "closest" or "none"

    def content(self) -> dict[str, Any]:
        return {
            "labels": [printable(label) for label in self.tree.labels],
            "children": self.tree.children.ravel().tolist(),
            "times": self.tree.times.tolist(),  # all digits: some differ by very little, in the order of clusters
            "support": rounded(self.support, 3),
            "exact": rounded(self.exact, 3),
            "low": rounded(self.interval[:, 0]),
            "high": rounded(self.interval[:, 1]),
            "closest": np.flatnonzero(self.basis == "closest").tolist(),
            "level": LEVEL,
        }


def tree_figure(posterior: Posterior) -> TreeFigure:
    """The mean tree, smaller clades first, with supports and intervals."""
    best = posterior.mean_tree()
    sizes = best.sizes[best.children]
    swap = sizes[:, 0] > sizes[:, 1]
    children = np.where(swap[:, None], best.children[:, ::-1], best.children)
    tree = unchecked_tree(children, best.times, best.labels)
    support = posterior.clade_support(tree, kind="transfer", output="numpy")
    exact = posterior.clade_support(tree, output="numpy")
    return TreeFigure(tree, support, exact, *node_times.intervals(posterior, tree, LEVEL))


class Data(NamedTuple):
    """Rows in the order of the leaves, and the names of the columns."""

    values: np.ndarray  # (n, d), NaN where missing
    names: list[str]
    given: np.ndarray  # (rows, d) what the values are the means of: themselves, where every row is a leaf


def read_data(posterior: Posterior, X: ArrayLike | None) -> Data | None:
    """The data to show: X if given, in the order of the leaves, otherwise what was fitted."""
    if X is None:
        if posterior.X is None:
            return None
        given, names = posterior.X, posterior.columns
    else:
        given, rows, names = read_table(X, allow_missing=True)
        has_rows = posterior.groups is not None and len(given) == len(posterior.groups)
        if not has_rows and len(given) != posterior.n:
            raise InputError(f"X must have one row per leaf, {posterior.n} of them, not {len(given)}.")
        labels = posterior.row_labels if has_rows else posterior.labels
        if names is not None and set(rows) == set(labels):
            row_of = {name: row for row, name in enumerate(rows)}
            given = given[[row_of[label] for label in labels]]
    given = np.asarray(given, dtype=float)
    groups = posterior.groups
    values = given if groups is None or len(given) != len(groups) else leaf_means(given, groups)
    names = [str(j) for j in range(values.shape[1])] if names is None else [printable(name) for name in names]
    return Data(values, names, given)


def data_figure(data: Data, order: np.ndarray) -> dict[str, Any]:
    """The data in tree order as characters, with what is needed to turn a cell back into a value.

    Columns are scaled where their scales differ; the page can switch to the other way, "other", unless that is large.
    """
    values = data.values[order]
    n_columns = min(values.shape[1], _MOST_COLUMNS)
    n_rows = min(len(values), max(1, _MOST_CELLS // n_columns))
    is_scaled = scales_differ(values)
    content = {
        "rows": n_rows,
        "columns": n_columns,
        "of": list(data.values.shape),
        "names": pixels.block_names(data.names, n_columns),
        "missing": int(np.isnan(data.values).sum()),
        **_coded(values, n_rows, n_columns, is_scaled),
    }
    if values.shape[1] > 1 and n_rows * n_columns <= _MOST_CELLS_TWICE:
        content["other"] = _coded(values, n_rows, n_columns, not is_scaled)
    if n_columns == len(data.names):
        mean, sd = moments(values)
        content |= {"mean": rounded(mean, 4), "sd": rounded(np.where(sd > 0, sd, 1.0), 4)}
    return content


def _coded(values, n_rows, n_columns, is_scaled):
    shown = pixels.shrink(rescaled(values, 1 if is_scaled else None)[0], n_rows, n_columns)
    low, high, is_two_sided = colour_limits(shown)
    return {
        "low": low,
        "high": high,
        "twoSided": is_two_sided,
        "scaled": is_scaled,
        "codes": pixels.values(shown, low, high),
    }


def together_figure(posterior: Posterior, order: np.ndarray, n_clusters: int) -> dict[str, Any]:
    """How often leaves are in one cluster, for the number of clusters the page starts with and some others."""
    n = posterior.n
    children, times, weights = _draws(posterior)
    numbers = sorted({n_clusters, *(k for k in _OTHER_NUMBERS if k < n)} - {1, n})
    levels = []
    for k in numbers:
        m = min(n, _MOST_TOGETHER if k == n_clusters else _MOST_TOGETHER_ELSEWHERE)
        at = (2 * np.arange(m) + 1) * n // (2 * m)
        together = np.zeros((m, m))
        labels = _cut(posterior, children, times, k)[:, order[at]]
        partitions.add_coclustering(together, np.ascontiguousarray(labels), weights)
        levels.append({"clusters": k, "size": m, "codes": pixels.shares(together[np.triu_indices(m, 1)])})
    return {"draws": len(times), "levels": levels}


def _draws(posterior):
    """At most so many draws, taken evenly by weight."""
    children, times, weights = posterior.children, posterior.times, posterior.weights
    if len(times) <= _MOST_DRAWS:
        return children, times, weights
    chosen = pick_evenly(weights, _MOST_DRAWS)
    return children[chosen], times[chosen], np.full(_MOST_DRAWS, 1.0 / _MOST_DRAWS)


def _cut(posterior, children, times, n_clusters):
    """(T, n) the clusters of some of the posterior's trees, as `Posterior.coclustering` has them."""
    return partitions.cut_labels(children, times, check_cut(posterior.n, n_clusters))


def rounded(values: ArrayLike, digits: int = 6) -> list[float | None]:
    """Numbers with so many significant digits, for JSON; None for what is not a number."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in np.asarray(values, dtype=float)]
