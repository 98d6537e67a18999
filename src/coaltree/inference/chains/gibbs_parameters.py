"""The second half of a round: covariance and noise, given the tree.

    times, Φ and λ on another scale          one draw that leaves the likelihood as it is
    λ, Φ integrated out, then Φ              what the noise explains the tree need not: given Φ, λ hardly moves
    the scales s of Student's tails          each row given all others
    λ and all s against each other           one draw that changes no leaf's variance

The last three are repeated where there are scales and a round has one tree: λ waits for them, and they cost little
beside a sweep over many rows. Of few rows a round has several trees, and each of them its parameters.
A Φ that cannot be integrated out is drawn once, before them: it costs more than they do.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ...model.covariance import Covariance
from ...model.data.replicates import Replicates, Within
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

_TURNS, _TURNS_OF_WIDE = 3, 2
_WIDE = 64  # columns from which on the rows hold λ given the scales: a third turn gives nothing, and costs more
_WIDTH = 0.5  # of slices in log λ


class Known(NamedTuple):
    """What the parameters are drawn given, beside the times."""

    values: np.ndarray  # (N, d) rows, missing entries filled in
    children: np.ndarray
    noise: NoiseModel
    replicates: Replicates | None
    within: Within | None = None  # what is left of rows that were put together into leaves

    def statistics(self, covariance: Covariance, U: np.ndarray, variances: np.ndarray) -> Any:
        """What an update of the covariance needs of the tree's contrasts U, and of those within leaves."""
        if self.within is None:
            return covariance.statistics(U)
        return self.within.statistics(covariance, U, self._level(variances))

    def log_within(self, whitener: Any, variances: np.ndarray) -> float:
        """Log density of the contrasts within leaves."""
        return 0.0 if self.within is None else self.within.log_density(whitener, self._level(variances))

    def log_v_within(self, variances: np.ndarray) -> float:
        """Σ log v of the contrasts within leaves, up to a constant."""
        return 0.0 if self.within is None else self.within.n * math.log(self._level(variances))

    def _level(self, variances):
        """The level of a normal noise from the leaves' variances."""
        return float(variances[0] / self.noise.error2[0])

    def over_rows(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tree over the rows, which are its leaves unless some are replicates."""
        return (self.children, times) if self.replicates is None else self.replicates.expand(self.children, times)


def draw_parameters(
    known: Known,
    times: np.ndarray,
    covariance: Covariance,
    noise: NoiseDraw,
    rng: np.random.Generator,
    repeat: bool = True,
) -> tuple[np.ndarray, Covariance, NoiseDraw]:
    """New times (all on another scale), covariance and noise; `repeat` where a tree takes longer to draw than they."""
    if covariance.learnt:
        times, covariance, noise = _draw_scale(known, times, covariance, noise, rng)
    tree = known.over_rows(times)
    draws_noise = known.noise.is_random and len(times) > 0
    if covariance.learnt and not (draws_noise and covariance.integrates):
        variances = row_variances(known.noise, noise)
        U = contrasts(*tree, known.values, variances)
        covariance = covariance.update(known.statistics(covariance, U, variances), rng)
    if draws_noise:
        draw = _draw_together if covariance.integrates else _draw_noise
        n_turns = _turns(known, noise) if repeat else 1
        covariance, noise = draw(known, tree, covariance, noise, n_turns, rng)
    return times, covariance, noise


def _draw_scale(known, times, covariance, noise, rng):
    """(τ, Φ, λ) → (c τ, Φ / c, c λ)."""
    tree = known.over_rows(times)
    at_scale = likelihood_at_scale(known.noise, noise, lambda: _likelihood(known, tree, covariance))
    c, covariance = covariance.scale_move(float(standardized_gaps(times).sum()), len(times), rng, at_scale)
    if known.noise.level is None:
        noise = noise._replace(level=noise.level * c)
    return times * c, covariance, noise


def _draw_together(known, tree, covariance, noise, n_turns, rng):
    """λ with Φ integrated out, then Φ, then the scales."""
    contrasts_at = ContrastsAt(tree[0], tree[1], known.values)
    half_d, centred, scales = 0.5 * known.values.shape[1], _centred(known), ScalesOnTree(*tree)

    def log_density(variances):
        U, log_v = contrasts_at(variances)
        log_v += known.log_v_within(variances)
        return covariance.log_marginal(known.statistics(covariance, U, variances)) - half_d * log_v

    for _ in range(n_turns):
        noise = _draw_level(known.noise, noise, log_density, rng)
        variances = row_variances(known.noise, noise)
        U, _ = contrasts_at(variances)
        covariance = covariance.update(known.statistics(covariance, U, variances), rng)
        if noise.tail_scale is not None:
            noise = _draw_tails(known, scales, _whitened(centred, covariance)[0], noise, rng)
    return covariance, noise


def _draw_noise(known, tree, covariance, noise, n_turns, rng):
    """λ and the scales given Φ."""
    W, whitener = _whitened(_centred(known), covariance)
    contrasts_at = ContrastsAt(tree[0], tree[1], W)
    half_d, scales = 0.5 * known.values.shape[1], ScalesOnTree(*tree)

    def log_density(variances):
        U, log_v = contrasts_at(variances)
        return -0.5 * float(np.vdot(U, U)) - half_d * log_v + known.log_within(whitener, variances)

    for _ in range(n_turns):
        noise = _draw_level(known.noise, noise, log_density, rng)
        if noise.tail_scale is not None:
            noise = _draw_tails(known, scales, W, noise, rng)
    return covariance, noise


def _turns(known, noise):
    if noise.tail_scale is None:
        return 1
    return _TURNS if known.values.shape[1] < _WIDE else _TURNS_OF_WIDE


def _draw_level(model, noise, log_likelihood_at, rng):
    """λ, if it is learnt, by a slice in log λ; `log_likelihood_at` takes the rows' variances."""
    if model.level is not None:
        return noise
    unit = row_variances(model, noise) / noise.level

    def log_density(y):
        log_prior = log_level_density(model, y)
        return log_prior if log_prior == -math.inf else log_prior + log_likelihood_at(math.exp(y) * unit)

    return noise._replace(level=math.exp(slice_sample(log_density, math.log(noise.level), _WIDTH, rng)))


def _draw_tails(known, scales, W, noise, rng):
    """All scales, and then these against λ."""
    unit, d = noise.level * known.noise.error2, known.values.shape[1]
    drawn = scales.draw(W, d, unit, noise.tail_scale, known.noise.half_df, rng)
    return draw_ratio(known.noise, noise._replace(tail_scale=drawn), rng)


def _likelihood(known, tree, covariance):
    """log p(X | tree, Φ) as a function of the rows' variances; `tree` is over the rows."""
    (children, times), (W, whitener) = tree, _whitened(_centred(known), covariance)

    def at(variances):
        of_leaves = log_likelihood(children, times, W, leaf_var=variances, log_det=whitener.log_det)
        return of_leaves + known.log_within(whitener, variances)

    return at


def _centred(known):
    return known.values - known.values.mean(axis=0)


def _whitened(centred, covariance):
    whitener = covariance.whitener(centred.shape[1])
    return np.ascontiguousarray(whitener.whiten(centred)), whitener
