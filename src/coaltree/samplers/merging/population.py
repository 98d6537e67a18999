"""Particles that share rows of distances, as the loop of `smc` drives them."""

from typing import Any, NamedTuple

import numpy as np

from ..._runtime.memory import require_memory
from ...model.process.whitened import Problem
from ...numerics.special import full_integral_table
from ..base import require_apart
from .pairs import leaf_distances
from .particles import Model, Particles, make_particles, release_merged, resample, take_slots
from .row_pool import RowPool, make_pool
from .smc import Population


class Context(NamedTuple):
    """All that a kernel needs to grow particles."""

    model: Model
    pool: RowPool
    particles: Particles
    streams: np.ndarray  # (M, 4)
    log_factor: np.ndarray  # (M,) out: log weight factor of the step


def make_context(
    problem: Problem, streams: np.ndarray, n_near: int | None = None, *, with_density: bool = True
) -> Context:
    """Return M particles of a problem before their first merge; a greedy tree needs no density, and reads no table."""
    n, M, leaf_var = problem.n, len(streams), problem.one_leaf_var()
    bytes_needed = 8 * n * n + int(3.2 * M * n * n)  # if nothing is ever shared; a fifteenth of it are the short lists
    require_memory(bytes_needed, f"a run of {M} particles over {n} rows", "use fewer particles or rows")
    n_near = min(n - 1, n_near or min(64, max(8, n // 40)))
    pool = make_pool(leaf_distances(problem), M, n_near)
    smallest, largest = pool.near_eps[1:n, 0].min(), pool.leaf_eps.max()
    reach = np.ones(2)
    if with_density:
        require_apart(smallest > 0.0 or leaf_var > 0.0)
        reach = np.clip([1e-3 * smallest, n * n * largest], 1e-100, 1e100)
    table = full_integral_table(problem.d, *reach)
    model = Model(n, problem.d, problem.log_det, leaf_var, table)
    return Context(model, pool, make_particles(model, pool, M), streams, np.zeros(M))


class MergingPopulation(Population):
    """M particles; `kernel(context, first, last, step, *settings)` makes one merge of each particle first … last-1."""

    def __init__(
        self, problem: Problem, streams: np.ndarray, kernel: Any, *settings: Any, n_near: int | None = None
    ) -> None:
        self.context: Context = make_context(problem, streams, n_near)
        self.log_factor: np.ndarray = self.context.log_factor
        self.worth_a_thread: int = max(1, 6400 // max(128, problem.n))  # about 0.25 ms; handing over takes 0.05
        self._kernel, self._settings = kernel, settings

    def begin(self, step: int) -> None:
        take_slots(self.context.pool, self.context.particles, step)

    def grow(self, first: int, last: int, step: int) -> None:
        self._kernel(self.context, first, last, step, *self._settings)

    def end(self, step: int) -> None:
        release_merged(self.context.pool, self.context.particles, step)

    def resample(self, ancestors: np.ndarray, step: int) -> None:
        resample(self.context.pool, self.context.particles, ancestors, step)

    def result(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return trees_of(self.context)


def trees_of(context: Context) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return children, times and log joint of all trees."""
    particles = context.particles
    return particles.children, particles.times, particles.log_joint.copy()
