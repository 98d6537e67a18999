"""How likely each row is, given all others: log Z for every draw, from which leave-one-out starts.

    Z_i = p(x_i | other rows, tree without i, θ)

The leaf is pruned and regrafted everywhere, branch and time integrated out, and its Student's scale too; where other
rows measure the same leaf, these hold its place, and only the row itself is left out. Of a row with missing entries
the observed ones count; missing entries of other rows are as they were drawn. Copies of rows, which were merged at
time 0, are left aside: they have no density.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from ..._runtime.blas import single_threaded_blas
from ...errors import InputError
from ...model.covariance.base import cholesky_whitener
from ...model.data.leaves import LeafRows, read_rows
from ...model.data.replicates import collapse
from ...model.data.table import Table, as_double
from ...model.process.coalescent import log_prior
from ...model.process.noise import NOISE_LEVEL, NoiseDraw, noise_model
from ...model.process.noise import log_prior as noise_log_prior
from ...model.process.whitened import Problem, make_problem
from ...samplers.regraft.leave_one_out import log_density_of_leaves, log_density_of_replicates
from ...samplers.regraft.nearest import neighbor_graphs
from ...tree.merges import restricted
from ..posterior import Posterior
from .placement import covariance_of

ALL_UP_TO = 2000  # rows: every branch is looked at; above, those that near leaves lead to
_N_NEIGHBORS, _N_STRAYS = 32, 64  # near leaves at each level of the lists, and leaves drawn from all
_STREAM = 15


class RowDensities(NamedTuple):
    """Log Z of the rows that have one, for some draws."""

    rows: np.ndarray  # (k,) their numbers in X
    draws: np.ndarray  # (s,) numbers of the draws
    log_density: np.ndarray  # (s, k)


def row_densities(
    posterior: Posterior,
    draws: np.ndarray,
    *,
    all_up_to: int = ALL_UP_TO,
    among: np.ndarray | None = None,
    n_jobs: int | None = None,
    watch: Callable[[int, int], object] | None = None,
) -> RowDensities:
    """Log Z of every row, or of those `among` these numbers, for these draws; `watch` is told how many are done.

    Above `all_up_to` leaves all branches that near leaves lead to are looked at, and a sample of the others.
    """
    require_model(posterior)
    rows = rows_of(posterior)
    n = len(rows.distinct.first)
    if n < 3:
        raise InputError("leave-one-out needs at least three rows that differ.")
    wanted = np.ones(len(rows.kept), dtype=bool) if among is None else np.isin(rows.kept, among)
    lists = _lists(posterior, rows, int(draws[0])) if n > all_up_to else None
    parts = _patterns(posterior, rows, wanted)
    found = np.empty((len(draws), int(wanted.sum())))
    with single_threaded_blas(), Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator") as parallel:
        jobs = (delayed(_of_draw)(posterior, int(t), rows, parts, lists) for t in draws)
        for j, densities in enumerate(parallel(jobs)):
            found[j] = densities[wanted]
            if watch is not None:
                watch(j + 1, len(draws))
    return RowDensities(rows.kept[wanted], np.asarray(draws), found)


def require_model(posterior: Posterior) -> None:
    """Refuse a posterior that does not say what its trees are of."""
    if posterior.X is None or posterior.covariance is None:
        raise InputError("this posterior does not include its data or covariance, which leave-one-out needs.")
    if posterior.noise.is_learnt and NOISE_LEVEL not in posterior.theta:
        raise InputError("this posterior has no draws of its noise level, which leave-one-out needs; fit() keeps them.")


def can_be_asked(posterior: Posterior) -> bool:
    """Whether there are rows, a covariance and a noise to compute densities with, and three rows that differ."""
    try:
        require_model(posterior)
        return len(rows_of(posterior).distinct.first) >= 3
    except InputError:
        return False


def rows_of(posterior: Posterior) -> LeafRows:
    """The rows as `fit` read them."""
    assert posterior.X is not None
    names = None if posterior.groups is None else [posterior.labels[i] for i in posterior.groups]
    table = Table(posterior.X, posterior.row_labels, posterior.columns)
    return read_rows(table, posterior.noise, names, posterior.errors, quiet=True)


def tree_of(posterior: Posterior, t: int, rows: LeafRows) -> tuple[np.ndarray, np.ndarray]:
    """Tree `t` over the distinct leaves of the rows, which are numbered in order of first sight."""
    children = posterior.children[t]
    if posterior.groups is not None:
        place = {name: i for i, name in enumerate(rows.labels)}
        leaves = [place[name] for name in posterior.labels]
        children = np.concatenate([leaves, np.arange(posterior.n, 2 * posterior.n - 1)])[children]
    return restricted(children, posterior.times[t], rows.distinct.first)


def problem_of(posterior: Posterior, t: int, rows: LeafRows) -> Problem:
    """What the sampler saw when it drew tree `t`."""
    values, variances = posterior.model_values(t)[rows.kept], posterior.row_variances(t)[rows.kept]
    return make_problem(values, covariance_of(posterior, t), variances, replicates=rows.replicates, rotate=True)


def log_parts(posterior: Posterior, draws: np.ndarray) -> dict[str, np.ndarray]:
    """log p(X | tree, θ) of these draws, an array of any shape, and the log priors of tree, covariance and noise.

    Together they are the log joint, up to what is constant.
    """
    rows = rows_of(posterior)
    assert posterior.X is not None
    recorded = posterior.X[rows.kept] if posterior.used is None else posterior.X[rows.kept][:, posterior.used]
    noise = noise_model(posterior.noise, as_double(recorded), None if rows.errors is None else rows.errors[rows.kept])
    with single_threaded_blas():
        every = {int(t): _parts_of(posterior, int(t), rows, noise) for t in np.unique(draws)}
    stacked = np.array([every[int(t)] for t in np.ravel(draws)]).reshape(*np.shape(draws), -1)
    return dict(zip(("log_likelihood", "tree", "covariance", "noise"), np.moveaxis(stacked, -1, 0), strict=True))


def _parts_of(posterior, t, rows, noise):
    children, times = tree_of(posterior, t, rows)
    tails = None if posterior.tail_scale is None else posterior.tail_scale[t, rows.kept]
    level = float(posterior.theta[NOISE_LEVEL][t]) if noise.level is None else noise.level
    covariance = covariance_of(posterior, t)
    return (
        problem_of(posterior, t, rows).log_likelihood(children, times),
        float(log_prior(times)),
        float(covariance.log_prior()) if _is_drawn(posterior, covariance) else 0.0,
        noise_log_prior(noise, NoiseDraw(level, tails)),
    )


def _is_drawn(posterior, covariance):
    """Whether the covariance's parameters were drawn from a prior, as `fit` does."""
    drawn = set(covariance.learnt)
    return posterior.theta.keys() >= drawn and set(getattr(covariance, "priors", ())) >= drawn


class _Part(NamedTuple):
    """LeafRows that have the same columns; `is_alone` where no other row measures their leaf."""

    columns: np.ndarray | None  # None for all
    rows: np.ndarray  # numbers among those kept
    is_alone: np.ndarray


def _patterns(posterior, rows, wanted):
    values = posterior.model_values()[rows.kept]
    alone = np.ones(len(values), dtype=bool)
    if rows.replicates is not None:
        alone = (np.bincount(rows.replicates.leaf) == 1)[rows.replicates.leaf]
    patterns, group = np.unique(~np.isnan(values), axis=0, return_inverse=True)
    parts = []
    for g, pattern in enumerate(patterns):
        these = np.flatnonzero((group.ravel() == g) & wanted)
        if len(these):
            parts.append(_Part(None if pattern.all() else np.flatnonzero(pattern), these, alone[these]))
    return parts


def _of_draw(posterior, t, rows, parts, lists):
    """(rows kept,) log Z, NaN where it is not wanted."""
    children, times = tree_of(posterior, t, rows)
    variances = posterior.row_variances(t)[rows.kept]
    scales = np.ones(len(variances)) if posterior.tail_scale is None else posterior.tail_scale[t, rows.kept]
    unit = variances / scales
    half_df = 0.5 * posterior.noise.df if posterior.noise.tails == "student" else 0.0
    leaf = np.arange(len(variances)) if rows.replicates is None else rows.replicates.leaf
    found = np.full(len(variances), np.nan)
    for columns, these, alone in parts:
        problem = _problem_in(posterior, t, rows, columns)
        alone_here = these[alone]
        if len(alone_here):
            strays = None
            if lists is not None:
                size = (len(alone_here), _N_STRAYS)
                strays = np.random.default_rng([_STREAM, t]).integers(len(times) + 1, size=size)
            found[alone_here] = log_density_of_leaves(
                children, times, problem, leaf[alone_here], unit[alone_here], half_df, lists, strays
            )
        if not alone.all():
            wanted = np.isin(np.arange(len(variances)), these[~alone])
            merges, at = rows.replicates.expand(children, times)
            densities = log_density_of_replicates(merges, at, problem, variances, wanted, unit, half_df)
            found[wanted] = densities[wanted]
    return found


def _problem_in(posterior, t, rows, columns):
    """What the sampler saw in some columns alone."""
    if columns is None:
        return problem_of(posterior, t, rows)
    values, variances = posterior.model_values(t)[rows.kept], posterior.row_variances(t)[rows.kept]
    d = values.shape[1]
    matrix = covariance_of(posterior, t).matrix(d)[np.ix_(columns, columns)]
    whitener = cholesky_whitener(matrix, "the covariance of the observed columns")
    centred = values[:, columns] - values[:, columns].mean(axis=0)
    W = np.ascontiguousarray(whitener.whiten(centred))
    problem = Problem(W, None, len(columns), float(whitener.log_det), variances)
    if rows.replicates is None:
        return problem
    leaves = collapse(W, variances, rows.replicates)
    return problem._replace(W=leaves.mean, leaf_var=leaves.var, rows=W)


def _lists(posterior, rows, t):
    """Near leaves, by the rows as one draw whitens them; constants, so that no draw depends on the place of a leaf."""
    W = problem_of(posterior, t, rows).W
    assert W is not None
    return neighbor_graphs(W, _N_NEIGHBORS, np.random.default_rng(_STREAM))
