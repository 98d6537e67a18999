"""MPost1 and MPost2 (Henao & Lucas 2012) and PostPost (Teh et al. 2008): draw the pair by its integral, then its time.

MPost draws a pair C in proportion to its integral over all v > 0, Z̃_C = exp(G(ε, λ) + λ r / 2) (MPost1), or λ dropped
inside G (MPost2), and v from the generalized inverse Gaussian cut to v > r. The weight factor that makes this exact is

    (Σ_C Z̃_C) Z_C / Z̃_C     for the drawn pair's cut integral Z_C;

the paper prints Σ_C Z̃_C alone, which forgets that v > r. PostPost draws a pair in proportion to Z_C itself, by one
quadrature for every pair that can matter; its weight factor is Σ_C Z_C.
"""

import math
from dataclasses import dataclass

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.typing import Int
from ..._runtime.validation import check_choice
from ...model.process.diffusion import LOG_2PI
from ...model.process.whitened import Problem
from ...numerics.borrow import borrow
from ...numerics.gig import draw_cut_gig, log_normaliser
from .pair_weights import CUT, FULL, draw_pair, next_merge, proposal_integral, weigh_rows
from .particles import Context, MergingPopulation, merge
from .smc import SMC


@jit
def grow(
    context: Context, first: Int, last: Int, step: Int, rule: Int, drop_rate: bool, sum_alone: bool, prune: bool
) -> None:
    """Make merge `step` of particles first … last-1; with `sum_alone` the weight factor is Σ_C alone."""
    context = borrow(context)
    model, particles = context.model, context.particles
    d, row_sum, buffer = model.d, np.empty(model.n), np.empty((2, model.n + 1))
    for p in range(first, last):
        state = context.streams[p]
        now = next_merge(context, p, step, rule, drop_rate)
        weighed = weigh_rows(context, now, prune, row_sum, buffer[0])
        older, younger, eps = draw_pair(context, now, row_sum, weighed, buffer[0], state)
        a_sum = particles.a[p, particles.alive[p, older]] + particles.a[p, particles.alive[p, younger]]
        r = max(0.0, 2.0 * now.before + a_sum)
        time = now.before + 0.5 * draw_cut_gig(1.0 - 0.5 * d, eps, now.lam, r, state)
        log_factor = math.log(weighed.total) + weighed.shift + now.lam * now.before
        if sum_alone:
            log_factor -= (1.0 - 0.5 * d) * math.log(now.inner)
        else:
            log_factor += log_normaliser(1.0 - 0.5 * d, eps, now.lam, r) - proposal_integral(eps, r, now.inner, model)
        context.log_factor[p] = log_factor - 0.5 * (d * LOG_2PI + model.log_det) - math.log(2.0)
        merge(context, p, step, older, younger, time, buffer)


@dataclass(frozen=True)
class MPost1(SMC):
    """Pairs in proportion to their full Bessel integral, times from the cut generalized inverse Gaussian.

    Parameters
    ----------
    n_particles, resample_below : as in every sequential sampler.
    weights : "exact" or "printed"
        "exact" gives an unbiased estimate of the evidence; "printed" is the paper's formula, for comparison.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> len(ct.sample_trees(X, sampler=ct.MPost1(n_particles=50), random_state=0, progress=False))
    50
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
    """As MPost1, with the coalescent's rate dropped inside the Bessel integral when the pair is drawn.

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> len(ct.sample_trees(X, sampler=ct.MPost2(n_particles=50), random_state=0, progress=False))
    50
    """

    _drop_rate = True


@dataclass(frozen=True)
class PostPost(SMC):
    """Each merge from its exact one-step posterior, pair and time (Teh et al. 2008).

    Examples
    --------
    >>> X, _ = ct.simulate(12, 3, random_state=0)
    >>> len(ct.sample_trees(X, sampler=ct.PostPost(n_particles=50), random_state=0, progress=False))
    50
    """

    def population(self, problem: Problem, streams: np.ndarray) -> MergingPopulation:
        return MergingPopulation(problem, streams, grow, CUT, False, True, True)
