"""`place`: where new rows would join the trees of a posterior, and how likely they are.

    p(x | X) = Σ_t w_t p(x | X, tree_t, θ_t) ,      P(sister clade C | x) = Σ_t w_t(x) P(branch above C | x, tree_t) ,
    w_t(x) ∝ w_t p(x | X, tree_t, θ_t) .

Missing entries of a new row are integrated out: it is compared with all rows in the columns o it has, whitened by
Φ_oo. The messages of a tree are made once for each set of columns, and kept.
"""

import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..._runtime.formatting import shortlist
from ..._runtime.progress import watching
from ..._runtime.random_streams import as_generator, make_streams
from ..._runtime.threads import allowed_threads, single_threaded_blas
from ..._runtime.typing import ArrayLike, RandomState
from ..._runtime.validation import as_labels, check_count, check_level
from ...errors import CoaltreeWarning, InputError
from ...model.covariance import Components
from ...model.data.leaves import find_distinct
from ...model.data.table import Table, read_table
from ...model.data.transform import transformed
from ...model.process.noise import typical_error
from ...model.process.whitened import Problem
from ...numerics.weighted import pick_trees, weighted_quantile
from ...samplers.regraft.placement import Places
from ...tree.merges import layout
from ..io.pandas_output import in_order_of
from ..trees.clades import clade_table
from ..validation import require_model
from .new_components import NewRows

if TYPE_CHECKING:
    from ..posterior import Posterior

Clades = tuple[Any, list[list[int]]]  # probabilities, and [tree, node] of each clade

_SHARES_AT_ONCE = 1 << 21  # (rows, branches and clades) held at a time
_MAX_KEPT, _BYTES_OF_A_NODE = 1 << 28, 100  # of messages, with its part of the lineage counts
_NO_INFORMATION = 1e300  # a variance beside which every other is 0
_MAX_WHITENED = 1e145  # so that squared distances are finite
_kept: "WeakKeyDictionary[Posterior, dict[Any, _Messages]]" = WeakKeyDictionary()


@dataclass(frozen=True, repr=False)
class Placement:
    """Where m new rows would join the trees of a posterior.

    `trees` (s,) numbers the trees that were used; on each, a branch was drawn for every row.
    """

    labels: tuple[str, ...]
    log_density: np.ndarray  # (m,) predictive log density of a row as it was given; NaN where that is not known
    trees: np.ndarray  # (s,)
    weights: np.ndarray  # (m, s) of the trees given the row
    nodes: np.ndarray  # (m, s) the node below the drawn branch
    times: np.ndarray  # (m, s) the drawn time
    classes: np.ndarray | None  # (k,) and how likely a row's nearest leaves are of each
    class_probability: np.ndarray | None  # (m, k)
    _clades: list[Clades] = field(repr=False)
    _posterior: "Posterior" = field(repr=False)

    def __len__(self) -> int:
        return len(self.log_density)

    def __repr__(self) -> str:
        density = f"{np.min(self.log_density):.4g} to {np.max(self.log_density):.4g}"
        rows = f"{len(self)} row{'s' * (len(self) != 1)}"
        density = "" if np.isnan(self.log_density).any() else f": log density {density}"
        return f"<Placement of {rows} on {len(self.trees)} trees{density}>"

    def nearest_clades(self, row: int, n_clades: int = 5) -> list[tuple[float, tuple[str, ...]]]:
        """The most probable sister clades of a row, each with its probability and the names of its leaves."""
        clades = []
        for probability, (tree, node) in list(zip(*self._clades[row], strict=True))[:n_clades]:
            leaves = np.sort(layout(self._posterior.draws.children[tree]).leaves(node))
            clades.append((float(probability), tuple(self._posterior.labels[i] for i in leaves)))
        return clades

    def time_interval(self, level: float = 0.9) -> np.ndarray:
        """(m, 2) quantiles of the time at which each row joins, with probability `level` between them."""
        level = check_level("level", level)
        ends = np.array([(1 - level) / 2, (1 + level) / 2])
        return np.stack([weighted_quantile(*row, ends) for row in zip(self.times, self.weights, strict=True)])


def place(
    posterior: "Posterior",
    X_new: ArrayLike,
    classes: ArrayLike | None,
    n_trees: int,
    n_clades: int,
    random_state: RandomState,
) -> Placement:
    """Where new rows would join the trees, and how likely they are; `Posterior.place` explains the parameters."""
    check_count("n_clades", n_clades, 0)
    table = read_new_rows(posterior, X_new)
    log_jacobian = posterior.model.log_jacobian(table.values)
    if posterior.model.used is not None:
        table = table._replace(values=np.ascontiguousarray(table.values[:, posterior.model.used]))
    trees, prior_weights = pick_trees(posterior.weights, n_trees)
    names, members = _classes(in_order_of(classes, posterior), posterior.n)
    rngs = as_generator(random_state).spawn(len(trees))
    m = len(table.values)
    where = _first_places(posterior, trees) if n_clades > 0 else np.empty((0, 2), np.int64)
    at_once = max(8, _SHARES_AT_ONCE // (2 * posterior.n + len(where)))
    placed, clades = [], []
    with single_threaded_blas(), watching("auto", "row") as watch, ThreadPoolExecutor(allowed_threads()) as pool:
        for first in range(0, m, at_once):
            rows = slice(first, min(m, first + at_once))
            views = _views(posterior, table._replace(labels=table.labels[rows], values=table.values[rows]))
            work = partial(_on_tree, posterior, views, members, n_clades > 0)
            sums = np.zeros((len(where), rows.stop - first))
            placed.append(_summed(posterior, trees, np.log(prior_weights), sums, pool.map(work, trees.tolist(), rngs)))
            for row in np.ascontiguousarray((sums / np.maximum(sums.sum(axis=0), 1e-300)).T):
                best = np.sort(np.argpartition(-row, min(n_clades, len(row) - 1))[:n_clades])
                best = best[np.argsort(-row[best], kind="stable")]
                best = best[row[best] > 0.0]
                clades.append((row[best], where[best].tolist()))
            if watch is not None:
                watch(rows.stop, m)
    total, weights, nodes, times, by_class = map(np.concatenate, zip(*placed, strict=True))
    probability = None if names is None else by_class / by_class.sum(axis=1, keepdims=True)
    return Placement(
        table.labels, total + log_jacobian, trees, weights, nodes, times, names, probability, clades, posterior
    )


class _OnTree(NamedTuple):
    """Rows on one tree."""

    log_density: np.ndarray  # (m,)
    node: np.ndarray  # (m,) a branch drawn for each row, and
    time: np.ndarray  # (m,) a time on it
    by_class: np.ndarray  # (m, k) shares of the classes among the leaves that they join
    share: np.ndarray  # (m, 2n-1) of each branch; (m, 0) if not asked for


def _summed(
    posterior: "Posterior", trees: np.ndarray, log_prior: np.ndarray, sums: np.ndarray, placed: Iterable[_OnTree]
) -> tuple[np.ndarray, ...]:
    """Log density, weights of trees, nodes, times and classes; shares of the branches are added to `sums` by clade."""
    m, s = sums.shape[1], len(trees)
    log_weight, times, nodes = np.empty((m, s)), np.empty((m, s)), np.empty((m, s), np.int64)
    top, by_class = np.full(m, -np.inf), np.zeros((m, 1))
    for j, one in enumerate(placed):
        log_weight[:, j], nodes[:, j], times[:, j] = one.log_density + log_prior[j], one.node, one.time
        higher = np.maximum(top, log_weight[:, j])
        before, now = _ratio(top, higher)[:, None], _ratio(log_weight[:, j], higher)[:, None]
        top, by_class = higher, before * by_class + now * one.by_class
        if sums.size:
            changed = np.flatnonzero(before[:, 0] < 1.0)
            sums[:, changed] *= before[changed, 0]
            sums[_clades_of(posterior, trees[j])] += (now * one.share).T
    weights = _ratio(log_weight, top[:, None])
    total = weights.sum(axis=1)
    return top + np.log(total), weights / total[:, None], nodes, times, by_class


def _ratio(log_weight: np.ndarray, top: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.where(log_weight == top, 1.0, np.exp(log_weight - top))


def _clades_of(posterior: "Posterior", tree: int) -> np.ndarray:
    """(2n-1,) numbers of the clades below the nodes of a tree, leaves first."""
    n = posterior.n
    return np.concatenate([np.arange(n), n + clade_table(posterior).ids[tree].astype(np.int64)])


def _first_places(posterior: "Posterior", trees: np.ndarray) -> np.ndarray:
    """(clades, 2) a tree and a node of each clade."""
    where = np.zeros((posterior.n + len(clade_table(posterior).keys), 2), np.int64)
    for tree in trees[::-1]:
        clades = _clades_of(posterior, tree)
        where[clades] = np.column_stack([np.full(len(clades), tree), np.arange(len(clades))])
    return where


def _on_tree(
    posterior: "Posterior",
    views: list["_View"],
    members: np.ndarray | None,
    are_shares_kept: bool,
    tree: int,
    rng: np.random.Generator,
) -> _OnTree:
    """Place rows on a tree."""
    model, m = posterior.model, sum(len(view.rows) for view in views)
    level = model.noise_of(posterior.draws, tree).level * typical_error(model.leaves.errors) ** 2
    streams, n_nodes = make_streams(rng, m), 2 * posterior.n - 1
    class_shares = np.empty((n_nodes, 0)) if members is None else _class_shares(posterior.draws.children[tree], members)
    share = np.empty((m, n_nodes if are_shares_kept else 0))
    placed = _OnTree(np.empty(m), np.empty(m, np.int64), np.empty(m), np.empty((m, class_shares.shape[1])), share)
    for view in views:
        messages = _messages_of(posterior, tree, view)
        whitened, log_beside = messages.whitened(view)
        located = messages.places.locate(whitened, streams[view.rows], level)
        placed.log_density[view.rows] = located.log_density + log_beside
        placed.node[view.rows], placed.time[view.rows] = located.node, located.time
        placed.by_class[view.rows] = located.share @ class_shares
        if are_shares_kept:
            share[view.rows] = located.share
    return placed


def read_new_rows(posterior: "Posterior", X_new: ArrayLike) -> Table:
    """The new rows, columns in the order that was fitted, transformed as these were."""
    require_model(posterior, "place")
    assert posterior.model.X is not None
    transform = posterior.model.transform
    table = read_table(X_new, allow_missing=True, minimum_rows=1)
    names = table.features
    d, fitted = posterior.model.X.shape[1], posterior.model.columns
    if transform is not None:
        d, fitted = getattr(transform, "n_features_in_", None), getattr(transform, "feature_names_in_", None)
    elif "transform" in posterior.info:
        warnings.warn(
            f"{posterior.info['transform']} was not saved with the posterior: new rows are to be transformed already.",
            CoaltreeWarning,
            stacklevel=4,
        )
    order: Any = slice(None)
    if fitted is not None and names is not None:
        _check_names(names, fitted)
        order, names = [names.index(name) for name in fitted], fitted
    table = table._replace(values=table.values[:, order], features=names)
    if d is not None and table.values.shape[1] != d:
        raise InputError(f"the new rows must have the {d} columns that were fitted, not {table.values.shape[1]}.")
    return table if transform is None else transformed(table._replace(features=fitted), transform)


def _check_names(names: tuple[str, ...], fitted: tuple[str, ...]) -> None:
    lacking = [name for name in fitted if name not in names]
    if lacking:
        raise InputError(f"the new rows lack column {lacking[0]!r}; the fitted columns are {shortlist(fitted, 8)}.")
    unknown = [name for name in names if name not in fitted]
    if unknown:
        raise InputError(f"the new rows have a column {unknown[0]!r} that was not fitted; drop it.")


class _View(NamedTuple):
    """New rows that have the same columns."""

    rows: np.ndarray  # (m,) their numbers
    columns: np.ndarray
    values: np.ndarray  # (m, columns)
    labels: tuple[str, ...]
    twin: np.ndarray  # (n + m,) for each fitted row, then each new one, the first that is the same in these columns


def _views(posterior: "Posterior", table: Table) -> list[_View]:
    """New rows by which columns they have."""
    model = posterior.model
    first = np.arange(model.n) if model.replicates is None else model.replicates.first
    fitted = model.values[first][model.leaves.distinct.leaf]  # compared without noise alone, where leaves have one row
    patterns, group = np.unique(~np.isnan(table.values), axis=0, return_inverse=True)
    views = []
    for g, pattern in enumerate(patterns):
        rows, columns = np.flatnonzero(group.ravel() == g), np.flatnonzero(pattern)
        values = table.values[np.ix_(rows, columns)]
        twin = np.arange(posterior.n + len(rows))
        is_apart = model.noise.level != 0.0 or (isinstance(model.covariance, Components) and not pattern.all())
        if len(columns) > 0 and not is_apart:  # else equal rows have a density
            distinct = find_distinct(np.concatenate([fitted[:, columns], values]))
            twin = distinct.first[distinct.leaf]
        views.append(_View(rows, columns, values, tuple(table.labels[i] for i in rows), twin))
    return views


class _Messages(NamedTuple):
    """One draw as rows see it that have some columns."""

    places: Places
    W: np.ndarray  # (n, p) the fitted rows
    whitener: Any  # None without columns
    centre: np.ndarray
    basis: np.ndarray | None  # (columns, p - 1) orthonormal, of the fitted rows, where these are few
    beside: NewRows | None

    @classmethod
    def of(cls, posterior: "Posterior", tree: int, view: _View) -> "_Messages":
        """Whiten the rows of a draw, and pass messages along its branches."""
        n, model, columns = posterior.n, posterior.model, view.columns
        state = model.state_of(posterior.draws, tree)
        distinct = model.leaves.distinct
        values, leaf_var = (part[distinct.leaf] for part in model.leaf_messages(state))
        if model.noise.level is None:  # else copies of other leaves have a density of their own
            leaf_var[np.setdiff1d(np.arange(n), distinct.first)] = _NO_INFORMATION  # they were merged at time 0
        covariance, beside = state.covariance, None
        if isinstance(covariance, Components):
            beside, columns = NewRows.of(model, state, tree), np.arange(values.shape[1])
        centre = values.mean(axis=0)[columns]
        W, whitener, log_det, basis = values[:, columns] - centre, None, 0.0, None
        if len(columns) > 0:
            d = values.shape[1]
            whitener = covariance.whitener(d, columns if len(columns) < d else None)
            W, log_det = whitener.whiten(W), float(whitener.log_det)
            if n <= len(columns):
                basis, R = np.linalg.qr(W.T)
                W = np.column_stack([R.T, np.zeros(n)])
            W = W[view.twin[:n]]
        merges = np.array(posterior.draws.children[tree]), np.array(posterior.draws.times[tree])
        places = Places.of(*merges, Problem(W, len(columns), log_det, leaf_var), model.noise.half_df)
        return cls(places, W, whitener, centre, basis, beside)

    def whitened(self, view: _View) -> tuple[np.ndarray, np.ndarray | float]:
        """The rows, and the log density of what is beside their components."""
        new, log_beside = view.values, 0.0
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused
            if self.beside is not None:
                new, log_beside = self.beside.components(new, view.columns)
            if self.whitener is None:
                return new, log_beside
            # in eights: BLAS rounds one row otherwise than many, and no row is to depend on those beside it
            V = self.whitener.whiten(np.concatenate([new - self.centre, np.zeros((-len(new) % 8, new.shape[1]))]))
            if self.basis is not None:  # and one column for how far they stand away from the fitted rows
                along = V @ self.basis
                away = np.sqrt(np.square(V - along @ self.basis.T).sum(axis=1))
                V = np.column_stack([along, away])
        V = V[: len(new)]
        large = ~(np.abs(V).max(axis=1) < _MAX_WHITENED)
        if large.any():
            raise InputError(
                f"the new row {view.labels[np.argmax(large)]!r} lies too far from the fitted ones for squared "
                "distances; give its values in the same units."
            )
        # equal rows stay equal, whatever the products above have rounded
        both: np.ndarray = np.concatenate([self.W, V])[view.twin]
        return both[len(self.W) :], log_beside


def _messages_of(posterior: "Posterior", tree: int, view: _View) -> _Messages:
    """Those of a draw, which are kept with the posterior while there is room."""
    kept = _kept.setdefault(posterior, {})
    key = (tree, view.columns.tobytes())
    messages = kept.get(key)
    if messages is None:
        messages = _Messages.of(posterior, tree, view)
        size = _BYTES_OF_A_NODE * posterior.n * (4 + messages.W.shape[1]) + 16 * len(view.columns)
        if (len(kept) + 1) * size < _MAX_KEPT:
            kept[key] = messages
    return messages


def _classes(classes: ArrayLike | None, n: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(k,) names of the classes, and (n, k) 1 where a leaf is of the class."""
    if classes is None:
        return None, None
    names, number = as_labels("classes", classes, n)
    return names, np.eye(len(names))[number]


def _class_shares(children: np.ndarray, members: np.ndarray) -> np.ndarray:
    """(2n-1, k) the share of each class among the leaves under each node."""
    n = len(members)
    counts = np.zeros((2 * n - 1, members.shape[1]))
    counts[:n] = members
    for k, (a, b) in enumerate(children):
        counts[n + k] = counts[a] + counts[b]
    shares: np.ndarray = counts / counts.sum(axis=1, keepdims=True)
    return shares
