"""`extend`: graft new rows onto the trees of a posterior, and go on sampling with all rows."""

from dataclasses import replace
from itertools import count, islice

import numpy as np

from .._runtime.random_streams import as_generator
from .._runtime.threads import single_threaded_blas
from .._runtime.typing import ArrayLike, RandomState
from .._runtime.validation import check_count
from ..errors import InputError
from ..model.data.columns import imputed_everywhere
from ..model.data.leaves import read_rows
from ..model.data.missing import check_apart, missing_entries
from ..model.data.table import Table, as_double
from ..model.data.ties import spread_ties
from ..model.process.noise import LEVEL, at_least_floor, first_draw, noise_model, row_variances, typical_error
from ..model.process.whitened import make_problem
from ..numerics.weighted import pick_trees
from ..posterior import Posterior
from ..posterior.io.pandas_output import INDEX
from ..posterior.predictive.placement import covariance_of, read_new_rows
from ..samplers import as_sampler
from ..samplers.base import SamplerLike
from ..samplers.regraft.insertion import graft
from ..samplers.regraft.nearest import nearest
from ..samplers.regraft.regraft import Regraft
from ..tree.merges import restricted
from .chains.chain import Chain, Plan, Rounds, advance, concatenate_rounds

_EVERY_BRANCH_UP_TO = 2000
_NEAR = 16


def extend(
    posterior: Posterior,
    X_new: ArrayLike,
    *,
    n_rounds: int = 10,
    n_trees: int | None = None,
    sampler: SamplerLike | None = None,
    random_state: RandomState = None,
) -> Posterior:
    """Graft new rows onto the trees, go on for a few rounds, and return the posterior of all rows.

    `Posterior.extend` explains the parameters.
    """
    check_count("n_rounds", n_rounds, 1)
    sampler = Regraft() if sampler is None else as_sampler(sampler)
    table = read_new_rows(posterior, X_new)
    rng = as_generator(random_state)
    labels = _all_labels(posterior, table)
    assert posterior.X is not None and posterior.covariance is not None  # else read_new_rows has refused
    X = np.concatenate([as_double(posterior.X), table.values])
    rows = _all_rows(posterior, table, X, labels)
    distinct = rows.distinct
    n_old = int(np.searchsorted(rows.kept, len(posterior.X)))  # rows come in order of first sight
    values = _model_values(posterior, X, rows.kept, n_old)
    check_apart(values, rows.names_of_kept(), has_density=rows.has_density)
    recorded = X[rows.kept] if posterior.used is None else X[rows.kept][:, posterior.used]
    noise = noise_model(posterior.noise, recorded, None if rows.errors is None else rows.errors[rows.kept])
    if noise.is_random and not sampler.learns_noise:
        raise InputError(f"{type(sampler).__name__} cannot draw the noise that was learnt; use Regraft.")
    plan = Plan(sampler, noise, rows.replicates, missing_entries(values), int(n_rounds) - 1)
    chosen, weights = pick_trees(posterior.weights, len(posterior) if n_trees is None else n_trees)
    kept: list[Rounds] = []
    lists = None
    with single_threaded_blas():
        for tree in chosen:
            seed = rng.integers(2**63)
            chain = _grafted(posterior, int(tree), plan, values, rows, np.random.default_rng(seed))
            chain, rounds = advance(plan, chain._replace(neighbors=lists), int(n_rounds))
            kept += rounds
            if not chain.covariance.learnt and plan.missing is None and plan.replicates is None:
                lists = chain.neighbors  # the same data and covariance for every tree
    every = concatenate_rounds(kept)
    children, times = distinct.expand(every.children, every.times)
    info = {
        **({"seed": posterior.info["seed"]} if "seed" in posterior.info else {}),
        **({INDEX: posterior.info[INDEX]} if INDEX in posterior.info else {}),
        "sampler": repr(sampler),
        "n_distinct": len(distinct.first),
        "n_extended": len(table.values),
        "n_rounds": int(n_rounds),
    }
    return Posterior(
        children,
        times,
        log_weights=np.log(weights),
        log_joint=every.log_joint,
        labels=labels,
        theta=every.theta,
        chain=posterior.chain[chosen] if posterior.is_chain else None,
        X=X,
        columns=posterior.columns,
        imputed=imputed_everywhere(every.imputed, X, posterior.used) if np.isnan(X).any() else None,
        used=posterior.used,
        fitted=None if posterior.fitted is None else values[rows.places],
        covariance=posterior.covariance,
        noise=posterior.noise,
        errors=rows.errors,
        groups=rows.leaf,
        row_labels=None if posterior.groups is None else (*posterior.row_labels, *labels[posterior.n :]),
        tail_scale=every.tail_scale[:, rows.places] if noise.half_df > 0.0 else None,
        info=info,
    )


def _all_labels(posterior, table):
    n, m = posterior.n, len(table.values)
    taken = {*posterior.labels, *posterior.row_labels}
    new = (
        table.labels
        if table.features is not None
        else tuple(islice((str(i) for i in count(n) if str(i) not in taken), m))
    )
    clash = sorted(taken.intersection(new))
    if clash:
        raise InputError(f"a new row has the name {clash[0]!r}, as one of the fitted rows has; rename it.")
    return (*posterior.labels, *new)


def _model_values(posterior, X, kept, n_old):
    """The rows that are kept as the model sees them; those that were fitted stay as they were."""
    used = np.arange(X.shape[1]) if posterior.used is None else posterior.used
    values = np.ascontiguousarray(X[kept][:, used])
    if posterior.fitted is not None:
        values, _ = spread_ties(values, kept, used)
    values[:n_old] = posterior.model_values()[kept[:n_old]]
    return values


def _all_rows(posterior, table, X, labels):
    """Old rows with their groups and errors; each new row is a leaf of its own, with an error like theirs."""
    groups, names = None, labels
    if posterior.groups is not None:
        names = (*posterior.row_labels, *labels[posterior.n :])
        groups = [*(posterior.labels[i] for i in posterior.groups), *labels[posterior.n :]]
    errors = posterior.errors
    if errors is not None:
        errors = np.concatenate([errors, np.full(len(table.values), typical_error(errors))])
    return read_rows(Table(X, names, posterior.columns), posterior.noise, groups, errors)


def _grafted(posterior, tree, plan, values, rows, rng):
    """A chain that stands at one tree of the posterior with the new rows grafted on."""
    values = values.copy()
    n_old_rows = int(np.searchsorted(rows.kept, len(posterior.X)))
    n_old = int(np.searchsorted(rows.distinct.first, posterior.n))  # distinct leaves come in order of first sight
    values[:n_old_rows] = posterior.model_values(tree)[rows.kept[:n_old_rows]]
    covariance = covariance_of(posterior, tree)
    if not posterior.theta.keys() >= set(covariance.learnt):  # it was known, not drawn
        covariance = replace(covariance, learn=False)  # type: ignore[type-var]
    noise = _noise_of(posterior, tree, plan.noise, rows.kept[:n_old_rows])
    if len(rows.distinct.first) == 1:  # all rows are the same: there is no tree
        return Chain((np.empty((0, 2), np.int64), np.empty(0)), covariance, noise, values, None, rng)
    values = _filled(values, n_old_rows, rng)
    old = restricted(posterior.children[tree], posterior.times[tree], rows.distinct.first[:n_old])
    variances = row_variances(plan.noise, noise)
    problem = make_problem(values, covariance, variances, replicates=plan.replicates, rotate=True)
    assert problem.W is not None
    n = problem.n
    near = np.empty((n, 0), np.int32)
    if n > _EVERY_BRANCH_UP_TO:
        near = np.full((n, _NEAR), -1, np.int32)
        beyond = np.arange(n, n + n_old)
        near[n_old:] = nearest(problem.W[n_old:], problem.W[:n_old], _NEAR, beyond) - n
    return Chain(graft(problem, old, near, rng), covariance, noise, values, None, rng)


def _noise_of(posterior, tree, model, old_rows):
    """The noise as it was drawn with a tree; new rows start as ordinary ones."""
    noise = first_draw(model)
    if model.level is None:
        noise = noise._replace(level=at_least_floor(model, float(posterior.theta[LEVEL][tree])))
    if noise.tail_scale is not None and posterior.tail_scale is not None:
        noise.tail_scale[: len(old_rows)] = posterior.tail_scale[tree, old_rows]
    return noise


def _filled(values, n_old, rng):
    """A first guess at missing entries of new rows: those of the nearest old row, and a little noise."""
    spread = values[:n_old].std(axis=0)
    for i in np.flatnonzero(np.isnan(values).any(axis=1)):
        lacks = np.isnan(values[i])
        distance = np.square((values[:n_old, ~lacks] - values[i, ~lacks]) / np.where(spread > 0, spread, 1.0)[~lacks])
        twin = values[np.argmin(distance.sum(axis=1)), lacks]
        values[i, lacks] = twin + 0.1 * spread[lacks] * rng.standard_normal(lacks.sum())
    return values
