"""Resampled columns: each chain has its own column weights w_j, Σ w_j = d, and the draws of all chains are pooled.

A chain draws from p(tree, θ) Π_j p(x_j | tree, θ)^w_j, the noise of column j being part of p(x_j | …). With the n - 1
contrasts u_k of variances c_k (those of the tree and of the noise) and Φ = diag(v),

    Π_j p(x_j | …)^w_j = Π_k c_k^(-d/2) · Π_j v_j^(-w_j (n-1)/2) exp(-w_j Σ_k u_kj² / (2 v_j c_k)) ,

so that the table with columns times √w_j has this likelihood, wherever v_j is known up to a factor that all columns
share; learnt v_j count their contrasts w_j times (`WeightedDiagonal`).

Without missing cells w_j ~ Exp(1), scaled (the Bayesian bootstrap). With missing cells that are drawn, too, the power
of the density of a completed column is not that of the observed cells: there whole columns are drawn with replacement,
and each copy has missing cells of its own.
"""

from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np

from ...errors import InputError
from ...model.covariance import Covariance, Diagonal, Spherical
from ...model.covariance.conjugate import WeightedDiagonal
from ...model.data.missing import agreeing_pair, draw_missing
from ...model.draws import Draws, concatenate
from ...model.model import Model
from ...model.process.noise import row_variances
from ..settings import RunSettings

_STREAM = 32
_MAX_TRIES = 1_000  # to draw columns in which no two rows agree


def check_resampling(model: Model) -> None:
    """Refuse what cannot be resampled by columns."""
    covariance, name = model.covariance, type(model.covariance).__name__
    if not isinstance(covariance, Spherical | Diagonal):
        raise InputError(
            f'resample="columns" weighs columns one by one, and {name} ties them to each other; use '
            'covariance="spherical", "scaled" or "diagonal".'
        )
    if model.missing is not None and "variances" in covariance.learnt:
        raise InputError(
            f'resample="columns" cannot learn the variances of {name} where values are missing; use '
            'covariance="scaled" or "spherical".'
        )
    if model.values.shape[1] < 2:
        raise InputError('resample="columns" needs at least two columns that vary.')


def draw_weights(model: Model, settings: RunSettings, seed: int) -> np.ndarray:
    """(chains, d) weights of the columns; those of the first chains do not depend on how many there are."""
    rng, d = np.random.default_rng([_STREAM, seed]), model.values.shape[1]
    if model.missing is None:
        drawn = rng.standard_exponential((settings.n_chains, d))
        return drawn * (d / drawn.sum(axis=1, keepdims=True))
    return np.stack([_draw_counts(model, rng) for _ in range(settings.n_chains)])


def _draw_counts(model: Model, rng: np.random.Generator) -> np.ndarray:
    """(d,) how often each column is drawn; no two rows may agree in all of them that both have, unless they can."""
    d = model.values.shape[1]
    has_density = model.noise.level is not None and model.noise.level > 0.0
    for _ in range(_MAX_TRIES):
        counts = rng.multinomial(d, np.full(d, 1.0 / d))
        if has_density or agreeing_pair(model.values[:, counts > 0]) is None:
            return counts.astype(np.float64)
    raise InputError(
        "too many values are missing to resample columns: some rows share so few that they are equal in most draws; "
        "leave such rows out, or give a fixed noise, such as noise=0.1."
    )


def models_of_chains(model: Model, settings: RunSettings, seed: int) -> list[Model]:
    """What each chain is given; the rows are the same array for all."""
    if settings.resample is None:
        return [model] * settings.n_chains
    return [model._replace(weights=weights) for weights in draw_weights(model, settings, seed)]


def weighted(model: Model) -> Model:
    """The rows as a chain sees them: with columns times √w_j, or drawn w_j times."""
    weights = model.weights
    if weights is None:
        return model
    covariance = weighted_covariance(model)
    if model.missing is None:
        model = model._replace(values=model.values * np.sqrt(weights))
    else:
        columns = _drawn(weights)
        model = model._replace(
            values=np.ascontiguousarray(model.values[:, columns]),
            missing=np.ascontiguousarray(model.missing[:, columns]),
        )
    return model._replace(covariance=covariance, weights=None).of_chains()


def weighted_covariance(model: Model) -> Covariance:
    """The covariance of these columns: priors and fixed variances are those of the table as it was given."""
    covariance = model.covariance
    if model.weights is None or not isinstance(covariance, Diagonal):
        return covariance
    if "variances" in covariance.learnt:
        same = {field.name: getattr(covariance, field.name) for field in fields(covariance)}
        return WeightedDiagonal(**same, weights=model.weights)
    if model.missing is None:
        return covariance
    return replace(covariance, variances=covariance.variances[_drawn(model.weights)])


def _drawn(counts: np.ndarray) -> np.ndarray:
    """(d,) the numbers of the columns, each as often as it was drawn."""
    return np.repeat(np.arange(len(counts)), counts.astype(np.int64))


def pooled(model: Model, settings: RunSettings, seed: int, draws: Iterable[Iterable[Draws]]) -> Draws:
    """The draws of all chains, with a draw of each missing entry of the table, and the weights of the columns."""
    weights, chains = draw_weights(model, settings, seed), []
    for number, blocks in enumerate(draws):
        own = concatenate(list(blocks))
        if model.missing is not None:
            rng = np.random.default_rng([_STREAM, seed, number])
            own = own._replace(imputed=_imputed(model, weights[number], own, rng))
        chains.append(own)
    return concatenate(chains)._replace(column_weights=weights)


def _imputed(model: Model, counts: np.ndarray, draws: Draws, rng: np.random.Generator) -> np.ndarray:
    """(T, missing entries): those of the first copy of a column; of a column that was not drawn, given each tree."""
    assert model.missing is not None and draws.imputed is not None
    columns, (row_of, column_of) = _drawn(counts), np.nonzero(model.missing)
    place = np.full((len(model.values), len(columns)), -1)
    place[model.missing[:, columns]] = np.arange(draws.imputed.shape[1])
    is_drawn = counts[column_of] > 0
    first = np.searchsorted(columns, column_of[is_drawn])
    found = np.empty((len(draws.imputed), len(row_of)))
    found[:, is_drawn] = draws.imputed[:, place[row_of[is_drawn], first]]
    others = np.flatnonzero((counts == 0) & model.missing.any(axis=0))
    if len(others) == 0:
        return found
    gaps, values = model.missing[:, others], np.ascontiguousarray(model.values[:, others])
    for t in range(len(found)):
        tree = model.over_rows((draws.children[t].astype(np.int64), draws.times[t]))
        sd = model.covariance_of(draws, t).whitener(len(counts)).color(np.ones(len(counts)))[others]
        variances = row_variances(model.noise, model.noise_of(draws, t))
        found[t, ~is_drawn] = draw_missing(*tree, values, sd, variances, rng)[gaps]
    return found


def drift(log_joint: np.ndarray, chain: np.ndarray) -> float:
    """Mean over chains of how far the log joint rises from the first half of a chain's draws to the second.

    In standard deviations of one chain's rise; about ± 1 / √chains where the warm-up was long enough.
    """
    rises = []
    for draws in (log_joint[chain == number] for number in np.unique(chain)):
        first, second = np.array_split(draws, 2)
        rises.append(second.mean() - first.mean() if len(second) else 0.0)
    spread = float(np.std(rises, ddof=1)) if len(rises) > 1 else 0.0
    return float(np.mean(rises)) / spread if spread > 0.0 else 0.0
