"""Partial trees that grow merge by merge, and the pool of distance rows they share.

A particle is a row in each array of `Particles`: its lineages in order of age, what each says of itself (a = s - τ),
and the tree so far. The distances of a merged node lie in a slot of the `RowPool`; slots are counted and shared when
a particle is copied by resampling, and go back to the pool when the node has merged in every particle that had it.
Rows get shorter with every merge, so that a free slot fits the next row. Where little is shared, rows are packed from
time to time: they move together, and a row of a single particle loses the entries of lineages that have merged.
"""

import math
from typing import NamedTuple

import numpy as np

from ..._runtime.jit import jit
from ...model.diffusion import join, join_distance, log_density_of_difference
from ...numerics.special import FullIntegralTable
from .pairs import insert_nearest, list_nearest_leaves

ALIVE = np.iinfo(np.int32).max
_UNPACKED = 1 << 19  # 4 MB of rows are not worth packing


class RowPool(NamedTuple):
    """Distance rows in slots: slot i < n is that of leaf i, the others are counted and reused."""

    leaf_eps: np.ndarray  # (n, n) distances between leaves, symmetric
    entries: np.ndarray  # the rows of merged nodes, end to end
    offset: np.ndarray  # where a slot begins in them
    room: np.ndarray  # and how many entries fit in
    listed: np.ndarray  # after how many merges its entries were listed: one for each older lineage then alive
    users: np.ndarray  # how many particles hold it
    near_eps: np.ndarray  # (slots, K) the smallest entries of the row when it was written, ascending, or inf
    near_node: np.ndarray  # whose they are
    free: np.ndarray  # a stack of free slots
    counts: np.ndarray  # [free slots, slots ever made, entries used, entries that may be used before rows are packed]


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
    place: np.ndarray  # (M, n) scratch
    slope: np.ndarray  # (M,) how steeply weights fell with log ε in the last step, a guess for the next


class Model(NamedTuple):
    """The constants of one run."""

    n: int
    d: int
    log_det: float
    leaf_noise: float
    table: FullIntegralTable  # of the full merge integral


def pool_entries(n, n_particles):
    """How many entries a pool may come to hold: rows of alive merged nodes, of which there are never more than n/2."""
    steps = np.arange((n + 1) // 2 + 1)
    return int(n_particles * np.maximum(n - steps, 0).sum()) + 1


def make_pool(leaf_eps, n_particles, n_near):
    """Reserve the rows of all particles. The system hands out memory as it is written, so unused rows cost nothing."""
    n = len(leaf_eps)
    slots = n + n_particles * ((n + 1) // 2 + 2)
    near_eps, near_node = np.empty((slots, n_near)), np.empty((slots, n_near), dtype=np.int32)
    near_eps[:n], near_node[:n] = math.inf, 0
    list_nearest_leaves(leaf_eps, near_eps, near_node)
    return RowPool(
        leaf_eps,
        np.empty(pool_entries(n, n_particles)),
        np.empty(slots, dtype=np.int64),
        np.zeros(slots, dtype=np.int32),
        np.empty(slots, dtype=np.int32),
        np.zeros(slots, dtype=np.int32),
        near_eps,
        near_node,
        np.empty(slots, dtype=np.int32),
        np.array([0, n, 0, max(_UNPACKED, int(0.125 * n_particles * n * n))], dtype=np.int64),
    )


def make_particles(model, pool, n_particles):
    """Return M particles before their first merge."""
    n = model.n
    nodes = (n_particles, 2 * n - 1)
    a = np.zeros(nodes)
    a[:, :n] = model.leaf_noise
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
        np.empty((n_particles, n), dtype=np.int32),
        np.full(n_particles, 0.5 * model.d),
    )


# --- the pool ---------------------------------------------------------------------------------------------------


@jit(allocates=False)
def take_slots(pool, slot, step, length):
    """Give each particle a slot of at least `length` entries for the row that merge `step` will make."""
    for p in range(slot.shape[0]):
        if pool.counts[0] > 0:
            pool.counts[0] -= 1
            s = pool.free[pool.counts[0]]
        else:
            s = np.int32(pool.counts[1])
            pool.counts[1] += 1
        if pool.room[s] < length:
            pool.offset[s] = pool.counts[2]
            pool.room[s] = length
            pool.counts[2] += length
        pool.listed[s] = step + 1
        pool.users[s] = 1
        slot[p, step] = s


@jit(allocates=False)
def is_full(pool, n_particles, length):
    """Return whether rows should be packed before each particle takes a slot of `length` entries."""
    wanted = 0
    for p in range(n_particles):
        k = pool.counts[0] - 1 - p
        if k < 0 or pool.room[pool.free[k]] < length:
            wanted += length
    return pool.counts[2] + wanted > pool.counts[3]


@jit
def pack(pool, particles, step):
    """Move all rows together before merge `step`; rows that one particle holds keep only what it can still read.

    These are n²/6 entries for each particle at most: n/3 rows and n/3 leaves, after n/3 merges of leaves.
    """
    n = particles.times.shape[1] + 1
    M, length = particles.slot.shape[0], n - step - 1
    owner, node_of = np.full(pool.counts[1], -1), np.zeros(pool.counts[1], np.int64)
    for p in range(M):
        for q in range(n - step):
            node = particles.alive[p, q]
            if node >= n:
                owner[particles.slot[p, node - n]] = p
                node_of[particles.slot[p, node - n]] = node
    held = np.flatnonzero(owner >= 0)
    held = held[np.argsort(pool.offset[held])]
    top = 0
    for s in held:
        start, size = pool.offset[s], min(pool.room[s], n - pool.listed[s])
        pool.offset[s] = top
        if pool.users[s] > 1:
            for k in range(size):
                pool.entries[top + k] = pool.entries[start + k]
            top += size
        else:
            death = particles.death[owner[s]]
            for x in range(node_of[s]):
                if death[x] == ALIVE:
                    pool.entries[top] = pool.entries[start]
                    top += 1
                start += death[x] >= pool.listed[s]
            pool.listed[s] = step
        pool.room[s] = top - pool.offset[s]
    for k in range(pool.counts[0]):
        pool.room[pool.free[k]] = 0
    pool.counts[2] = top
    needed, without_sharing = top + M * length, M * (n * n // 6 + n)
    if needed > pool.counts[3]:
        little_by_little = needed + top // 16
        pool.counts[3] = min(little_by_little, without_sharing) if needed <= without_sharing else little_by_little


@jit(allocates=False)
def _give_back(pool, s):
    pool.users[s] -= 1
    if pool.users[s] == 0:
        pool.free[pool.counts[0]] = s
        pool.counts[0] += 1


@jit(allocates=False)
def release_merged(pool, particles, step):
    """Give back the rows of the nodes that merge `step` ended."""
    n = particles.times.shape[1] + 1
    for p in range(particles.slot.shape[0]):
        for side in range(2):
            node = particles.children[p, step, side]
            if node >= n:
                _give_back(pool, particles.slot[p, node - n])


@jit(allocates=False)
def hand_over_rows(pool, particles, ancestor, step):
    """Count who holds which row once every particle p is a copy of ancestor[p], after merge `step`."""
    n = particles.times.shape[1] + 1
    m = n - step - 1
    for p in range(ancestor.size):
        source = ancestor[p]
        if source == p:
            continue
        for q in range(m):
            node = particles.alive[p, q]
            if node >= n:
                _give_back(pool, particles.slot[p, node - n])
        for q in range(m):
            node = particles.alive[source, q]
            if node >= n:
                pool.users[particles.slot[source, node - n]] += 1


@jit(allocates=False)
def copy_particle(particles, source, p, step):
    """Make particle p a copy of particle `source`, after merge `step`."""
    if source == p:
        return
    n = particles.times.shape[1] + 1
    for q in range(n - step - 1):
        particles.alive[p, q] = particles.alive[source, q]
    for x in range(n + step + 1):
        particles.a[p, x] = particles.a[source, x]
        particles.death[p, x] = particles.death[source, x]
        particles.head[p, x] = particles.head[source, x]
        particles.floor[p, x] = particles.floor[source, x]
        particles.least[p, x] = particles.least[source, x]
    for k in range(step + 1):
        particles.slot[p, k] = particles.slot[source, k]
        particles.children[p, k, 0] = particles.children[source, k, 0]
        particles.children[p, k, 1] = particles.children[source, k, 1]
        particles.times[p, k] = particles.times[source, k]
    particles.log_joint[p] = particles.log_joint[source]
    particles.slope[p] = particles.slope[source]


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
    slot = particles.slot[p, node - n]
    start, listed = pool.offset[slot], pool.listed[slot]
    row = pool.entries[start : start + n - listed + 1]  # one more than it has, so that the walk may read past its end
    death = particles.death[p, :node]
    position = 0
    for x in range(node):
        out[count] = row[position]
        count += death[x] == ALIVE
        position += death[x] >= listed
    return count


@jit(allocates=False)
def _younger_distances(pool, particles, p, step, node, older, out):
    """Write ε of `node`, which is younger than `older` lineages, to all younger than it, in order of age."""
    n = particles.times.shape[1] + 1
    m = n - step
    alive, death, place = particles.alive[p], particles.death[p], particles.place[p]
    if node < n:
        q = older + 1
        while q < m and alive[q] < n:
            out[q] = pool.leaf_eps[node, alive[q]]
            q += 1
    q = m
    for s in range(step - 1, max(node - n, -1), -1):
        place[s + 1] = older  # after s + 1 merges: where `node` stands in the rows listed then
        if death[n + s] == ALIVE:
            q -= 1
            slot = particles.slot[p, s]
            out[q] = pool.entries[pool.offset[slot] + place[pool.listed[slot]]]
        older += particles.children[p, s, 0] < node
        older += particles.children[p, s, 1] < node


@jit(allocates=False)
def all_distances(pool, particles, p, step, node, out):
    """Write ε of `node` to every lineage, itself included, in order of age; call before merge `step`."""
    count = older_distances(pool, particles, p, node, out)
    out[count] = 0.0
    _younger_distances(pool, particles, p, step, node, count, out)


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
