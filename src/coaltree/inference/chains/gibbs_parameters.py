"""The second half of a step: covariance and noise, given the tree.

    times, Φ and λ on another scale          one draw that leaves the likelihood as it is
    λ, Φ integrated out, then Φ              what the noise explains the tree need not: given Φ, λ hardly moves
    the scales s of Student's tails          each row given all others
    λ and all s against each other           one draw that changes no leaf's variance

The last three are repeated where there are scales and an iteration has one step: λ mixes slowly with them, and they
cost little beside a sweep over many rows. A Φ that cannot be integrated out is drawn once, before them: it costs more.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...model.covariance import Covariance
from ...model.process.coalescent import standardized_gaps
from ...model.process.diffusion import ContrastsAt, contrasts, log_likelihood
from ...model.process.noise import (
    NoiseDraw,
    NoiseModel,
    draw_ratio,
    likelihood_at_scale,
    log_level_density,
    row_variances,
)
from ...model.process.student_scales import ScalesOnTree
from ...numerics.slice_sampling import slice_sample
from .state import Chain, ChainData, Merges

REPEATS = 2
SLICE_WIDTH = 0.5  # in log λ

LogDensity = Callable[[np.ndarray], float]  # of the rows' variances
Parameters = tuple[Covariance, NoiseDraw]


def draw_parameters(data: ChainData, chain: Chain, repeat: bool = True) -> Chain:
    """Draw new times (all on another scale), covariance and noise; `repeat` where a tree takes longer to draw."""
    data = data._replace(values=data.filled(chain.imputed))
    (children, times), covariance, noise, rng = chain.tree, chain.covariance, chain.noise, chain.rng
    if covariance.learnt:
        times, covariance, noise = _draw_scale(data, chain)
    tree = data.over_rows((children, times))
    draws_noise = data.noise.is_random and len(times) > 0
    if covariance.learnt and not (draws_noise and covariance.integrates):
        variances = row_variances(data.noise, noise)
        U = contrasts(*tree, data.values, variances)
        covariance = covariance.update(data.statistics(covariance, U, variances), rng)
    if draws_noise:
        draw = _draw_together if covariance.integrates else _draw_noise
        n_repeats = REPEATS if repeat and noise.tail_scale is not None else 1
        covariance, noise = draw(data, tree, covariance, noise, n_repeats, rng)
    return chain._replace(tree=(children, times), covariance=covariance, noise=noise)


def _draw_scale(data: ChainData, chain: Chain) -> tuple[np.ndarray, Covariance, NoiseDraw]:
    """(τ, Φ, λ) → (c τ, Φ / c, c λ)."""
    noise, times = chain.noise, chain.tree[1]
    at_scale = likelihood_at_scale(data.noise, noise, lambda: _likelihood(data, chain))
    c, covariance = chain.covariance.scale_move(float(standardized_gaps(times).sum()), len(times), chain.rng, at_scale)
    if data.noise.level is None:
        noise = noise._replace(level=noise.level * c)
    return times * c, covariance, noise


def _likelihood(data: ChainData, chain: Chain) -> LogDensity:
    """log p(X | tree, Φ) as a function of the rows' variances."""
    children, times = data.over_rows(chain.tree)
    W, whitener = _whitened(data, chain.covariance)

    def at(variances: np.ndarray) -> float:
        of_leaves = log_likelihood(children, times, W, leaf_var=variances, log_det=whitener.log_det)
        return of_leaves + data.log_within(whitener, variances)

    return at


def _draw_together(
    data: ChainData, tree: Merges, covariance: Covariance, noise: NoiseDraw, n_repeats: int, rng: np.random.Generator
) -> Parameters:
    """λ with Φ integrated out, then Φ, then the scales."""
    contrasts_at, scales = ContrastsAt(tree[0], tree[1], data.values), ScalesOnTree(*tree)
    half_d = 0.5 * data.values.shape[1]

    def log_density(variances: np.ndarray) -> float:
        U, log_v = contrasts_at(variances)
        log_v += data.log_v_within(variances)
        return covariance.log_marginal(data.statistics(covariance, U, variances)) - half_d * log_v

    for _ in range(n_repeats):
        noise = _draw_level(data.noise, noise, log_density, rng)
        variances = row_variances(data.noise, noise)
        U, _ = contrasts_at(variances)
        covariance = covariance.update(data.statistics(covariance, U, variances), rng)
        if noise.tail_scale is not None:
            noise = _draw_tails(data, scales, _whitened(data, covariance)[0], noise, rng)
    return covariance, noise


def _draw_noise(
    data: ChainData, tree: Merges, covariance: Covariance, noise: NoiseDraw, n_repeats: int, rng: np.random.Generator
) -> Parameters:
    """λ and the scales given Φ."""
    W, whitener = _whitened(data, covariance)
    contrasts_at, scales = ContrastsAt(tree[0], tree[1], W), ScalesOnTree(*tree)
    half_d = 0.5 * data.values.shape[1]

    def log_density(variances: np.ndarray) -> float:
        U, log_v = contrasts_at(variances)
        return -0.5 * float(np.vdot(U, U)) - half_d * log_v + data.log_within(whitener, variances)

    for _ in range(n_repeats):
        noise = _draw_level(data.noise, noise, log_density, rng)
        if noise.tail_scale is not None:
            noise = _draw_tails(data, scales, W, noise, rng)
    return covariance, noise


def _draw_level(
    model: NoiseModel, noise: NoiseDraw, log_likelihood_at: LogDensity, rng: np.random.Generator
) -> NoiseDraw:
    """λ, if it is learnt, by a slice in log λ."""
    if model.level is not None:
        return noise
    unit = row_variances(model, noise) / noise.level

    def log_density(y: float) -> float:
        log_prior = log_level_density(model, y)
        return log_prior if log_prior == -math.inf else log_prior + log_likelihood_at(math.exp(y) * unit)

    return noise._replace(level=math.exp(slice_sample(log_density, math.log(noise.level), SLICE_WIDTH, rng)))


def _draw_tails(
    data: ChainData, scales: ScalesOnTree, W: np.ndarray, noise: NoiseDraw, rng: np.random.Generator
) -> NoiseDraw:
    """All scales, and then these against λ."""
    unit, d = noise.level * data.noise.error2, data.values.shape[1]
    assert noise.tail_scale is not None
    drawn = scales.draw(W, d, unit, noise.tail_scale, data.noise.half_df, rng)
    return draw_ratio(data.noise, noise._replace(tail_scale=drawn), rng)


def _whitened(data: ChainData, covariance: Covariance) -> tuple[np.ndarray, Any]:
    """Centred and whitened rows, and the whitener."""
    centred = data.values - data.values.mean(axis=0)
    whitener = covariance.whitener(centred.shape[1])
    return np.ascontiguousarray(whitener.whiten(centred)), whitener
