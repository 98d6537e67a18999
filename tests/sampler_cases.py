"""Problems, samplers and populations that tests of samplers share."""

from dataclasses import dataclass

import numpy as np

import coaltree as ct
from coaltree._runtime.random_streams import make_streams
from coaltree.model.covariance import as_covariance
from coaltree.model.process.whitened import Problem, make_problem
from coaltree.samplers.merging import mpost
from coaltree.samplers.merging.pair_weights import FULL
from coaltree.samplers.merging.particles import MergingPopulation
from coaltree.samplers.regraft.regraft import Regraft
from coaltree.samplers.regraft.update import Rule


@dataclass(frozen=True)
class TrulyLocal(Regraft):
    """Local candidates even where few lineages are left."""

    candidates: str = "local"
    n_neighbors: int = 1
    global_share: float | None = 0.0
    _rule = Rule(max_global=0.0, n_scattered=0)


@dataclass(frozen=True)
class Scattered(TrulyLocal):
    """Paths from one near leaf, or from two random ones of a small clade around a subtree's place."""

    _rule = Rule(max_global=0.0, random_leaf=0.0, n_scattered=2, min_scattered=2.0, max_scattered=12.0, traced=0.3)


LOCAL = {"local": TrulyLocal, "scattered": Scattered}
RULES = {"all": Regraft("all", start="prior")} | {name: kind(start="prior") for name, kind in LOCAL.items()}


def problem_of(n, d, seed=0, noise=0.0, log_det=0.0):
    X, _ = ct.simulate(n, d, random_state=seed)
    return Problem(np.ascontiguousarray(X), d, log_det, np.array(noise))


def draw(sampler, problem, seed=1, n_samples=20, n_warmup=5):
    return sampler.run(problem, np.random.default_rng(seed), n_samples=n_samples, n_warmup=n_warmup)


def population_of(X, n_particles):
    """A problem, and particles of MPost1 before their first merge."""
    problem = make_problem(X, as_covariance(np.eye(X.shape[1])))
    streams = make_streams(np.random.default_rng(0), n_particles)
    return problem, MergingPopulation(problem, streams, mpost.grow, FULL, False, False, True)


def grow(population, step):
    """Make merge `step` of all particles."""
    population.begin(step)
    population.grow(0, len(population.log_factor), step)
    population.end(step)


def tight_pairs(n):
    """Rows that merge two by two at first, so that as many lineages as possible have rows of distances."""
    rng = np.random.default_rng(6)
    return np.repeat(rng.standard_normal((n, 4)), 2, axis=0)[:n] + 1e-3 * rng.standard_normal((n, 4))


DATA = {
    "model d=1": lambda: ct.simulate(40, 1, random_state=1)[0],
    "model d=2": lambda: ct.simulate(40, 2, random_state=2)[0],
    "model d=32": lambda: ct.simulate(90, 32, random_state=3)[0],
    "model d=300": lambda: ct.simulate(70, 300, random_state=4)[0],
    "blobs": lambda: np.random.default_rng(5).standard_normal((80, 6)) + 8 * np.repeat(np.eye(6)[:4], 20, axis=0),
    "grid": lambda: np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0)), axis=-1).reshape(-1, 2),  # many ties
    "tiny": lambda: 1e-150 * ct.simulate(30, 5, random_state=6)[0],
    "huge": lambda: 1e150 * ct.simulate(30, 5, random_state=7)[0],
}


def problem_of_data(name, noise=0.0):
    """The problem of one of `DATA`."""
    X = DATA[name]()
    return make_problem(X, as_covariance(np.eye(X.shape[1])), noise)
