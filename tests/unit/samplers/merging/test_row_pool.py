"""The pool of distance rows: slots that particles share and give back, and the nearest entries of rows."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.process.diffusion import squared_distances
from coaltree.samplers.merging.particles import ALIVE
from coaltree.samplers.merging.row_pool import make_pool
from tests.sampler_cases import grow, population_of, tight_pairs


def slots_in_use(population):
    context = population.context
    n = context.model.n
    held = {}
    for p in range(len(context.particles.slot)):
        made = np.flatnonzero(context.particles.death[p, n:] == ALIVE)
        for k in made[made < n - 1]:
            if context.particles.times[p, k] > 0:
                held[int(context.particles.slot[p, k])] = held.get(int(context.particles.slot[p, k]), 0) + 1
    return held


def test_row_pool_counts_shares_and_frees_slots():
    X, _ = ct.simulate(30, 8, random_state=1)
    _, population = population_of(X, 6)
    rng = np.random.default_rng(2)
    pool = population.context.pool
    for step in range(29):
        grow(population, step)
        if step % 3 == 1 and step < 28:
            ancestors = np.arange(6)
            ancestors[rng.permutation(6)[:3]] = -1
            keep = np.flatnonzero(ancestors >= 0)
            ancestors[ancestors < 0] = rng.choice(keep, size=3)
            population.resample(ancestors, step)
        held = slots_in_use(population)
        assert {slot: int(pool.users[slot]) for slot in held} == held
        assert int((pool.users[: pool.counts[1]] > 0).sum()) == len(held)
        assert pool.counts[0] + len(held) == pool.counts[1] - 30  # every slot is held or free
    assert pool.counts[1] - 30 < 6 * 15


@pytest.mark.parametrize("n_particles", [1, 3])
def test_row_pool_keeps_to_the_promised_memory(n_particles):
    n = 800
    _, population = population_of(tight_pairs(n), n_particles)
    pool = population.context.pool
    for step in range(n - 1):
        grow(population, step)
    assert pool.counts[2] < pool.entries.size and pool.counts[1] <= pool.users.size
    nearest = pool.near_eps[0].nbytes + pool.near_node[0].nbytes
    used = pool.entries.itemsize * pool.counts[2] + nearest * (pool.counts[1] - n)
    assert 2.5 * n_particles * n * n < used < 3.2 * n_particles * n * n


def test_make_pool_finds_the_nearest_older_leaves():
    eps = squared_distances(np.random.default_rng(0).standard_normal((20, 3)))
    pool = make_pool(eps, 1, 4)
    for i in range(20):
        nearest = np.argsort(eps[i, :i])[:4]
        np.testing.assert_array_equal(pool.near_node[i, : nearest.size], nearest)
        np.testing.assert_array_equal(pool.near_eps[i], [*eps[i, nearest], *[np.inf] * (4 - nearest.size)])
