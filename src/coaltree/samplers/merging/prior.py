"""Prior (PriorPrior of Teh et al. 2008): pair and time from the coalescent, weighed by the data.

The pair is uniform among the λ pairs, Δ ~ Exp(λ), and the weight factor is N(difference | 0, v Φ): right, simple, and
hopeless for many dimensions, since nothing in the proposal looks at the data.
"""

from dataclasses import dataclass

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.random_streams import exponential, integer_below
from ..._runtime.typing import Int
from ...model.process.diffusion import log_density_of_difference
from ...model.process.whitened import Problem
from .particles import Context, MergingPopulation, all_distances, last_time, merge
from .smc import SMC


@jit
def _grow(context: Context, first: Int, last: Int, step: Int) -> None:
    """Make merge `step` of particles first … last-1."""
    model, particles = context.model, context.particles
    buffer = np.empty((2, model.n + 1))
    m = model.n - step
    for p in range(first, last):
        state = context.streams[p]
        younger = integer_below(state, m)
        older = integer_below(state, m - 1)
        older += older >= younger  # two different positions, every unordered pair equally likely
        older, younger = min(older, younger), max(older, younger)
        time = last_time(particles.times, p, step) + exponential(state) / (0.5 * m * (m - 1))
        i, j = particles.alive[p, older], particles.alive[p, younger]
        all_distances(context, p, step, i, buffer[0])
        v = particles.a[p, i] + particles.a[p, j] + 2.0 * time
        context.log_factor[p] = log_density_of_difference(buffer[0, younger], v, model.d) - 0.5 * model.log_det
        merge(context, p, step, older, younger, time, buffer)


@dataclass(frozen=True)
class Prior(SMC):
    """Merges proposed by the coalescent itself, weighed by the data.

    Examples
    --------
    >>> X, _ = ct.simulate(4, 2, random_state=0)
    >>> len(ct.sample_trees(X, sampler=ct.Prior(n_particles=50), random_state=0, progress=False))
    50
    """

    def population(self, problem: Problem, streams: np.ndarray) -> MergingPopulation:
        population = MergingPopulation(problem, streams, _grow)
        population.worth_a_thread *= 4  # a merge without a choice of pair is cheap
        return population
