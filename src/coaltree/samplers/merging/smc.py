"""Sequential Monte Carlo over merges.

    for each merge:  every particle proposes a pair and a time, and multiplies its weight by target / proposal;
                     where the effective sample size 1 / Σ W² falls below a share of M, particles are resampled.

`log_evidence` is the log of an unbiased estimate of p(X): the product of the mean weights between resamplings. Each
thread grows a block of particles; each particle has its own random stream, so the number of threads changes nothing.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator

from ..._runtime.random_streams import make_streams
from ..._runtime.threads import allowed_threads
from ..._runtime.validation import check_count, check_number
from ...model.process.whitened import Problem
from ...numerics.weighted import effective_sample_size, pick_evenly
from ..base import Draws, Sampler, Step, Watcher


def useful_threads(n_threads: int, n_particles: int, worth_a_thread: int) -> int:
    """Return how many of `n_threads` threads to use, so that each has enough particles."""
    return max(1, min(n_threads, n_particles // worth_a_thread))


def blocks_of(n_particles: int, n_threads: int, worth_a_thread: int) -> list[tuple[int, int]]:
    """Return (first, last) of each thread's particles; the caller has some more, since others start later."""
    extra = min(worth_a_thread, n_particles) // 3 if n_threads > 1 else 0
    bounds = [0, *(extra + (n_particles - extra) * k // n_threads for k in range(1, n_threads + 1))]
    return list(pairwise(bounds))


def normalised(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return weights that sum to 1 and the log of the mean unnormalised weight."""
    shift = log_weights.max()
    weights = np.exp(log_weights - shift)
    total = weights.sum()
    return weights / total, float(shift + math.log(total / len(weights)))


def systematic_ancestors(weights: np.ndarray, rng: Generator) -> np.ndarray:
    """Draw ancestors by systematic resampling: particle i has ⌊M W_i⌋ or ⌈M W_i⌉ offspring.

    A particle with offspring is its own ancestor, so that only the places of those without are overwritten.
    """
    M = len(weights)
    offspring = np.bincount(pick_evenly(weights, M, rng.random(), side="right"), minlength=M)
    ancestors = np.arange(M)
    ancestors[offspring == 0] = np.repeat(np.arange(M), np.maximum(offspring - 1, 0))
    return ancestors


class Population:
    """M growing trees. `grow` is called by several threads, each with a block of its own; all else by one."""

    log_factor: np.ndarray  # (M,) log weight factor of the last step
    worth_a_thread: int = 1  # particles that take long enough to be handed to another thread

    def begin(self, step: int) -> None:
        """Prepare a step."""

    def grow(self, first: int, last: int, step: int) -> None:
        """Take particles first … last-1 one step further."""
        raise NotImplementedError

    def end(self, step: int) -> None:
        """Release what the step has used up."""

    def resample(self, ancestors: np.ndarray, step: int) -> None:
        """Make every particle p a copy of particle ancestors[p]; an ancestor is its own."""
        raise NotImplementedError

    def result(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return children, times and log joint of all trees."""
        raise NotImplementedError


def grow_blocks(population: Population, blocks: Sequence[tuple[int, int]], step: int, pool: ThreadPoolExecutor) -> None:
    """Take all particles a step further: the first block in this thread, the others in those of the pool."""
    others = [pool.submit(population.grow, first, last, step) for first, last in blocks[1:]]
    population.grow(*blocks[0], step)
    for other in others:
        other.result()


@dataclass(frozen=True)
class SMC(Sampler):
    """Settings that all sequential samplers share.

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

    def __post_init__(self) -> None:
        check_count("n_particles", self.n_particles)
        check_number("resample_below", self.resample_below, 0.0, 1.0)

    @abstractmethod
    def population(self, problem: Problem, streams: np.ndarray) -> Population:
        """Return the trees before their first step, each with its random stream."""

    def run(
        self,
        problem: Problem,
        rng: Generator,
        *,
        n_threads: int | None = None,
        progress: Watcher | None = None,
        **unused: Any,
    ) -> Draws:
        """Grow M trees to the root and return them with their weights; the counts of draws are not used."""
        M, merges = self.n_particles, problem.n - 1
        population = self.population(problem, make_streams(rng, M))
        n_threads = useful_threads(n_threads or allowed_threads(), M, population.worth_a_thread)
        log_weights, log_evidence, resampled = np.zeros(M), problem.log_beside, 0
        blocks = blocks_of(M, n_threads, population.worth_a_thread)
        with ThreadPoolExecutor(n_threads) as pool:  # which starts a thread when it is first given a block
            for step in range(merges):
                population.begin(step)
                grow_blocks(population, blocks, step, pool)
                population.end(step)
                log_weights += population.log_factor
                if M > 1 and step < merges - 1:
                    weights, log_mean = normalised(log_weights)
                    if effective_sample_size(weights) < self.resample_below * M:
                        population.resample(systematic_ancestors(weights, rng), step)
                        log_evidence += log_mean
                        log_weights[:] = 0.0
                        resampled += 1
                if progress is not None:
                    progress(step + 1, merges)
        weights, log_mean = normalised(log_weights)
        info = {"ess": effective_sample_size(weights), "n_resampled": resampled}
        children, times, log_joint = population.result()
        return Draws(children, times, log_weights, log_joint + problem.log_beside, log_evidence + log_mean, info)

    def step(self, problem: Problem, tree: Any, rng: Generator, *, n_threads: int | None = None, **unused: Any) -> Step:
        """Run once and draw one tree by weight: the paper's alternation of trees and covariance."""
        draws = self.run(problem, rng, n_threads=n_threads)
        weights, _ = normalised(draws.log_weights)
        chosen = rng.choice(len(weights), p=weights)
        info = {**draws.info, "log_evidence": draws.log_evidence}
        return draws.children[chosen], draws.times[chosen], info
