"""The loop over steps: blocks of particles for threads, each particle taken once, failures raised."""

import threading
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

import coaltree as ct
from coaltree.model.process.whitened import Problem
from coaltree.samplers.merging.smc import SMC, Population, blocks_of, normalised, systematic_ancestors


class Counted(Population):
    """Counts how often each particle was taken a step further, and by whom; particle `fails` cannot be."""

    worth_a_thread = 1

    def __init__(self, n, M, fails=None):
        self.n, self.fails = n, fails
        self.log_factor = np.zeros(M)
        self.grown, self.threads = np.zeros((n - 1, M), int), {}
        self.resampled = []

    def grow(self, first, last, step):
        self.threads.setdefault(step, []).append(threading.get_ident())
        for p in range(first, last):
            if p == self.fails:
                raise MemoryError(f"no room for particle {p}")
            self.grown[step, p] += 1

    def resample(self, ancestors, step):
        self.resampled.append(step)

    def result(self):
        tree = ct.simulate(self.n, 1, random_state=0)[1]
        M = len(self.log_factor)
        return np.tile(tree.children, (M, 1, 1)), np.tile(tree.times, (M, 1)), np.zeros(M)


@dataclass(frozen=True)
class Counting(SMC):
    fails: int | None = None

    def population(self, problem, streams):
        counted.append(Counted(problem.n, len(streams), self.fails))
        return counted[-1]


counted: list[Counted] = []


def run(sampler, n=6, n_threads=None):
    counted.clear()
    problem = Problem(np.zeros((n, 1)), 1)
    return sampler.run(problem, np.random.default_rng(0), n_threads=n_threads)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5, 7, 50])
def test_smc_grows_every_particle_once_per_step_in_so_many_blocks(n_threads):
    run(Counting(7), n_threads=n_threads)
    assert np.all(counted[0].grown == 1)
    for threads in counted[0].threads.values():
        assert len(threads) == min(n_threads, 7)
        assert threads.count(threading.get_ident()) == 1  # the caller does its share


@pytest.mark.parametrize("fails", [0, 6])  # in the caller's block, in that of another thread
def test_smc_raises_what_fails_in_a_block_and_leaves_no_thread(fails):
    before = threading.active_count()
    with pytest.raises(MemoryError, match=f"particle {fails}"):
        run(Counting(7, fails=fails), n_threads=3)
    assert threading.active_count() == before


@pytest.mark.parametrize(("M", "n_threads", "worth"), [(100, 2, 50), (7, 7, 1), (150, 3, 50), (5, 1, 50), (101, 2, 1)])
def test_blocks_of_particles_follow_one_another_and_the_caller_has_the_largest(M, n_threads, worth):
    blocks = blocks_of(M, n_threads, worth)
    assert len(blocks) == n_threads and blocks[0][0] == 0 and blocks[-1][1] == M
    assert all(before[1] == after[0] for before, after in pairwise(blocks))
    sizes = [last - first for first, last in blocks]
    assert min(sizes) >= 1 and (worth == 1 or sizes[0] == max(sizes))


def test_smc_does_not_resample_equal_weights():
    draws = run(Counting(7))
    assert counted[0].resampled == [] and draws.info == {"ess": pytest.approx(7.0), "n_resampled": 0}


def test_systematic_ancestors_have_offspring_by_weight():
    rng = np.random.default_rng(7)
    counts = np.zeros(50)
    for _ in range(400):
        weights = np.arange(50.0) / 1225
        ancestors = systematic_ancestors(weights, rng)
        offspring = np.bincount(ancestors, minlength=50)
        assert np.all(np.abs(offspring - 50 * weights) < 1)
        assert all(ancestors[i] == i for i in np.flatnonzero(offspring))
        counts += offspring
    error = np.sqrt(400 * 0.25)  # a share of at most one particle is random
    assert np.abs(counts - 400 * 50 * np.arange(50.0) / 1225).max() < 4.5 * error


def test_normalised_weights_and_their_mean():
    weights, log_mean = normalised(np.array([-1000.0, -1001.0]))
    assert weights.sum() == pytest.approx(1.0) and weights[0] / weights[1] == pytest.approx(np.e)
    assert log_mean == pytest.approx(-1000 + np.log((1 + np.exp(-1)) / 2))
