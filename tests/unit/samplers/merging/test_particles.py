"""Particles: rows of distances are those between the means of lineages, whoever shares them."""

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.process.diffusion import messages, squared_distances
from coaltree.samplers.merging.particles import all_distances
from coaltree.samplers.merging.smc import systematic_ancestors
from tests.sampler_cases import grow, population_of, tight_pairs


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
def test_particles_rows_are_the_distances_between_means(n, d):
    X, _ = ct.simulate(n, d, random_state=n)
    problem, population = population_of(X, 1)
    grown, out = population.context.particles, np.empty(n + 1)
    for step in range(n - 1):
        grow(population, step)
        alive = grown.alive[0, : n - step - 1]
        up, times = messages_of_lineages(problem, grown, 0, step)
        expected = squared_distances(up.mean[alive])
        for q, node in enumerate(alive):
            all_distances(population.context, 0, step + 1, node, out)
            np.testing.assert_allclose(out[: len(alive)], expected[q], rtol=1e-6, atol=1e-9 * expected.max())
        np.testing.assert_allclose(grown.a[0, alive], up.var[alive] - np.r_[np.zeros(n), times][alive], atol=1e-12)


def test_particles_copies_grow_on_their_own():
    X, _ = ct.simulate(20, 4, random_state=3)
    _, population = population_of(X, 4)
    for step in range(19):
        grow(population, step)
        if step == 9:
            population.resample(np.zeros(4, dtype=np.int64), step)
    children, times, log_joint = population.result()
    assert all(np.array_equal(times[p, :10], times[0, :10]) for p in range(4))
    assert len(np.unique(times[:, -1])) == 4
    for p in range(4):
        tree = ct.Tree(children[p], times[p])
        assert log_joint[p] == pytest.approx(tree.log_prior() + tree.log_likelihood(X, np.eye(4)), rel=1e-9)


@pytest.mark.parametrize("data", ["pairs", "chain", "model"])
@pytest.mark.parametrize("n", [2, 3, 4, 7, 26])
def test_particles_share_rows_at_any_time(n, data):
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
                all_distances(population.context, p, step + 1, node, out)
                np.testing.assert_allclose(out[: len(alive)], expected[q], rtol=1e-6, atol=1e-9 * expected.max())
