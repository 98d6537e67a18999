"""PostPost (Teh et al. 2008): pair and time from their exact joint posterior of one step.

Each pair is drawn in proportion to Z_C, its integral cut to v > r, which needs one quadrature for every pair that
can matter; v then follows the cut generalized inverse Gaussian, and the weight factor is Σ_C Z_C.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..._runtime.jit import jit
from ...model.diffusion import LOG_2PI
from ...model.problem import Problem
from ...numerics.gig import draw_cut_gig
from .pair_weights import CUT, draw_pair, weigh_rows
from .particles import merge
from .population import MergingPopulation
from .smc import SMC


@jit
def _grow(context, first, last, step, prune):
    """Make merge `step` of particles first … last-1."""
    model, pool, particles = context.model, context.pool, context.particles
    row_sum, buffer = np.empty(model.n), np.empty((2, model.n + 1))
    m = model.n - step
    lam = 0.5 * m * (m - 1)
    for p in range(first, last):
        state = context.streams[p]
        before = particles.times[p, step - 1] if step > 0 else 0.0
        weighed = weigh_rows(CUT, model, pool, particles, p, step, lam, prune, row_sum, buffer[0])
        older, younger, eps = draw_pair(CUT, model, pool, particles, p, step, lam, row_sum, weighed, buffer[0], state)
        a_sum = particles.a[p, particles.alive[p, older]] + particles.a[p, particles.alive[p, younger]]
        r = max(0.0, 2.0 * before + a_sum)
        time = before + 0.5 * draw_cut_gig(1.0 - 0.5 * model.d, eps, lam, r, state)
        log_sum = math.log(weighed.total) + weighed.shift + lam * before - (1.0 - 0.5 * model.d) * math.log(lam)
        context.log_factor[p] = log_sum - 0.5 * (model.d * LOG_2PI + model.log_det) - math.log(2.0)
        merge(model, pool, particles, p, step, older, younger, time, buffer)


@dataclass(frozen=True)
class PostPost(SMC):
    """Each merge from its exact one-step posterior, pair and time."""

    def population(self, problem: Problem, streams: np.ndarray) -> MergingPopulation:
        return MergingPopulation(problem, streams, _grow, True)
