"""Partial trees that grow merge by merge.

A particle is a row in each array of `Particles`: its lineages in order of age, what each says of itself (a = s - τ),
and the tree so far. The distances of a merged node lie in a slot of the `RowPool`, which particles that were one share.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ...model.process.diffusion import join, join_distance, log_density_of_difference
from ...numerics.special import FullIntegralTable
from .pairs import insert_nearest
from .row_pool import RowPool, give_back, take_slot

ALIVE = np.iinfo(np.int32).max


class Particles(NamedTuple):
    """M partial trees over n leaves."""

    alive: np.ndarray  # (M, n) the lineages, in order of age (of node number)
    a: np.ndarray  # (M, 2n-1) s - τ of each node
    death: np.ndarray  # (M, 2n-1) the merge that ended it, or ALIVE
    head: np.ndarray  # (M, 2n-1) first entry of the near list that may still be alive
    floor: np.ndarray  # (M, 2n-1) no entry of the row outside its near list is smaller
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


def make_particles(model: Model, pool: RowPool, n_particles: int) -> Particles:
    """Return M particles before their first merge."""
    n = model.n
    nodes = (n_particles, 2 * n - 1)
    a = np.zeros(nodes)
    a[:, :n] = model.leaf_var
    floor, least = np.full(nodes, math.inf), np.full(nodes, math.inf)
    n_near = pool.near_eps.shape[1]
    floor[:, :n] = np.where(np.arange(n) > n_near, pool.near_eps[:n, -1], math.inf)
    least[:, :n] = pool.near_eps[:n, 0]
    return Particles(
        np.tile(np.arange(n, dtype=np.int32), (n_particles, 1)),
        a,
        np.full(nodes, ALIVE, dtype=np.int32),
        np.zeros(nodes, dtype=np.int16),
        floor,
        least,
        np.zeros((n_particles, n - 1), dtype=np.int32),
        np.zeros((n_particles, n - 1, 2), dtype=np.int32),
        np.zeros((n_particles, n - 1)),
        np.zeros(n_particles),
        np.full(n_particles, 0.5 * model.d),
    )


# --- holding rows -----------------------------------------------------------------------------------------------


@jit(allocates=False)
def take_slots(pool, particles, step):
    """Give each particle a slot for the row that merge `step` will make."""
    length = particles.times.shape[1] - step
    for p in range(particles.slot.shape[0]):
        particles.slot[p, step] = take_slot(pool, length)


@jit(allocates=False)
def release_merged(pool, particles, step):
    """Give back the rows of the nodes that merge `step` ended."""
    n = particles.times.shape[1] + 1
    for p in range(particles.slot.shape[0]):
        for side in range(2):
            node = particles.children[p, step, side]
            if node >= n:
                give_back(pool, particles.slot[p, node - n])


@jit(allocates=False)
def _share_rows(pool, particles, ancestors, step):
    """Let every particle p hold the rows of ancestors[p] after merge `step`, instead of its own."""
    n = particles.times.shape[1] + 1
    for p in range(ancestors.size):
        for q in range(n - step - 1):
            mine, theirs = particles.alive[p, q], particles.alive[ancestors[p], q]
            if theirs >= n:
                pool.users[particles.slot[ancestors[p], theirs - n]] += 1
            if mine >= n:
                give_back(pool, particles.slot[p, mine - n])


def resample(pool: RowPool, particles: Particles, ancestors: np.ndarray, step: int) -> None:
    """Make every particle p a copy of ancestors[p] after merge `step`; an ancestor must be its own."""
    _share_rows(pool, particles, ancestors, step)
    lost = np.flatnonzero(ancestors != np.arange(ancestors.size))
    for kept in particles:
        kept[lost] = kept[ancestors[lost]]


# --- reading rows -----------------------------------------------------------------------------------------------


@jit(allocates=False)
def older_distances(pool, particles, p, node, out):
    """Write ε of `node` to every lineage older than it, in order of age; return how many there are."""
    n = particles.times.shape[1] + 1
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
    row = pool.entries[start : start + n - made_by]  # one more than it has, so that the walk may read past its end
    death = particles.death[p, :node]
    position = 0
    for x in range(node):
        out[count] = row[position]
        count += death[x] == ALIVE
        position += death[x] > made_by
    return count


@jit(allocates=False)
def all_distances(pool, particles, p, step, node, out):
    """Write ε of `node` to every lineage, itself included, in order of age; call before merge `step`."""
    older = older_distances(pool, particles, p, node, out)
    out[older] = 0.0
    n = particles.times.shape[1] + 1
    m = n - step
    alive, death = particles.alive[p], particles.death[p]
    if node < n:  # younger leaves, then younger merged nodes from the last one back
        q = older + 1
        while q < m and alive[q] < n:
            out[q] = pool.leaf_eps[node, alive[q]]
            q += 1
    q = m
    for s in range(step - 1, max(node - n, -1), -1):
        if death[n + s] == ALIVE:
            q -= 1
            out[q] = pool.entries[pool.offset[particles.slot[p, s]] + older]  # its place when that row was written
        older += particles.children[p, s, 0] < node
        older += particles.children[p, s, 1] < node


@jit(allocates=False)
def slot_of(particles, p, node):
    """Return the slot in which a node's row and near list lie."""
    n = particles.times.shape[1] + 1
    return node if node < n else particles.slot[p, node - n]


@jit(allocates=False)
def skip_merged(pool, particles, p, node, slot):
    """Move the head of a near list to its first entry that is still alive, and return it; its length if there is none.

    What is then known of the row's smallest entry is noted in `least`.
    """
    size = pool.near_eps.shape[1]
    head = particles.head[p, node]
    while head < size and particles.death[p, pool.near_node[slot, head]] != ALIVE:
        head += 1
    if head < size and pool.near_eps[slot, head] == math.inf:
        head = size
    particles.head[p, node] = head
    particles.least[p, node] = pool.near_eps[slot, head] if head < size else particles.floor[p, node]
    return head


@jit(allocates=False)
def read_row(pool, particles, p, node, out):
    """Write the whole row, as `older_distances` does, and note its smallest entry: the list is of no more use."""
    count = older_distances(pool, particles, p, node, out)
    least = math.inf
    for k in range(count):
        least = min(least, out[k])
    particles.floor[p, node] = least
    particles.least[p, node] = least
    particles.head[p, node] = pool.near_eps.shape[1]
    return count


# --- growing ----------------------------------------------------------------------------------------------------


@jit(allocates=False)
def merge(model, pool, particles, p, step, older, younger, time, buffer):
    """Merge the lineages at positions older < younger at `time`: write the new node's row, its list and the tree.

    `buffer` is (2, n) of scratch. Returns nothing; log_joint gains -λ Δ + log N(difference | 0, v Φ).
    """
    n = model.n
    m = n - step
    alive = particles.alive[p]
    i, j = alive[older], alive[younger]
    to_i, to_j = buffer[0], buffer[1]
    all_distances(pool, particles, p, step, i, to_i)
    all_distances(pool, particles, p, step, j, to_j)
    eps_ij = to_i[younger]
    v, w_i, w_j, var = join(particles.a[p, i] + time, particles.a[p, j] + time)

    slot = particles.slot[p, step]
    start = pool.offset[slot]
    near_eps, near_node = pool.near_eps[slot], pool.near_node[slot]
    near_eps[:] = math.inf
    near_node[:] = 0
    worst, last = math.inf, near_eps.size - 1
    count = 0
    for q in range(m):
        if q == older or q == younger:
            continue
        eps = join_distance(w_i, w_j, to_i[q], to_j[q], eps_ij)
        pool.entries[start + count] = eps
        node = alive[q]
        alive[count] = node
        count += 1
        if eps < worst:
            insert_nearest(near_eps, near_node, eps, node)
            worst = near_eps[last]
    new = n + step
    alive[count] = new

    before = particles.times[p, step - 1] if step > 0 else 0.0
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
