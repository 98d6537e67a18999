"""`extend`: graft new rows onto the trees of a posterior, and continue sampling with all rows."""

from dataclasses import replace
from itertools import count, islice
from typing import Any

import numpy as np

from .._runtime.random_streams import as_generator
from .._runtime.threads import single_threaded_blas
from .._runtime.typing import ArrayLike, RandomState
from .._runtime.validation import check_count
from ..errors import InputError
from ..model.data.columns import Modelled
from ..model.data.leaves import LeafRows, read_rows
from ..model.data.missing import check_apart, missing_entries
from ..model.data.table import Table, as_double
from ..model.data.ties import spread_ties
from ..model.process import noise as noises
from ..model.process.noise import NoiseDraw, NoiseModel
from ..model.process.whitened import make_problem
from ..numerics.weighted import pick_trees
from ..posterior import Posterior
from ..posterior.io.pandas_output import INDEX
from ..posterior.predictive.placement import read_new_rows
from ..posterior.predictive.row_densities import covariance_of
from ..samplers import as_sampler
from ..samplers.base import SamplerLike
from ..samplers.regraft.insertion import graft
from ..samplers.regraft.nearest import nearest
from ..samplers.regraft.regraft import Regraft
from ..tree.merges import restricted
from .chains.chain import advance
from .chains.state import Chain, ChainData, concatenate
from .fit_data import FitData, to_posterior
from .settings import RunSettings

MAX_LEAVES_ALL_BRANCHES = 2000  # above, a new row is grafted near its nearest leaves
N_NEAREST = 16


def extend(
    posterior: Posterior,
    X_new: ArrayLike,
    n_iterations: int,
    n_trees: int | None,
    sampler: SamplerLike | None,
    random_state: RandomState,
) -> Posterior:
    """Graft new rows onto the trees, take a few iterations, and return the posterior of all rows.

    `Posterior.extend` explains the parameters.
    """
    posterior.require_one_likelihood("extend()", 'fit all rows together with resample="columns"')
    n_iterations = check_count("n_iterations", n_iterations, 1)
    settings = RunSettings(Regraft() if sampler is None else as_sampler(sampler))
    table, rng = read_new_rows(posterior, X_new), as_generator(random_state)
    data = _all_data(posterior, table)
    data = data._replace(transform=posterior.transform)
    if data.chains.noise.is_random and not settings.sampler.learns_noise:
        raise InputError(f"{type(settings.sampler).__name__} cannot draw the noise that was learnt; use Regraft.")
    picked, weights = pick_trees(posterior.weights, len(posterior) if n_trees is None else n_trees)
    kept, neighbors = [], None
    with single_threaded_blas():
        for tree in picked:
            chain = _grafted(posterior, int(tree), data, np.random.default_rng(rng.integers(2**63)))
            chain = chain._replace(neighbors=neighbors)
            chain, draws = advance(data.chains, settings, chain, n_iterations, n_warmup=n_iterations - 1)
            assert draws is not None  # of the last iteration
            kept.append(draws)
            if not chain.covariance.learnt and data.chains.missing is None and data.rows.replicates is None:
                neighbors = chain.neighbors  # the same data and covariance for every tree
    info = {name: posterior.info[name] for name in ("seed", INDEX) if name in posterior.info}
    info |= {
        "sampler": repr(settings.sampler),
        "n_distinct": len(data.rows.distinct.first),
        "n_extended": len(table.values),
        "n_iterations": n_iterations,
    }
    chain_of = posterior.chain[picked] if posterior.is_chain else None
    return to_posterior(data, concatenate(kept), info, log_weights=np.log(weights), chain=chain_of)


def _all_data(posterior: Posterior, table: Table) -> FitData:
    """Old and new rows together; those that were fitted stay as they were."""
    assert posterior.X is not None and posterior.covariance is not None  # else read_new_rows has refused
    X = np.concatenate([as_double(posterior.X), table.values])
    rows, table = _all_rows(posterior, table, X)
    used = np.arange(X.shape[1]) if posterior.used is None else posterior.used
    recorded = np.ascontiguousarray(X[rows.kept][:, used])
    values, old = recorded.copy(), _old_rows(posterior, rows.kept)
    if posterior.fitted is not None:
        values, _ = spread_ties(values, rows.kept, used)
    values[: len(old)] = posterior.model_values()[old]
    check_apart(values, rows.names_of_kept(), has_density=rows.has_density)
    noise = noises.noise_model(posterior.noise, recorded, None if rows.errors is None else rows.errors[rows.kept])
    chains = ChainData(values, posterior.covariance, noise, rows.replicates, missing_entries(values))
    model = Modelled(posterior.covariance, values, posterior.used, posterior.fitted is not None, {})
    return FitData(table, rows, posterior.noise, model, chains)


def _all_rows(posterior: Posterior, table: Table, X: np.ndarray) -> tuple[LeafRows, Table]:
    """Old rows with their groups and errors; each new row is a leaf of its own, with an error like theirs."""
    new = _new_labels(posterior, table)
    groups, errors = None, posterior.errors
    names = (*(posterior.labels if posterior.groups is None else posterior.row_labels), *new)
    if posterior.groups is not None:
        groups = [*(posterior.labels[i] for i in posterior.groups), *new]
    if errors is not None:
        errors = np.concatenate([errors, np.full(len(table.values), noises.typical_error(errors))])
    every = Table(X, names, posterior.columns)
    return read_rows(every, posterior.noise, groups, errors), every


def _new_labels(posterior: Posterior, table: Table) -> tuple[str, ...]:
    taken = {*posterior.labels, *posterior.row_labels}
    if table.features is None:
        free = (str(i) for i in count(posterior.n) if str(i) not in taken)
        return tuple(islice(free, len(table.values)))
    clash = sorted(taken.intersection(table.labels))
    if clash:
        raise InputError(f"a new row has the name {clash[0]!r}, as one of the fitted rows has; rename it.")
    return table.labels


def _old_rows(posterior: Posterior, kept: np.ndarray) -> np.ndarray:
    """Those of the rows that are kept which were fitted; they come first."""
    return kept[kept < len(posterior.row_labels)]


def _grafted(posterior: Posterior, tree: int, data: FitData, rng: np.random.Generator) -> Chain:
    """A chain that stands at one tree of the posterior with the new rows grafted on."""
    rows, given = data.rows, data.chains
    n_old = int(np.searchsorted(rows.distinct.first, posterior.n))  # distinct leaves come in order of first sight
    old_rows = _old_rows(posterior, rows.kept)
    values = given.values.copy()
    values[: len(old_rows)] = posterior.model_values(tree)[old_rows]
    covariance: Any = covariance_of(posterior, tree)
    if not posterior.theta.keys() >= set(covariance.learnt):  # it was known, not drawn
        covariance = replace(covariance, learn=False)
    noise = _noise_of(posterior, tree, given.noise, old_rows)
    merges = np.empty((0, 2), np.int64), np.empty(0)
    if given.n > 1:  # else all rows are the same: there is no tree
        values = _filled(values, len(old_rows), rng)
        old = restricted(posterior.children[tree], posterior.times[tree], rows.distinct.first[:n_old])
        variances = noises.row_variances(given.noise, noise)
        problem = make_problem(values, covariance, variances, replicates=given.replicates, rotate=True)
        merges = graft(problem, old, _nearest_old(problem.W, n_old), rng)
    imputed = np.empty(0) if given.missing is None else values[given.missing]
    return Chain(merges, covariance, noise, imputed, None, rng)


def _nearest_old(W: np.ndarray, n_old: int) -> np.ndarray:
    """(n, k) the old leaves nearest to each new one, where there are many; (n, 0) for all branches."""
    n = len(W)
    if n <= MAX_LEAVES_ALL_BRANCHES:
        return np.empty((n, 0), np.int32)
    near = np.full((n, N_NEAREST), -1, np.int32)
    near[n_old:] = nearest(W[n_old:], W[:n_old], N_NEAREST, np.arange(n, n + n_old)) - n
    return near


def _noise_of(posterior: Posterior, tree: int, model: NoiseModel, old_rows: np.ndarray) -> NoiseDraw:
    """The noise as it was drawn with a tree; new rows start as ordinary ones."""
    noise = noises.first_draw(model)
    if model.level is None:
        level = float(posterior.theta[noises.NOISE_LEVEL][tree])
        noise = noise._replace(level=noises.at_least_floor(model, level))
    if noise.tail_scale is not None and posterior.tail_scale is not None:
        noise.tail_scale[: len(old_rows)] = posterior.tail_scale[tree, old_rows]
    return noise


def _filled(values: np.ndarray, n_old: int, rng: np.random.Generator) -> np.ndarray:
    """A first guess at missing entries of new rows: those of the nearest old row, and a little noise."""
    spread = values[:n_old].std(axis=0)
    for i in np.flatnonzero(np.isnan(values).any(axis=1)):
        lacks = np.isnan(values[i])
        distance = np.square((values[:n_old, ~lacks] - values[i, ~lacks]) / np.where(spread > 0, spread, 1.0)[~lacks])
        twin = values[np.argmin(distance.sum(axis=1)), lacks]
        values[i, lacks] = twin + 0.1 * spread[lacks] * rng.standard_normal(lacks.sum())
    return values
