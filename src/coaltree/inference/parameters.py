"""The second half of a round: covariance and noise, given the tree.

    times, Φ and λ on another scale          one draw that leaves the likelihood as it is
    λ, Φ integrated out, then Φ              what the noise explains the tree need not: given Φ, λ hardly moves
    the scales s of Student's tails          each row given all others
    λ and all s against each other           one draw that changes no leaf's variance

The last three are repeated where there are scales: λ waits for them, and they cost little beside a sweep over trees.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..model.coalescent import standardized_gaps
from ..model.covariance import Covariance
from ..model.diffusion import contrasts, log_likelihood, messages
from ..model.noise import (
    NoiseDraw,
    NoiseModel,
    draw_ratio,
    likelihood_at_scale,
    log_level_density,
    row_variances,
)
from ..model.replicates import Replicates
from ..model.tails import draw_scales
from ..numerics.slice_sampling import slice_sample

_TURNS = 3
_WIDTH = 0.5  # of slices in log λ


class Known(NamedTuple):
    """What the parameters are drawn given, beside the times."""

    values: np.ndarray  # (N, d) rows, missing entries filled in
    children: np.ndarray
    noise: NoiseModel
    replicates: Replicates | None

    def over_rows(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The tree over the rows, which are its leaves unless some are replicates."""
        return (self.children, times) if self.replicates is None else self.replicates.expand(self.children, times)


def draw_parameters(
    known: Known, times: np.ndarray, covariance: Covariance, noise: NoiseDraw, rng: np.random.Generator
) -> tuple[np.ndarray, Covariance, NoiseDraw]:
    """New times (all on another scale), covariance and noise."""
    if covariance.learnt:
        times, covariance, noise = _draw_scale(known, times, covariance, noise, rng)
    tree = known.over_rows(times)
    has_tree = len(times) > 0
    for _ in range(1 if noise.tail_scale is None else _TURNS):
        if known.noise.level is None and has_tree:
            noise = noise._replace(level=_draw_level(known, tree, covariance, noise, rng))
        if covariance.learnt:
            U = contrasts(*tree, known.values, row_variances(known.noise, noise))
            covariance = covariance.update(covariance.statistics(U), rng)
        if noise.tail_scale is not None and has_tree:
            W, d = _whitened(known, covariance)[0], known.values.shape[1]
            unit = noise.level * known.noise.error2
            scales = draw_scales(*tree, W, d, unit, noise.tail_scale, known.noise.half_df, rng)
            noise = draw_ratio(known.noise, noise._replace(tail_scale=scales), rng)
    return times, covariance, noise


def _draw_scale(known, times, covariance, noise, rng):
    """(τ, Φ, λ) → (c τ, Φ / c, c λ)."""
    tree = known.over_rows(times)
    at_scale = likelihood_at_scale(known.noise, noise, lambda: _likelihood(known, tree, covariance))
    c, covariance = covariance.scale_move(float(standardized_gaps(times).sum()), len(times), rng, at_scale)
    if known.noise.level is None:
        noise = noise._replace(level=noise.level * c)
    return times * c, covariance, noise


def _draw_level(known, tree, covariance, noise, rng):
    """λ by a slice in log λ; with Φ integrated out where that has a closed form, so that Φ must be drawn next."""
    (children, times), model, d = tree, known.noise, known.values.shape[1]
    unit = row_variances(model, noise) / noise.level
    integrates = covariance.log_marginal(covariance.statistics(np.zeros((1, d)))) is not None
    given_covariance: Any = None if integrates else _likelihood(known, tree, covariance)

    def log_density(y):
        log_prior = log_level_density(model, y)
        if log_prior == -math.inf:
            return log_prior
        variances = math.exp(y) * unit
        if given_covariance is not None:
            return log_prior + given_covariance(variances)
        up = messages(children, times, known.values, variances)
        i, j = children.T
        U = (up.mean[i] - up.mean[j]) / np.sqrt(up.v)[:, None]
        return log_prior + covariance.log_marginal(covariance.statistics(U)) - 0.5 * d * float(np.log(up.v).sum())

    return math.exp(slice_sample(log_density, math.log(noise.level), _WIDTH, rng))


def _likelihood(known, tree, covariance):
    """log p(X | tree, Φ) as a function of the rows' variances; `tree` is over the rows."""
    (children, times), (W, log_det) = tree, _whitened(known, covariance)
    return lambda variances: log_likelihood(children, times, W, leaf_var=variances, log_det=log_det)


def _whitened(known, covariance):
    whitener = covariance.whitener(known.values.shape[1])
    centred = known.values - known.values.mean(axis=0)
    return np.ascontiguousarray(whitener.whiten(centred)), whitener.log_det
