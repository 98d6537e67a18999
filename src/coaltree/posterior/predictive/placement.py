"""`place`: where new rows would join the trees of a posterior, and how likely they are.

    p(x | X) = Σ_t w_t p(x | X, tree_t, θ_t) ,      P(sister clade C | x) = Σ_t w_t(x) P(branch above C | x, tree_t) ,
    w_t(x) ∝ w_t p(x | X, tree_t, θ_t) .

Missing entries of a new row are integrated out: it is compared with all rows in the columns o it has, whitened by
Φ_oo. The messages of the tree are made once for each set of columns.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._runtime.formatting import shortlist
from ..._runtime.random_streams import as_generator, make_streams
from ..._runtime.threads import single_threaded_blas
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
from ...samplers.regraft.placement import locate
from ..io.pandas_output import in_order_of
from ..trees.clades import clade_table, leaves_under
from ..validation import require_model
from .new_components import NewRows

if TYPE_CHECKING:
    from ..posterior import Posterior

Clades = tuple[Any, list[list[int]]]  # probabilities, and [tree, node] of each clade
View = tuple[np.ndarray, np.ndarray, np.ndarray]  # see `_views`

_MIN_SHARE = 1e-4  # of a row's mass on a tree, below which a branch is not listed
_MASSES_AT_ONCE = 1 << 22  # (rows, branches) held at a time
_NO_INFORMATION = 1e300  # a variance beside which every other is 0
_MAX_WHITENED = 1e145  # so that squared distances are finite


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
            leaves = leaves_under(self._posterior.draws.children[tree], node)
            clades.append((float(probability), tuple(self._posterior.labels[i] for i in sorted(leaves))))
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
    m, s = len(table.values), len(trees)
    names, members = _classes(in_order_of(classes, posterior), posterior.n)
    streams = make_streams(as_generator(random_state), m)
    log_density, times = np.empty((m, s)), np.empty((m, s))
    nodes = np.empty((m, s), np.int64)
    by_class = None if names is None else np.zeros((s, m, len(names)))
    listed = []
    views, copies = _views(posterior, table), np.empty(0, np.int64)
    model, draws = posterior.model, posterior.draws
    if model.noise.level is None:  # else copies of other leaves have a density of their own
        copies = np.setdiff1d(np.arange(posterior.n), model.leaves.distinct.first)
    error2 = typical_error(posterior.model.errors) ** 2
    with single_threaded_blas():
        for j, tree in enumerate(trees):
            children, merge_times = np.array(posterior.draws.children[tree]), np.array(posterior.draws.times[tree])
            level = model.noise_of(draws, tree).level * error2
            class_shares = None if members is None else _class_shares(children, members)
            for rows, problem, new, log_beside in _whitened(posterior, tree, table, views, copies):
                moved = streams[rows]
                placed = locate(children, merge_times, problem, new, moved, level, model.noise.half_df)
                streams[rows] = moved
                log_density[rows, j] = placed.log_density + log_beside
                nodes[rows, j], times[rows, j] = placed.node, placed.time
                with np.errstate(invalid="ignore"):
                    share = np.exp(placed.log_mass - placed.log_density[:, None])
                share[np.isnan(share)] = 1.0  # infinite density on the branch of an identical row
                if by_class is not None:
                    by_class[j, rows] = share @ class_shares
                which, node = np.nonzero(share > _MIN_SHARE)
                listed.append((rows[which], np.full(len(which), j), node, share[which, node]))
    weights, total = _reweigh(log_density, prior_weights)
    probability = None if by_class is None else np.einsum("ms,smk->mk", weights, by_class)
    rows, at, node, share = (np.concatenate(part) for part in zip(*listed, strict=True))
    by_row = _sister_clades(posterior, rows, trees[at], node, share * weights[rows, at])
    clades = [(shares[:n_clades], where[:n_clades]) for shares, where in (by_row.get(i, ((), [])) for i in range(m))]
    return Placement(
        table.labels, total + log_jacobian, trees, weights, nodes, times, names, probability, clades, posterior
    )


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


def _views(posterior: "Posterior", table: Table) -> list[View]:
    """Numbers (m,) of new rows that have the same columns, these columns, and which of all rows are the same in them.

    That is (n + m,): for each fitted row, then each new one, the first that equals it.
    """
    model = posterior.model
    first = np.arange(model.n) if model.replicates is None else np.unique(model.replicates.leaf, return_index=True)[1]
    fitted = model.values[first][model.leaves.distinct.group]  # compared without noise alone, where leaves have one row
    patterns, group = np.unique(~np.isnan(table.values), axis=0, return_inverse=True)
    at_once = max(1, _MASSES_AT_ONCE // (2 * posterior.n))
    views = []
    for g, pattern in enumerate(patterns):
        members, columns = np.flatnonzero(group.ravel() == g), np.flatnonzero(pattern)
        for start in range(0, len(members), at_once):
            rows = members[start : start + at_once]
            twin = np.arange(posterior.n + len(rows))
            is_apart = model.noise.level != 0.0 or (isinstance(model.covariance, Components) and not pattern.all())
            if len(columns) > 0 and not is_apart:  # else equal rows have a density
                distinct = find_distinct(np.concatenate([fitted[:, columns], table.values[np.ix_(rows, columns)]]))
                twin = distinct.first[distinct.group]
            views.append((rows, columns, twin))
    return views


def _whitened(
    posterior: "Posterior", tree: int, table: Table, views: list[View], copies: np.ndarray
) -> Iterator[tuple[np.ndarray, Problem, np.ndarray, Any]]:
    """(row numbers, whitened `Problem`, whitened new rows, log density of what is beside the components) by view."""
    n = posterior.n
    state = posterior.model.state_of(posterior.draws, tree)
    group = posterior.model.leaves.distinct.group
    values, leaf_var = (part[group] for part in posterior.model.leaf_messages(state))
    leaf_var[copies] = _NO_INFORMATION  # they were merged with others at time 0
    covariance, log_beside = state.covariance, 0.0
    beside = NewRows.of(posterior.model, state, values, tree) if isinstance(covariance, Components) else None
    centre = values.mean(axis=0)
    for rows, columns, twin in views:
        new = table.values[np.ix_(rows, columns)]
        if beside is not None:
            new, log_beside = beside.components(new, columns)
            columns = np.arange(values.shape[1])
        old, new = values[:, columns] - centre[columns], new - centre[columns]
        if len(columns) == 0:
            yield rows, Problem(old, 0, 0.0, leaf_var), new, 0.0
            continue
        d = values.shape[1]
        whitener = covariance.whitener(d, columns if len(columns) < d else None)
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused
            # in eights: BLAS rounds one row otherwise than many, and no row is to depend on those beside it
            padded = np.concatenate([new, np.zeros((-len(new) % 8, len(columns)))])
            W, V = _rotated(whitener.whiten(old), whitener.whiten(padded))
            V = V[: len(new)]
        large = ~(np.abs(V).max(axis=1) < _MAX_WHITENED)
        if large.any():
            raise InputError(
                f"the new row {table.labels[rows[np.argmax(large)]]!r} lies too far from the fitted ones for squared "
                "distances; give its values in the same units."
            )
        # equal rows stay equal, whatever the products above have rounded
        both = np.concatenate([W, V])[twin]
        yield rows, Problem(both[:n], len(columns), float(whitener.log_det), leaf_var), both[n:], log_beside


def _rotated(W: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both in an orthonormal basis of W's rows, and one column for how far V's rows stand away from it."""
    n, d = W.shape
    if n > d or not np.isfinite(V).all():
        return W, V
    Q, R = np.linalg.qr(W.T)
    along = V @ Q
    away = np.sqrt(np.square(V - along @ Q.T).sum(axis=1))
    return np.column_stack([R.T, np.zeros(n)]), np.column_stack([along, away])


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


def _reweigh(log_density: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the trees given each row, and the log of the weighted mean density."""
    top = log_density.max(axis=1)
    with np.errstate(invalid="ignore"):
        relative = np.where(log_density == top[:, None], 1.0, np.exp(log_density - top[:, None])) * weights
    total = relative.sum(axis=1)
    return relative / total[:, None], top + np.log(total)


def _sister_clades(
    posterior: "Posterior", rows: np.ndarray, trees: np.ndarray, node: np.ndarray, mass: np.ndarray
) -> dict[int, Clades]:
    """{row: its sister clades}, the most probable first, from the mass of rows above nodes of trees."""
    n, table = posterior.n, clade_table(posterior)
    clade = np.where(node < n, node, n + table.ids[trees, np.maximum(node - n, 0)].astype(np.int64))
    _, first, inverse = np.unique(rows * (n + len(table.keys)) + clade, return_index=True, return_inverse=True)
    totals = np.bincount(inverse, mass, minlength=len(first))
    owner = rows[first]
    order = np.lexsort((-totals, owner))
    where = np.column_stack([trees[first], node[first]])
    by_row = np.split(order, np.flatnonzero(np.diff(owner[order])) + 1)
    return {int(owner[these[0]]): (totals[these], where[these].tolist()) for these in by_row if len(these)}
