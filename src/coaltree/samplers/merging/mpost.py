"""MPost1 and MPost2 (Henao & Lucas 2012): choose the pair by its integral over all v > 0, then draw its time.

With Z̃_C = exp(G(ε, λ) + λ r / 2) (MPost1), or λ dropped inside G (MPost2), a pair C is drawn in proportion to Z̃_C
and its v from the generalized inverse Gaussian cut to v > r. The weight factor that makes this exact is

    (Σ_C Z̃_C) Z_C / Z̃_C     for the chosen pair's cut integral Z_C;

the paper prints Σ_C Z̃_C alone, which forgets that v > r.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.validation import check_choice
from ...model.process.diffusion import LOG_2PI
from ...model.process.whitened import Problem
from ...numerics.gig import draw_cut_gig, log_cut_integral
from .pair_weights import FULL, draw_pair, proposal_integral, weigh_rows
from .particles import merge
from .population import MergingPopulation
from .smc import SMC


@jit
def grow(context, first, last, step, rule, drop_rate, sum_alone, prune):
    """Make merge `step` of particles first … last-1; with `sum_alone` the weight factor is Σ_C alone."""
    model, pool, particles = context.model, context.pool, context.particles
    row_sum, buffer = np.empty(model.n), np.empty((2, model.n + 1))
    m = model.n - step
    lam = 0.5 * m * (m - 1)
    inner = 1.0 if drop_rate else lam
    for p in range(first, last):
        state = context.streams[p]
        before = particles.times[p, step - 1] if step > 0 else 0.0
        weighed = weigh_rows(rule, model, pool, particles, p, step, inner, prune, row_sum, buffer[0])
        older, younger, eps = draw_pair(
            rule, model, pool, particles, p, step, inner, row_sum, weighed, buffer[0], state
        )
        a_sum = particles.a[p, particles.alive[p, older]] + particles.a[p, particles.alive[p, younger]]
        r = max(0.0, 2.0 * before + a_sum)
        time = before + 0.5 * draw_cut_gig(1.0 - 0.5 * model.d, eps, lam, r, state)
        log_factor = math.log(weighed.total) + weighed.shift + lam * before
        if sum_alone:
            log_factor -= (1.0 - 0.5 * model.d) * math.log(inner)
        else:
            log_factor += log_cut_integral(eps, lam, r, model.d) - proposal_integral(eps, r, inner, model)
        context.log_factor[p] = log_factor - 0.5 * (model.d * LOG_2PI + model.log_det) - math.log(2.0)
        merge(model, pool, particles, p, step, older, younger, time, buffer)


@dataclass(frozen=True)
class MPost1(SMC):
    """Pairs in proportion to their full Bessel integral, times from the cut generalized inverse Gaussian.

    Parameters
    ----------
    n_particles, resample_below : as in every sequential sampler.
    weights : "exact" or "printed"
        "exact" gives an unbiased estimate of the evidence; "printed" is the paper's formula, for comparison.
    """

    weights: str = "exact"

    _drop_rate = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("weights", self.weights, ("exact", "printed"))

    def population(self, problem: Problem, streams: np.ndarray) -> MergingPopulation:
        return MergingPopulation(problem, streams, grow, FULL, self._drop_rate, self.weights == "printed", True)


@dataclass(frozen=True)
class MPost2(MPost1):
    """As MPost1, with the coalescent's rate dropped inside the Bessel integral when the pair is chosen."""

    _drop_rate = True
