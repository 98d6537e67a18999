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

from ...model.covariance import Components
from ...model.draws import Merges, State
from ...model.model import Model
from ...model.process.coalescent import standardized_gaps
from ...model.process.diffusion import contrasts, log_likelihood, messages
from ...model.process.noise import (
    NoiseDraw,
    NoiseModel,
    draw_ratio,
    likelihood_at_scale,
    log_level_density,
    row_variances,
)
from ...model.process.student_scales import draw_scales
from ...numerics.slice_sampling import slice_sample

REPEATS = 2  # of level and tail scales, which depend on each other
SLICE_WIDTH = 0.5  # in log λ

LogDensity = Callable[[np.ndarray], float]  # of the rows' variances


def draw_parameters(model: Model, state: State, rng: np.random.Generator, repeat: bool = True) -> State:
    """Draw new times (all on another scale), covariance and noise; `repeat` where a tree takes longer to draw."""
    model = model.complete(state.imputed)
    if isinstance(state.covariance, Components) and model.residual is not None:
        state = state._replace(covariance=state.covariance.draw_residual(model.residual, rng))
    if state.covariance.learnt:
        state = state._replace(**_draw_scale(model, state, rng))
    draws_noise = model.noise.settings.is_random and len(state.tree[1]) > 0
    if state.covariance.learnt and not (draws_noise and state.covariance.integrates):
        variances = row_variances(model.noise, state.noise)
        U = contrasts(*model.over_rows(state.tree), model.values, variances)
        statistics = model.statistics(state.covariance, U, variances)
        state = state._replace(covariance=state.covariance.update(statistics, rng))
    if draws_noise:
        draw = _draw_together if state.covariance.integrates else _draw_noise
        n_repeats = REPEATS if repeat and state.noise.tail_scale is not None else 1
        state = draw(model, state, n_repeats, rng)
    return state


def _draw_scale(model: Model, state: State, rng: np.random.Generator) -> dict[str, Any]:
    """(τ, Φ, λ) → (c τ, Φ / c, c λ)."""
    noise, (children, times) = state.noise, state.tree
    at_scale = likelihood_at_scale(model.noise, noise, lambda: _likelihood(model, state))
    c, covariance = state.covariance.scale_move(float(standardized_gaps(times).sum()), len(times), rng, at_scale)
    if model.noise.level is None:
        noise = noise._replace(level=noise.level * c)
    return {"tree": (children, times * c), "covariance": covariance, "noise": noise}


def _likelihood(model: Model, state: State) -> LogDensity:
    """log p(X | tree, Φ) as a function of the rows' variances."""
    children, times = model.over_rows(state.tree)
    W, whitener = model.whitened(state)

    def at(variances: np.ndarray) -> float:
        of_leaves = log_likelihood(children, times, W, leaf_var=variances, log_det=whitener.log_det)
        return of_leaves + model.log_within(whitener, variances)

    return at


def _draw_together(model: Model, state: State, n_repeats: int, rng: np.random.Generator) -> State:
    """λ with Φ integrated out, then Φ, then the scales."""
    tree = model.over_rows(state.tree)
    half_d, covariance = 0.5 * model.values.shape[1], state.covariance

    def log_density(variances: np.ndarray) -> float:
        up = messages(*tree, model.values, variances)
        log_v = float(np.log(up.v).sum()) + model.log_v_within(variances)
        return covariance.log_marginal(model.statistics(covariance, up.U, variances)) - half_d * log_v

    for _ in range(n_repeats):
        noise = _draw_level(model.noise, state.noise, log_density, rng)
        variances = row_variances(model.noise, noise)
        U = contrasts(*tree, model.values, variances)
        covariance = covariance.update(model.statistics(covariance, U, variances), rng)
        state = state._replace(covariance=covariance, noise=noise)
        if noise.tail_scale is not None:
            state = state._replace(noise=_draw_tails(model, tree, model.whitened(state)[0], noise, rng))
    return state


def _draw_noise(model: Model, state: State, n_repeats: int, rng: np.random.Generator) -> State:
    """λ and the scales given Φ."""
    (W, whitener), tree = model.whitened(state), model.over_rows(state.tree)
    half_d = 0.5 * model.values.shape[1]

    def log_density(variances: np.ndarray) -> float:
        up = messages(*tree, W, variances)
        log_tree = -0.5 * float(np.vdot(up.U, up.U)) - half_d * float(np.log(up.v).sum())
        return log_tree + model.log_within(whitener, variances)

    for _ in range(n_repeats):
        noise = _draw_level(model.noise, state.noise, log_density, rng)
        if noise.tail_scale is not None:
            noise = _draw_tails(model, tree, W, noise, rng)
        state = state._replace(noise=noise)
    return state


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


def _draw_tails(model: Model, tree: Merges, W: np.ndarray, noise: NoiseDraw, rng: np.random.Generator) -> NoiseDraw:
    """All scales, and then these against λ."""
    unit, d = noise.level * model.noise.error2, model.values.shape[1]
    assert noise.tail_scale is not None
    drawn = draw_scales(tree, W, d, unit, noise.tail_scale, model.noise.half_df, rng)
    return draw_ratio(model.noise, noise._replace(tail_scale=drawn), rng)
