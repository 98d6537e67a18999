"""How likely each row is, given all others: log Z for every draw, from which leave-one-out starts.

    Z_i = p(x_i | other rows, tree without i, θ)

The leaf is pruned and regrafted everywhere, branch and time integrated out, and its Student's scale too; where other
rows measure the same leaf, these hold its place, and only the row itself is left out. Of a row with missing entries
the observed ones count; missing entries of other rows are as they were drawn. Copies of rows, which were merged at
time 0, are left aside: they have no density.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from ..._runtime.threads import single_threaded_blas
from ..._runtime.validation import at_most_jobs
from ...errors import InputError
from ...model.covariance.base import Covariance, cholesky_whitener
from ...model.data.leaves import Leaves, read_leaves
from ...model.data.replicates import collapse, replicates_of
from ...model.data.table import Table
from ...model.process.coalescent import log_prior
from ...model.process.noise import NOISE_LEVEL, NoiseDraw, NoiseModel, noise_model
from ...model.process.noise import log_prior as noise_log_prior
from ...model.process.whitened import Problem, make_problem
from ...samplers.regraft.leave_one_out import log_density_of_leaves, log_density_of_replicates
from ...samplers.regraft.nearest import neighbor_graphs
from ...tree.merges import restricted

if TYPE_CHECKING:
    from ..posterior import Posterior

MAX_ROWS_ALL_BRANCHES = 2000  # up to which every branch counts; above, those that near leaves lead to and a sample
_MIN_ROWS = 3
_N_NEIGHBORS, _N_DISTANT = 32, 64  # near leaves at each level of the neighbour graph, and leaves drawn from all
_SEED = 15


class RowDensities(NamedTuple):
    """Log Z of the rows that have one, for some draws."""

    rows: np.ndarray  # (k,) their numbers in X
    draws: np.ndarray  # (s,) numbers of the draws
    log_density: np.ndarray  # (s, k)


def row_densities(
    posterior: "Posterior",
    draws: np.ndarray,
    *,
    n_jobs: int | None = None,
    watch: Callable[[int, int], object] | None = None,
) -> RowDensities:
    """Log Z of every row that is no copy, for these draws; `watch` is told how many are done."""
    posterior.require_model("leave-one-out")
    rows = rows_of(posterior)
    n = len(rows.distinct.first)
    if n < _MIN_ROWS:
        raise InputError("leave-one-out needs at least three rows that differ.")
    neighbors = None
    if n > MAX_ROWS_ALL_BRANCHES:  # by rows as one draw whitens them, so that no draw depends on the place of a leaf
        W = _problem(posterior, int(draws[0]), rows).W
        neighbors = neighbor_graphs(W, _N_NEIGHBORS, np.random.default_rng(_SEED))
    patterns = _patterns(posterior, rows)
    found = np.empty((len(draws), len(rows.kept)))
    n_jobs = at_most_jobs(n_jobs, len(draws))
    with single_threaded_blas(), Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator") as parallel:
        jobs = (delayed(_densities_of_draw)(posterior, int(t), rows, patterns, neighbors) for t in draws)
        for j, densities in enumerate(parallel(jobs)):
            found[j] = densities
            if watch is not None:
                watch(j + 1, len(draws))
    return RowDensities(rows.kept, np.asarray(draws), found)


def has_densities(posterior: "Posterior") -> bool:
    """Whether there are rows, a covariance and a noise to compute densities with, and three rows that differ."""
    try:
        posterior.require_one_likelihood("the density of a row")
        posterior.require_model("the density of a row")
        return len(rows_of(posterior).distinct.first) >= _MIN_ROWS
    except InputError:
        return False


def log_parts(posterior: "Posterior", draws: np.ndarray) -> dict[str, np.ndarray]:
    """log p(X | tree, θ) of these draws, an array of any shape, and the log priors of tree, covariance and noise.

    Together they are the log joint, up to what is constant.
    """
    rows = rows_of(posterior)
    assert posterior.X is not None
    recorded = posterior.X[rows.kept] if posterior.used is None else posterior.X[rows.kept][:, posterior.used]
    noise = noise_model(posterior.noise, recorded, None if rows.errors is None else rows.errors[rows.kept])
    with single_threaded_blas():
        every = {int(t): _log_parts_of_draw(posterior, int(t), rows, noise) for t in np.unique(draws)}
    stacked = np.array([every[int(t)] for t in np.ravel(draws)]).reshape(*np.shape(draws), -1)
    return dict(zip(("log_likelihood", "tree", "covariance", "noise"), np.moveaxis(stacked, -1, 0), strict=True))


def _log_parts_of_draw(posterior: "Posterior", t: int, rows: Leaves, noise: NoiseModel) -> tuple[float, ...]:
    children, times = _distinct_tree(posterior, t, rows)
    tails = None if posterior.tail_scale is None else posterior.tail_scale[t, rows.kept]
    level = float(posterior.theta[NOISE_LEVEL][t]) if noise.level is None else noise.level
    covariance = covariance_of(posterior, t)
    learnt = set(covariance.learnt)  # from a prior, as `fit` does?
    is_drawn = posterior.theta.keys() >= learnt and set(getattr(covariance, "priors", ())) >= learnt
    return (
        _problem(posterior, t, rows).log_likelihood(children, times),
        float(log_prior(times)),
        float(covariance.log_prior()) if is_drawn else 0.0,
        noise_log_prior(noise, NoiseDraw(level, tails)),
    )


def covariance_of(posterior: "Posterior", tree: int) -> Covariance:
    """The covariance as it was drawn together with a tree."""
    assert posterior.covariance is not None
    names = [name for name in posterior.covariance.parameters if name in posterior.theta]
    return posterior.covariance.with_theta({name: posterior.theta[name][tree] for name in names})


def leaf_messages(posterior: "Posterior", tree: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, k) values and (n,) variances of the leaves, as they were drawn together with a tree."""
    values, variances = posterior.model_values(tree), posterior.row_variances(tree)
    if posterior.groups is None:
        return values, variances
    leaves = collapse(values, variances, replicates_of(posterior.groups))
    return leaves.mean, leaves.var


def rows_of(posterior: "Posterior") -> Leaves:
    """The rows as `fit` read them."""
    assert posterior.X is not None
    names = None if posterior.groups is None else [posterior.labels[i] for i in posterior.groups]
    table = Table(posterior.X, posterior.row_labels, posterior.columns)
    return read_leaves(table, posterior.noise, names, posterior.errors, quiet=True)


Pattern = tuple[np.ndarray | None, np.ndarray, np.ndarray]  # see `_patterns`


def _patterns(posterior: "Posterior", rows: Leaves) -> list[Pattern]:
    """Columns (None for all), the rows of those kept that have just these, and whether their leaf has no other row."""
    values = posterior.model_values()[rows.kept]
    alone = np.ones(len(values), dtype=bool)
    if rows.replicates is not None:
        alone = (np.bincount(rows.replicates.leaf) == 1)[rows.replicates.leaf]
    patterns, group = np.unique(~np.isnan(values), axis=0, return_inverse=True)
    found = []
    for g, pattern in enumerate(patterns):
        these = np.flatnonzero(group.ravel() == g)
        found.append((None if pattern.all() else np.flatnonzero(pattern), these, alone[these]))
    return found


def _densities_of_draw(
    posterior: "Posterior", t: int, rows: Leaves, patterns: list[Pattern], neighbors: np.ndarray | None
) -> np.ndarray:
    """(rows kept,) log Z."""
    children, times = _distinct_tree(posterior, t, rows)
    variances = posterior.row_variances(t)[rows.kept]
    unit = variances if posterior.tail_scale is None else variances / posterior.tail_scale[t, rows.kept]
    half_df = 0.5 * posterior.noise.df if posterior.noise.tails == "student" else 0.0
    leaf = np.arange(len(variances)) if rows.replicates is None else rows.replicates.leaf
    found = np.full(len(variances), np.nan)
    for columns, these, is_alone in patterns:
        problem = _problem(posterior, t, rows, columns)
        alone = these[is_alone]
        if len(alone):
            distant = None
            if neighbors is not None:
                rng = np.random.default_rng([_SEED, t])
                distant = rng.integers(len(times) + 1, size=(len(alone), _N_DISTANT))
            found[alone] = log_density_of_leaves(
                children, times, problem, leaf[alone], unit[alone], half_df, neighbors, distant
            )
        if not is_alone.all():
            assert rows.replicates is not None
            wanted = np.isin(np.arange(len(variances)), these[~is_alone])
            merges, at = rows.replicates.expand(children, times)
            found[wanted] = log_density_of_replicates(merges, at, problem, variances, wanted, unit, half_df)[wanted]
    return found


def _distinct_tree(posterior: "Posterior", t: int, rows: Leaves) -> tuple[np.ndarray, np.ndarray]:
    """Tree `t` over the distinct leaves of the rows, which are numbered in order of first sight."""
    children = posterior.children[t]
    if posterior.groups is not None:
        place = {name: i for i, name in enumerate(rows.labels)}
        leaves = [place[name] for name in posterior.labels]
        children = np.concatenate([leaves, np.arange(posterior.n, 2 * posterior.n - 1)])[children]
    return restricted(children, posterior.times[t], rows.distinct.first)


def _problem(posterior: "Posterior", t: int, rows: Leaves, columns: np.ndarray | None = None) -> Problem:
    """What the sampler saw when it drew tree `t`, in all columns or in some alone."""
    values, variances = posterior.model_values(t)[rows.kept], posterior.row_variances(t)[rows.kept]
    covariance = covariance_of(posterior, t)
    if columns is None:
        return make_problem(values, covariance, variances, replicates=rows.replicates, rotate=True)
    matrix = covariance.matrix(values.shape[1])[np.ix_(columns, columns)]
    whitener = cholesky_whitener(matrix, "the covariance of the observed columns")
    W = np.ascontiguousarray(whitener.whiten(values[:, columns] - values[:, columns].mean(axis=0)))
    problem = Problem(W, len(columns), float(whitener.log_det), variances)
    if rows.replicates is None:
        return problem
    leaves = collapse(W, variances, rows.replicates)
    return problem._replace(W=leaves.mean, leaf_var=leaves.var, rows=W)
