"""From a table to what chains see of it, and from their draws back to a posterior over its rows."""

import time
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._runtime.formatting import some
from .._runtime.memory import require_memory
from .._runtime.progress import duration
from .._runtime.threads import single_threaded_blas
from ..errors import CoaltreeWarning, InputError
from ..model.covariance import Covariance, CovarianceLike, Full, Spherical
from ..model.covariance.base import column_variances
from ..model.data.columns import Modelled, imputed_everywhere, modelled
from ..model.data.leaves import LeafRows, RowInputs, read_rows, warn_of_groups, without_empty_rows
from ..model.data.missing import agreeing_pair, check_apart, missing_entries
from ..model.data.table import Table, read_table
from ..model.data.transform import TransformLike, fit_transform
from ..model.process.noise import Noise, as_noise, noise_model
from ..posterior import Posterior
from ..samplers.base import Sampler
from .chains.resampling import check_resampling
from .chains.state import ChainData, ChainDraws, collapse_replicates
from .settings import MIN_DRAWS, RunSettings

MAX_SCALE_RATIO = 100.0  # of columns under one variance
MANY_COLUMNS = 2000  # from here on the cost of a full covariance is announced
MATRICES_AT_ONCE, FACTORISATIONS_PER_ITERATION = 8, 15  # of a full covariance, roughly


class FitData(NamedTuple):
    """A table, the leaves of its rows, and the model of them."""

    table: Table
    rows: LeafRows
    noise: Noise
    model: Modelled
    chains: ChainData  # what chains see of all this
    info: Mapping[str, Any] = {}  # what the posterior's `info` says of it
    transform: TransformLike = None  # the fitted transformer, which made the table


def prepare(
    X: Any,
    covariance: CovarianceLike,
    settings: RunSettings,
    *,
    noise: Any = None,
    errors: Any = None,
    groups: Any = None,
    transform: Any = None,
) -> FitData:
    """Read and check what `fit` was given, and choose columns and covariance."""
    sampler = settings.sampler
    if noise is None:  # Student's where the sampler can learn it, else none
        noise = Noise(tails="student") if sampler.learns_noise else Noise(0.0)
    noise = as_noise(noise)
    table = read_table(X, allow_missing=True)
    given, info = without_empty_rows(RowInputs(table, groups, errors))
    table, transformer = fit_transform(given.table, transform)
    info |= {} if transformer is None else {"transform": " ".join(str(transformer).split())}
    rows = read_rows(table, noise, given.groups, given.errors)
    warn_of_groups(rows, table, noise)
    _check_sampler(sampler, noise, rows)
    recorded = table.values if len(rows.kept) == len(table.values) else table.values[rows.kept]
    _announce_cost_of_full(covariance, table.values.shape[1], settings)
    model = _modelled_apart(recorded, rows, table, covariance, settings.resample is None)
    check_apart(model.values, rows.names_of_kept(), has_density=rows.has_density)
    if "covariance_choice" not in model.info:
        _warn_of_scales(model.covariance, table)
    of_rows = None if rows.errors is None else rows.errors[rows.kept]
    noise_of_rows = noise_model(noise, recorded if model.used is None else recorded[:, model.used], of_rows)
    missing = missing_entries(model.values)
    chains = ChainData(model.values, model.covariance, noise_of_rows, rows.replicates, missing)
    if settings.resample is not None:
        check_resampling(chains)
    else:
        chains = collapse_replicates(chains)
    return FitData(table, rows, noise, model, chains, info, transformer)


def _modelled_apart(values: np.ndarray, rows: LeafRows, table: Table, covariance: Any, allow_full: bool) -> Modelled:
    """The model of distinct rows; ties are spread where rows are equal in every column that both have.

    Such rows are no copies, for two of them may differ where a third has no values, and have no density at distance 0.
    """
    model = modelled(values, rows.kept, table.features, covariance, allow_full=allow_full)
    pair = None if rows.has_density or model.is_spread else agreeing_pair(model.values)
    if pair is None:
        return model
    names = rows.names_of_kept()
    warnings.warn(
        f"rows {names[pair[0]]!r} and {names[pair[1]]!r} are equal in every column that both have, so that their "
        "distance is 0; to keep such rows apart, equal values are spread over the step they are recorded "
        "in. A fixed noise, such as noise=0.1, keeps them apart, too.",
        CoaltreeWarning,
        stacklevel=4,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CoaltreeWarning)  # said already
        return modelled(values, rows.kept, table.features, covariance, spread=True, allow_full=allow_full)


def _check_sampler(sampler: Sampler, noise: Noise, rows: LeafRows) -> None:
    """Refuse what a sampler cannot do before any work is done."""
    if sampler.learns_noise:
        return
    name = type(sampler).__name__
    if noise.is_random:
        raise InputError(f'{name} needs a fixed, normal noise, such as noise=0.1; sampler="regraft" learns it.')
    if not sampler.takes_leaf_variances and (rows.errors is not None or rows.replicates is not None):
        raise InputError(f'{name} takes the same noise for all rows; use sampler="regraft" with errors or groups.')


def to_posterior(
    data: FitData, draws: ChainDraws, info: dict[str, Any], column_weights: np.ndarray | None = None, **more: Any
) -> Posterior:
    """The posterior of draws over the distinct rows of a table, with its copies and left-out columns put back."""
    table, rows, model = data.table, data.rows, data.model
    children, times = rows.distinct.expand(draws.children, draws.times)
    is_missing = bool(np.isnan(table.values).any())
    return Posterior(
        children,
        times,
        log_joint=draws.log_joint if column_weights is None else None,  # else each chain has its own likelihood
        labels=rows.labels,
        theta=draws.theta,
        X=table.values,
        columns=table.features,
        transform=data.transform,
        imputed=imputed_everywhere(draws.imputed, table.values, model.used) if is_missing else None,
        used=model.used,
        fitted=model.values[rows.places] if model.is_spread else None,
        covariance=model.covariance,
        noise=data.noise,
        errors=rows.errors,
        groups=rows.leaf,
        row_labels=table.labels,
        tail_scale=draws.tail_scale[:, rows.places] if data.chains.noise.half_df > 0.0 else None,
        column_weights=column_weights,
        info=info,
        **more,
    )


def _announce_cost_of_full(covariance: CovarianceLike, d: int, settings: RunSettings) -> None:
    """Refuse or announce what a full covariance of many columns takes, before the first of its large matrices."""
    is_full = isinstance(covariance, Full) or (isinstance(covariance, str) and covariance == "full")
    if d < MANY_COLUMNS or not is_full:
        return
    n_chains, n_draws = settings.n_chains, settings.n_samples or MIN_DRAWS
    what = f"a full covariance of {d:,} columns with {n_chains} chains of {n_draws} trees"
    instead = 'use covariance="diagonal", fewer columns or fewer trees'
    require_memory((2 * n_draws + MATRICES_AT_ONCE) * n_chains * 8 * d * d, what, instead)
    with single_threaded_blas():
        small = 0.1 + np.eye(MANY_COLUMNS // 4)
        began = time.perf_counter()
        np.linalg.cholesky(small)
        seconds = FACTORISATIONS_PER_ITERATION * (time.perf_counter() - began) * (d / len(small)) ** 3
    message = f"{what} takes some {duration(seconds)} per iteration; {instead}."
    warnings.warn(message, CoaltreeWarning, stacklevel=4)


def _warn_of_scales(covariance: Covariance, table: Table) -> None:
    """Under one variance for all columns, those of small scale have hardly any effect."""
    if not isinstance(covariance, Spherical):
        return
    sd = np.sqrt(column_variances(table.values))
    varies = np.nanmax(table.values, axis=0) > np.nanmin(table.values, axis=0)
    if not varies.any() or sd[varies].max() <= MAX_SCALE_RATIO * sd[varies].min():
        return
    names: Any = table.features or range(len(sd))
    order = np.flatnonzero(varies)[np.argsort(sd[varies])]
    large = [repr(names[j]) for j in order[::-1] if sd[j] > MAX_SCALE_RATIO * sd[order[0]]]
    small = [repr(names[j]) for j in order if sd[j] * MAX_SCALE_RATIO < sd[order[-1]]]
    warnings.warn(
        f"columns differ in scale by more than a factor of {MAX_SCALE_RATIO:.0f}: {some(large)} vary most, "
        f"{some(small)} least, with hardly any effect under a spherical covariance; "
        'use covariance="scaled", or scale the columns.',
        CoaltreeWarning,
        stacklevel=4,
    )
