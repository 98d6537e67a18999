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
from joblib import Parallel, delayed, effective_n_jobs

from ..._runtime.threads import single_threaded_blas
from ...errors import InputError
from ...model.model import Model
from ...model.process.noise import row_variances
from ...samplers.regraft.leave_one_out import log_density_of_leaves, log_density_of_replicates
from ...samplers.regraft.nearest import neighbor_graphs

if TYPE_CHECKING:
    from ..posterior import Posterior

MAX_ROWS_ALL_BRANCHES = 2000  # up to which every branch counts; above, those that near leaves lead to and a sample
MIN_ROWS = 3  # without one of two rows there is no tree
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
    model = posterior.model
    n = model.n
    if n < MIN_ROWS:
        raise InputError("leave-one-out needs at least three rows that differ.")
    neighbors = None
    if n > MAX_ROWS_ALL_BRANCHES:  # by rows as one draw whitens them, so that no draw depends on the place of a leaf
        W = model.problem(model.state_of(posterior.draws, int(draws[0]))).W
        neighbors = neighbor_graphs(W, _N_NEIGHBORS, np.random.default_rng(_SEED))
    patterns = _patterns(model)
    log_density = np.empty((len(draws), len(model.values)))
    n_jobs = min(effective_n_jobs(n_jobs), len(draws))
    with single_threaded_blas(), Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator") as parallel:
        jobs = (delayed(_densities_of_draw)(posterior, int(t), patterns, neighbors) for t in draws)
        for j, densities in enumerate(parallel(jobs)):
            log_density[j] = densities
            if watch is not None:
                watch(j + 1, len(draws))
    assert model.X is not None
    kept = model.leaves.kept
    return RowDensities(kept, np.asarray(draws), log_density + model.log_jacobian(model.X[kept]))


def log_parts(posterior: "Posterior", draws: np.ndarray) -> dict[str, np.ndarray]:
    """log p(X | tree, θ) of these draws, an array of any shape, and the log priors of tree, covariance and noise.

    Together they are the log joint, up to what is constant.
    """
    model, parts = posterior.model, {}
    with single_threaded_blas():
        for t in np.unique(draws).tolist():
            state = model.state_of(posterior.draws, t)
            parts[t] = {"log_likelihood": model.log_likelihood(state), **model.log_priors(state)}
    names = next(iter(parts.values()))
    return {
        name: np.array([parts[t][name] for t in np.ravel(draws).tolist()]).reshape(np.shape(draws)) for name in names
    }


Pattern = tuple[np.ndarray | None, np.ndarray, np.ndarray]  # see `_patterns`


def _patterns(model: Model) -> list[Pattern]:
    """Columns (None for all), the distinct rows that have just these, and whether their leaf has no other row."""
    alone = np.ones(len(model.values), dtype=bool)
    if model.replicates is not None:
        alone = (np.bincount(model.replicates.leaf) == 1)[model.replicates.leaf]
    patterns, group = np.unique(~np.isnan(model.values), axis=0, return_inverse=True)
    rows_of_patterns = []
    for g, pattern in enumerate(patterns):
        these = np.flatnonzero(group.ravel() == g)
        rows_of_patterns.append((None if pattern.all() else np.flatnonzero(pattern), these, alone[these]))
    return rows_of_patterns


def _densities_of_draw(
    posterior: "Posterior", t: int, patterns: list[Pattern], neighbors: np.ndarray | None
) -> np.ndarray:
    """(distinct rows,) log Z."""
    model = posterior.model
    state = model.state_of(posterior.draws, t)
    (children, times), scales = state.tree, state.noise.tail_scale
    variances = row_variances(model.noise, state.noise)
    unit = variances if scales is None else variances / scales
    leaf = np.arange(len(variances)) if model.replicates is None else model.replicates.leaf
    log_density = np.full(len(variances), np.nan)
    for columns, these, is_alone in patterns:
        problem = model.problem(state, columns=columns)
        alone = these[is_alone]
        if len(alone):
            distant = None
            if neighbors is not None:
                rng = np.random.default_rng([_SEED, t])
                distant = rng.integers(len(times) + 1, size=(len(alone), _N_DISTANT))
            log_density[alone] = log_density_of_leaves(
                children, times, problem, leaf[alone], unit[alone], model.noise.half_df, neighbors, distant
            )
        if not is_alone.all():
            assert model.replicates is not None
            wanted = np.isin(np.arange(len(variances)), these[~is_alone])
            merges, at = model.replicates.expand(children, times)
            densities = log_density_of_replicates(merges, at, problem, variances, wanted, unit, model.noise.half_df)
            log_density[wanted] = densities[wanted]
    return log_density
