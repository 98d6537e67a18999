"""Particles: partial trees that grow merge by merge.

A particle is a row in each array of `Particles`: its lineages in order of age, a = s - τ of each node, and the tree so
far. The distances of a merged node lie in a slot of the `RowPool`, which copies of a particle share.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ..._runtime.memory import require_memory
from ..._runtime.typing import Int
from ...model.process.diffusion import join, join_distance, log_density_of_difference
from ...model.process.whitened import Problem
from ...numerics.borrow import borrow
from ...numerics.full_integral import FullIntegralTable, full_integral_table
from ..base import require_apart
from .row_pool import RowPool, give_back, insert_nearest, leaf_distances, make_pool, take_slot
from .smc import Population

ALIVE = np.iinfo(np.int32).max


class Particles(NamedTuple):
    """M partial trees over n leaves."""

    alive: np.ndarray  # (M, n) the lineages, in order of age (of node number)
    a: np.ndarray  # (M, 2n-1) s - τ of each node
    death: np.ndarray  # (M, 2n-1) the merge that ended it, or ALIVE
    head: np.ndarray  # (M, 2n-1) first of the nearest entries that may still be alive
    floor: np.ndarray  # (M, 2n-1) no entry of the row is smaller, but for the nearest ones
    least: np.ndarray  # (M, 2n-1) no entry of the row at all is smaller
    slot: np.ndarray  # (M, n-1) where a merged node's row lies
    children: np.ndarray  # (M, n-1, 2)
    times: np.ndarray  # (M, n-1)
    log_joint: np.ndarray  # (M,)
    slope: np.ndarray  # (M,) how steeply weights fell with log ε in the last step, a guess for the next


class Model(NamedTuple):
    """The constants of one run."""

    n: int
    d: int
    log_det: float
    leaf_var: float
    table: FullIntegralTable  # of the full merge integral


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
    bytes_needed = 8 * n * n + int(3.2 * M * n * n)  # if nothing is ever shared; 1/15 of it for the nearest entries
    require_memory(bytes_needed, f"a run of {M} particles over {n} rows", "use fewer particles or rows")
    n_near = min(n - 1, n_near or min(64, max(8, n // 40)))
    pool = make_pool(leaf_distances(problem), M, n_near)
    smallest, largest = pool.near_eps[1:n, 0].min(), pool.leaf_eps.max()
    reach = np.ones(2)
    if with_density:
        require_apart(smallest > 0.0 or leaf_var > 0.0)
        reach = np.clip([1e-3 * smallest, n * n * largest], 1e-100, 1e100)
    model = Model(n, problem.d, problem.log_det, leaf_var, full_integral_table(problem.d, *reach))
    return Context(model, pool, _make_particles(model, pool, M), streams, np.zeros(M))


def _make_particles(model: Model, pool: RowPool, M: int) -> Particles:
    n, n_near = model.n, pool.near_eps.shape[1]
    nodes = (M, 2 * n - 1)
    a, floor, least = np.zeros(nodes), np.full(nodes, math.inf), np.full(nodes, math.inf)
    a[:, :n] = model.leaf_var
    floor[:, :n] = np.where(np.arange(n) > n_near, pool.near_eps[:n, -1], math.inf)
    least[:, :n] = pool.near_eps[:n, 0]
    alive, slot = np.tile(np.arange(n, dtype=np.int32), (M, 1)), np.zeros((M, n - 1), np.int32)
    death, head = np.full(nodes, ALIVE, np.int32), np.zeros(nodes, np.int16)
    children, times = np.zeros((M, n - 1, 2), np.int32), np.zeros((M, n - 1))
    slope = np.full(M, 0.5 * model.d)
    return Particles(alive, a, death, head, floor, least, slot, children, times, np.zeros(M), slope)


@jit
def take_slots(context: Context, step: Int) -> None:
    """Give each particle a slot for the row that merge `step` will make."""
    slot = context.particles.slot
    for p in range(slot.shape[0]):
        slot[p, step] = take_slot(context.pool, slot.shape[1] - step)


@jit
def release_merged(context: Context, step: Int) -> None:
    """Release the rows of the nodes that merge `step` ended."""
    particles, n = context.particles, context.model.n
    for p in range(particles.slot.shape[0]):
        for side in range(2):
            node = particles.children[p, step, side]
            if node >= n:
                give_back(context.pool, particles.slot[p, node - n])


@jit
def _share_rows(context: Context, ancestors: np.ndarray, step: Int) -> None:
    """Let every particle p hold the rows of ancestors[p] after merge `step`, instead of its own."""
    pool, particles, n = context.pool, context.particles, context.model.n
    for p in range(ancestors.size):
        for q in range(n - step - 1):
            mine, theirs = particles.alive[p, q], particles.alive[ancestors[p], q]
            if theirs >= n:
                pool.users[particles.slot[ancestors[p], theirs - n]] += 1
            if mine >= n:
                give_back(pool, particles.slot[p, mine - n])


@jit(inline="always")
def last_time(times: np.ndarray, p: Int, step: Int) -> float:
    """The time of the merge before `step`."""
    return times[p, step - 1] if step > 0 else 0.0


@jit
def older_distances(context: Context, p: Int, node: Int, out: np.ndarray) -> int:
    """Write ε of `node` to every lineage older than it, in order of age; return how many there are."""
    context = borrow(context)
    pool, particles, n = context.pool, context.particles, context.model.n
    count = 0
    if node < n:
        row = pool.leaf_eps[node]
        alive = particles.alive[p]
        while alive[count] < node:
            out[count] = row[alive[count]]
            count += 1
        return count
    made_by = node - n
    start = pool.offset[particles.slot[p, made_by]]
    row = pool.entries[start : start + n - made_by]  # one more than it has: the loop may read past its end
    death = particles.death[p, :node]
    position = 0
    for x in range(node):
        out[count] = row[position]
        count += death[x] == ALIVE
        position += death[x] > made_by
    return count


@jit
def all_distances(context: Context, p: Int, step: Int, node: Int, out: np.ndarray) -> None:
    """Write ε of `node` to every lineage, itself included, in order of age; call before merge `step`."""
    context = borrow(context)
    pool, particles, n = context.pool, context.particles, context.model.n
    older = older_distances(context, p, node, out)
    out[older] = 0.0
    m = n - step
    alive, death, slot, children = particles.alive[p], particles.death[p], particles.slot[p], particles.children[p]
    entries, offset = pool.entries, pool.offset
    if node < n:  # younger leaves, then younger merged nodes from the last one back
        q = older + 1
        while q < m and alive[q] < n:
            out[q] = pool.leaf_eps[node, alive[q]]
            q += 1
    q = m
    for s in range(step - 1, max(node - n, -1), -1):
        if death[n + s] == ALIVE:
            q -= 1
            out[q] = entries[offset[slot[s]] + older]  # its place when that row was written
        older += children[s, 0] < node
        older += children[s, 1] < node


@jit(inline="always")
def nearest_alive(context: Context, p: Int, node: Int) -> tuple[Int, Int]:
    """Skip the nearest entries that have merged; return the node's slot and the first that is alive, or their number.

    What this tells of the row's smallest entry is noted in `least`.
    """
    pool, particles, n = context.pool, context.particles, context.model.n
    slot = node if node < n else particles.slot[p, node - n]
    size = pool.near_eps.shape[1]
    head = particles.head[p, node]
    while head < size and particles.death[p, pool.near_node[slot, head]] != ALIVE:
        head += 1
    if head < size and pool.near_eps[slot, head] == math.inf:
        head = size
    particles.head[p, node] = head
    particles.least[p, node] = pool.near_eps[slot, head] if head < size else particles.floor[p, node]
    return slot, head


@jit
def read_row(context: Context, p: Int, node: Int, out: np.ndarray) -> int:
    """Write the whole row, as `older_distances` does, and note its smallest entry; the nearest ones are used up."""
    particles = context.particles
    count = older_distances(context, p, node, out)
    least = math.inf
    for k in range(count):
        least = min(least, out[k])
    particles.floor[p, node] = least
    particles.least[p, node] = least
    particles.head[p, node] = context.pool.near_eps.shape[1]
    return count


@jit
def merge(context: Context, p: Int, step: Int, older: Int, younger: Int, time: float, buffer: np.ndarray) -> None:
    """Merge the lineages at positions older < younger at `time`: write the new node's row and the tree.

    `buffer` (2, n+1) is scratch; log_joint gains -λ Δ + log N(difference | 0, v Φ).
    """
    context = borrow(context)
    model, pool, particles = context.model, context.pool, context.particles
    m = model.n - step
    alive = particles.alive[p]
    i, j = alive[older], alive[younger]
    to_i, to_j = buffer[0], buffer[1]
    all_distances(context, p, step, i, to_i)
    all_distances(context, p, step, j, to_j)
    eps_ij = to_i[younger]
    v, w_i, w_j, var = join(particles.a[p, i] + time, particles.a[p, j] + time)

    slot = particles.slot[p, step]
    start = pool.offset[slot]
    near_eps, near_node, entries = pool.near_eps[slot], pool.near_node[slot], pool.entries
    near_eps[:] = math.inf
    near_node[:] = 0
    worst, last = math.inf, near_eps.size - 1
    count = 0
    for q in range(m):
        if q == older or q == younger:
            continue
        eps = join_distance(w_i, w_j, to_i[q], to_j[q], eps_ij)
        entries[start + count] = eps
        node = alive[q]
        alive[count] = node
        count += 1
        if eps < worst:
            insert_nearest(near_eps, near_node, eps, node)
            worst = near_eps[last]
    new = model.n + step
    alive[count] = new

    before = last_time(particles.times, p, step)
    particles.death[p, i] = step
    particles.death[p, j] = step
    particles.a[p, new] = var - time
    particles.head[p, new] = 0
    particles.floor[p, new] = near_eps[last] if count > near_eps.size else math.inf
    particles.least[p, new] = near_eps[0]
    particles.children[p, step, 0] = i
    particles.children[p, step, 1] = j
    particles.times[p, step] = time
    particles.log_joint[p] += (
        -0.5 * m * (m - 1) * (time - before) + log_density_of_difference(eps_ij, v, model.d) - 0.5 * model.log_det
    )


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
        take_slots(self.context, step)

    def grow(self, first: int, last: int, step: int) -> None:
        self._kernel(self.context, first, last, step, *self._settings)

    def end(self, step: int) -> None:
        release_merged(self.context, step)

    def resample(self, ancestors: np.ndarray, step: int) -> None:
        _share_rows(self.context, ancestors, step)
        lost = np.flatnonzero(ancestors != np.arange(ancestors.size))
        for kept in self.context.particles:
            kept[lost] = kept[ancestors[lost]]

    def result(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return trees_of(self.context)


def trees_of(context: Context) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return children, times and log joint of all trees."""
    return context.particles.children, context.particles.times, context.particles.log_joint.copy()
