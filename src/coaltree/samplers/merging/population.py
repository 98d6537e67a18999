"""Particles, their pool of rows and their distances, behind the four calls the particle loop makes."""

from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ...numerics.special import full_integral_table
from . import particles as growing
from .pairs import leaf_distances, require_apart
from .turns import is_for_copying, next_particle, next_turn, step_of


class Context(NamedTuple):
    """All that a kernel needs to grow particles."""

    model: growing.Model
    pool: growing.RowPool
    particles: growing.Particles
    streams: np.ndarray  # (M, 4)
    ancestor: np.ndarray  # (M,) whom each particle is to become a copy of
    log_factor: np.ndarray  # (M,) out: log weight factor of the step


@jit(allocates=False)
def next_step(context, share):
    """Return the merge that particles are to make now, or -1; on the way there, copy those resampled."""
    while True:
        turn = next_turn(share)
        if turn < 0:
            return -1
        if not is_for_copying(turn):
            return step_of(turn)
        p = next_particle(share)
        while p >= 0:
            growing.copy_particle(context.particles, context.ancestor[p], p, step_of(turn))
            p = next_particle(share)


class Population:
    """M growing particles; `kernel(context, share, *settings)` does what there is to do in the turns that come."""

    def __init__(self, problem, streams, kernel, *settings, n_near=None):
        n, M = problem.n, len(streams)
        # As measured if nothing is ever shared; the rows of a greedy tree are not packed.
        bytes_needed = 8 * n * n + int((1.5 if kernel is not None else 3.0) * M * n * n)
        require_memory(bytes_needed, f"a run of {M} particles over {n} rows", "use fewer particles or rows")
        n_near = min(n - 1, n_near or min(64, max(8, n // 40)))  # lists take a ninth of the rows' memory
        pool = growing.make_pool(leaf_distances(problem), M, n_near)
        smallest, largest = pool.near_eps[1:n, 0].min(), pool.leaf_eps.max()
        reach = np.ones(2)
        if kernel is not None:  # a greedy tree needs no density: it merges equal rows at time 0, and reads no table
            require_apart(smallest, problem.leaf_noise)
            reach = np.clip([1e-3 * smallest, n * n * largest], 1e-100, 1e100)
        table = full_integral_table(problem.d, *reach)
        model = growing.Model(n, problem.d, problem.log_det, problem.leaf_noise, table)
        self.context = Context(
            model,
            pool,
            growing.make_particles(model, pool, M),
            streams,
            np.arange(M),
            np.zeros(M),
        )
        self._kernel, self._settings = kernel, settings
        self.log_factor = self.context.log_factor

    def begin(self, step):
        """Give every particle room for the row it is about to make."""
        self.context.ancestor[:] = np.arange(len(self.context.ancestor))
        pool, particles = self.context.pool, self.context.particles
        length = self.context.model.n - step - 1
        if growing.is_full(pool, len(particles.slot), length):
            growing.pack(pool, particles, step)
        growing.take_slots(pool, particles.slot, step, length)

    def work(self, share):
        """Do what there is to do in turns that have come; there may be several threads at it, each with its share."""
        self._kernel(self.context, share, *self._settings)

    def end(self, step):
        """Give back the rows of nodes that have merged."""
        growing.release_merged(self.context.pool, self.context.particles, step)

    def resample(self, ancestors, step):
        """Let each particle become a copy of its ancestor in the next turn; ancestors must be their own."""
        self.context.ancestor[:] = ancestors
        growing.hand_over_rows(self.context.pool, self.context.particles, ancestors, step)

    def result(self):
        """Return children, times and log joint of all trees."""
        particles = self.context.particles
        return particles.children, particles.times, particles.log_joint.copy()
