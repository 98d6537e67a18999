"""Sequential Monte Carlo over merges: M particles in step, weighed, resampled, carried on.

    for each merge:  every particle proposes a pair and a time, and multiplies its weight by target / proposal;
                     where the effective sample size 1 / Σ W² falls below a share of M, particles are resampled.

`log_evidence` is the log of an unbiased estimate of p(X): the product of the mean weights between resamplings. Threads
share out the particles; each particle has its own random stream, so the number of threads changes nothing.
"""

import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..._runtime.random_streams import make_streams
from ...errors import InputError
from ...model.problem import Problem
from ...numerics.weighted import pick_evenly
from ..base import Draws
from .turns import Team, copying, merging


def available_threads():
    """Return how many processors this process may use: those it is bound to, or a container's share of their time."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(processors, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max"
        return processors


def normalised(log_weights):
    """Return weights that sum to 1 and the log of the mean unnormalised weight."""
    shift = log_weights.max()
    weights = np.exp(log_weights - shift)
    total = weights.sum()
    return weights / total, float(shift + math.log(total / len(weights)))


def effective_sample_size(weights):
    """Return 1 / Σ W² of weights that sum to 1."""
    return float(1.0 / np.square(weights).sum())


def systematic_ancestors(weights, rng):
    """Draw ancestors by systematic resampling: particle i has ⌊M W_i⌋ or ⌈M W_i⌉ offspring.

    A particle with offspring is its own ancestor, so that only the places of those without are overwritten.
    """
    M = len(weights)
    offspring = np.bincount(pick_evenly(weights, M, rng.random(), side="right"), minlength=M)
    ancestors = np.arange(M)
    ancestors[offspring == 0] = np.repeat(np.arange(M), np.maximum(offspring - 1, 0))
    return ancestors


@dataclass(frozen=True)
class SMC:
    """Settings that all merge-by-merge samplers share.

    Parameters
    ----------
    n_particles : int
        M, how many trees are grown side by side.
    resample_below : float
        Resample when the effective sample size falls below this share of M; 0 never, 1 at every step.
    """

    n_particles: int = 100
    resample_below: float = 0.5

    needs_vectors = False
    is_chain = False

    def __post_init__(self):
        if isinstance(self.n_particles, bool) or not isinstance(self.n_particles, (int, np.integer)):
            raise InputError(f"n_particles must be a whole number, not {self.n_particles!r}.")
        if self.n_particles < 1:
            raise InputError(f"n_particles must be at least 1, not {self.n_particles}.")
        share = self.resample_below
        if not (isinstance(share, (int, float, np.number)) and 0.0 <= share <= 1.0):
            raise InputError(f"resample_below must lie between 0 (never) and 1 (always), not {self.resample_below!r}.")

    def population(self, problem, streams):
        """Return a fresh population: an object with `begin`, `work`, `end`, `resample`, `log_factor`, `result`."""
        raise NotImplementedError

    def run(self, problem: Problem, rng, *, n_samples=None, n_warmup=None, n_threads=None, progress=None) -> Draws:
        """Grow M trees to the root and return them with their weights; the counts of draws are not used.

        No more threads are started than there are processors: helpers stay awake, and would be in each other's way.
        """
        M, merges = self.n_particles, problem.n - 1
        population = self.population(problem, make_streams(rng, M))
        available = available_threads()
        n_threads = min(n_threads or available, available, M)
        log_weights, log_evidence, resampled = np.zeros(M), 0.0, 0
        with Team(population.work, M, n_threads) as team:
            for step in range(merges):
                population.begin(step)
                team.do(merging(step))
                population.end(step)
                log_weights += population.log_factor
                if M > 1 and step < merges - 1:
                    weights, log_mean = normalised(log_weights)
                    if effective_sample_size(weights) < self.resample_below * M:
                        population.resample(systematic_ancestors(weights, rng), step)
                        team.do(copying(step))
                        log_evidence += log_mean
                        log_weights[:] = 0.0
                        resampled += 1
                if progress is not None:
                    progress(step + 1, merges)
        weights, log_mean = normalised(log_weights)
        info = {"ess": effective_sample_size(weights), "n_resampled": resampled}
        children, times, log_joint = population.result()
        return Draws(children, times, log_weights, log_joint, log_evidence + log_mean, info)

    def step(self, problem: Problem, tree, rng, **options):
        """Run once and draw one tree by weight: the paper's alternation of trees and covariance."""
        draws = self.run(problem, rng, n_threads=options.get("n_threads"))
        weights, _ = normalised(draws.log_weights)
        chosen = rng.choice(len(weights), p=weights)
        info = {**draws.info, "log_evidence": draws.log_evidence}
        return draws.children[chosen], draws.times[chosen], info
