"""Distance rows of growing particles against distances of their means; slots that are shared and given back."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.covariance import as_covariance
from coaltree.diffusion import messages, squared_distances
from coaltree.preparation import make_problem
from coaltree.random_streams import make_streams
from coaltree.samplers import mpost
from coaltree.samplers.particles import ALIVE, all_distances
from coaltree.samplers.population import Population
from coaltree.samplers.turns import Team, copying, merging


def population_of(X, n_particles):
    problem = make_problem(X, as_covariance(np.eye(X.shape[1])))
    streams = make_streams(np.random.default_rng(0), n_particles)
    return problem, Population(problem, streams, mpost._work, False, False, True)


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


@pytest.mark.parametrize(("n", "d"), [(12, 3), (25, 40)])
def test_rows_are_the_distances_between_means(n, d):
    X, _ = ct.simulate(n, d, random_state=n)
    problem, population = population_of(X, 1)
    team = Team(population.work, [0, 1])
    particles, out = population.context.particles, np.empty(n + 1)
    for step in range(n - 1):
        population.begin(step)
        team.do(merging(step))
        population.end(step)
        alive = particles.alive[0, : n - step - 1]
        # complete the tree in any way: messages of the nodes made so far do not depend on it
        children, times = particles.children[0].astype(np.int64), particles.times[0].copy()
        rest = list(alive)
        for k in range(step + 1, n - 1):
            children[k] = rest[0], rest[1]
            rest = [*rest[2:], n + k]
            times[k] = times[k - 1] + 1.0
        up = messages(children, times, problem.W)
        expected = squared_distances(up.mean[alive])
        for q, node in enumerate(alive):
            all_distances(population.context.pool, particles, 0, step + 1, node, out)
            np.testing.assert_allclose(out[: len(alive)], expected[q], rtol=1e-6, atol=1e-9 * expected.max())
        np.testing.assert_allclose(particles.a[0, alive], up.var[alive] - np.r_[np.zeros(n), times][alive], atol=1e-12)


def test_slots_are_counted_shared_and_given_back():
    X, _ = ct.simulate(30, 8, random_state=1)
    _, population = population_of(X, 6)
    team = Team(population.work, [0, 6])
    rng = np.random.default_rng(2)
    pool = population.context.pool
    for step in range(29):
        population.begin(step)
        team.do(merging(step))
        population.end(step)
        if step % 3 == 1 and step < 28:
            ancestors = np.arange(6)
            ancestors[rng.permutation(6)[:3]] = -1
            keep = np.flatnonzero(ancestors >= 0)
            ancestors[ancestors < 0] = rng.choice(keep, size=3)
            population.resample(ancestors, step)
            team.do(copying(step))
        held = slots_in_use(population)
        assert {slot: int(pool.users[slot]) for slot in held} == held
        assert int((pool.users[: pool.counts[1]] > 0).sum()) == len(held)
        assert pool.counts[0] + len(held) == pool.counts[1] - 30  # every slot is held or free
    assert pool.counts[1] - 30 < 6 * 15


def test_copies_grow_on_their_own():
    X, _ = ct.simulate(20, 4, random_state=3)
    _, population = population_of(X, 4)
    team = Team(population.work, [0, 4])
    for step in range(19):
        population.begin(step)
        team.do(merging(step))
        population.end(step)
        if step == 9:
            population.resample(np.zeros(4, dtype=np.int64), step)
            team.do(copying(step))
    children, times, log_joint = population.result()
    assert all(np.array_equal(times[p, :10], times[0, :10]) for p in range(4))
    assert len(np.unique(times[:, -1])) == 4
    for p in range(4):
        tree = ct.Tree(children[p], times[p])
        assert log_joint[p] == pytest.approx(tree.log_prior() + tree.log_likelihood(X, np.eye(4)), rel=1e-9)
