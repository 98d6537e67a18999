"""Distance rows of growing particles against distances of their means; slots that are shared and given back."""

import numpy as np
import pytest

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.model.covariance import as_covariance
from coaltree.model.process.diffusion import messages, squared_distances
from coaltree.model.process.whitened import make_problem
from coaltree.samplers.merging import mpost
from coaltree.samplers.merging.pair_weights import FULL
from coaltree.samplers.merging.particles import ALIVE, all_distances
from coaltree.samplers.merging.population import MergingPopulation
from coaltree.samplers.merging.smc import systematic_ancestors


def population_of(X, n_particles):
    problem = make_problem(X, as_covariance(np.eye(X.shape[1])))
    streams = make_streams(np.random.default_rng(0), n_particles)
    return problem, MergingPopulation(problem, streams, mpost.grow, FULL, False, False, True)


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


def messages_of_lineages(problem, grown, p, step):
    """Complete a tree in any way: messages of the nodes made so far do not depend on it."""
    n = problem.n
    children, times = grown.children[p].astype(np.int64), grown.times[p].copy()
    rest = list(grown.alive[p, : n - step - 1])
    for k in range(step + 1, n - 1):
        children[k] = rest[0], rest[1]
        rest = [*rest[2:], n + k]
        times[k] = times[k - 1] + 1.0
    return messages(children, times, problem.W), times


@pytest.mark.parametrize(("n", "d"), [(12, 3), (25, 40)])
def test_rows_are_the_distances_between_means(n, d):
    X, _ = ct.simulate(n, d, random_state=n)
    problem, population = population_of(X, 1)
    grown, out = population.context.particles, np.empty(n + 1)
    for step in range(n - 1):
        population.begin(step)
        population.grow(0, 1, step)
        population.end(step)
        alive = grown.alive[0, : n - step - 1]
        up, times = messages_of_lineages(problem, grown, 0, step)
        expected = squared_distances(up.mean[alive])
        for q, node in enumerate(alive):
            all_distances(population.context.pool, grown, 0, step + 1, node, out)
            np.testing.assert_allclose(out[: len(alive)], expected[q], rtol=1e-6, atol=1e-9 * expected.max())
        np.testing.assert_allclose(grown.a[0, alive], up.var[alive] - np.r_[np.zeros(n), times][alive], atol=1e-12)


def test_slots_are_counted_shared_and_given_back():
    X, _ = ct.simulate(30, 8, random_state=1)
    _, population = population_of(X, 6)
    rng = np.random.default_rng(2)
    pool = population.context.pool
    for step in range(29):
        population.begin(step)
        population.grow(0, 6, step)
        population.end(step)
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


def test_copies_grow_on_their_own():
    X, _ = ct.simulate(20, 4, random_state=3)
    _, population = population_of(X, 4)
    for step in range(19):
        population.begin(step)
        population.grow(0, 4, step)
        population.end(step)
        if step == 9:
            population.resample(np.zeros(4, dtype=np.int64), step)
    children, times, log_joint = population.result()
    assert all(np.array_equal(times[p, :10], times[0, :10]) for p in range(4))
    assert len(np.unique(times[:, -1])) == 4
    for p in range(4):
        tree = ct.Tree(children[p], times[p])
        assert log_joint[p] == pytest.approx(tree.log_prior() + tree.log_likelihood(X, np.eye(4)), rel=1e-9)


def tight_pairs(n):
    """Rows that merge two by two at first, so that as many lineages as possible have rows of distances."""
    rng = np.random.default_rng(6)
    return np.repeat(rng.standard_normal((n, 4)), 2, axis=0)[:n] + 1e-3 * rng.standard_normal((n, 4))


@pytest.mark.parametrize("n_particles", [1, 3])
def test_rows_and_lists_keep_to_the_promised_memory(n_particles):
    n = 800
    _, population = population_of(tight_pairs(n), n_particles)
    pool = population.context.pool
    for step in range(n - 1):
        population.begin(step)
        population.grow(0, n_particles, step)
        population.end(step)
    assert pool.counts[2] < pool.entries.size and pool.counts[1] <= pool.users.size
    lists = pool.near_eps[0].nbytes + pool.near_node[0].nbytes
    used = pool.entries.itemsize * pool.counts[2] + lists * (pool.counts[1] - n)
    assert 2.5 * n_particles * n * n < used < 3.2 * n_particles * n * n


@pytest.mark.parametrize("data", ["pairs", "chain", "model"])
@pytest.mark.parametrize("n", [2, 3, 4, 7, 26])
def test_rows_that_are_shared_at_any_time(n, data):
    rng = np.random.default_rng(n)
    M, d = 6, 3
    X = {
        "pairs": lambda: tight_pairs(n)[:, :d],
        "chain": lambda: (1.6 ** np.arange(n))[:, None] + 0.01 * rng.standard_normal((n, d)),
        "model": lambda: ct.simulate(n, d, random_state=n)[0],
    }[data]()
    problem, population = population_of(X, M)
    pool, grown = population.context.pool, population.context.particles
    out = np.empty(n + 1)
    for step in range(n - 1):
        population.begin(step)
        assert pool.counts[2] < pool.entries.size and pool.counts[1] <= pool.users.size
        population.grow(0, M, step)
        population.end(step)
        if step < n - 2 and rng.random() < 0.5:
            population.resample(systematic_ancestors(rng.dirichlet(np.full(M, 0.3)), rng), step)
        for p in range(M):
            alive = grown.alive[p, : n - step - 1]
            up, _ = messages_of_lineages(problem, grown, p, step)
            expected = squared_distances(up.mean[alive])
            for q, node in enumerate(alive):
                all_distances(pool, grown, p, step + 1, node, out)
                np.testing.assert_allclose(out[: len(alive)], expected[q], rtol=1e-6, atol=1e-9 * expected.max())
