"""How soon chains settle, and how well they mix, in ways of local updates and of iterations.

Candidates are with and without the clade around a subtree's old place; covariance and noise are drawn after each sweep
of an iteration, or only after the last. Two chains of 300 iterations from average linkage, one after the other.
`missed` is the share of updates whose old place was no candidate, so that the subtree stayed; the logarithm of the
noise level is shown as means over iterations, of both chains. Effective draws are of the last 200 iterations, of the
covariance those of its slowest entry. Seconds are of a core.
"""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_blobs

import coaltree as ct
from coaltree.numerics.ess import mixing
from coaltree.posterior.diagnostics.ess import topology_ess
from coaltree.posterior.trees.clades import enumerate_clades
from coaltree.samplers.regraft.update import Rule

from .timing import table

ITERATIONS, SETTLED = 300, 100
SPANS = ((0, 20), (20, 50), (50, 100), (100, 200), (200, 300))
TABLES = {
    "six blobs, 2,000 x 8": lambda: make_blobs(2000, 8, centers=6, random_state=0)[0],
    "breast cancer, 569 x 30": lambda: load_breast_cancer().data,
    "of the model, 1,000 x 8": lambda: np.asarray(ct.simulate(1000, 8, noise=0.05, random_state=0)[0]),
}
FEW_ROWS = {
    "iris, 150 x 4": lambda: load_iris().data,
    "wine, 178 x 13": lambda: load_wine().data,
    "of the model, 200 x 6": lambda: np.asarray(ct.simulate(200, 6, noise=0.1, random_state=5)[0]),
}
BRIEFLY = {
    "TABLES": {"breast cancer, 569 x 30": TABLES["breast cancer, 569 x 30"]},
    "FEW_ROWS": {"iris, 150 x 4": FEW_ROWS["iris, 150 x 4"]},
    "ITERATIONS": 110,
}


@dataclass(frozen=True)
class PathsOnly(ct.Regraft):
    """Candidates on the paths from near leaves alone."""

    _rule = Rule(around=0.0)


@dataclass(frozen=True)
class SweepsFirst(ct.Regraft):
    """All sweeps of an iteration, and then covariance and noise, once."""

    def steps_per_iteration(self, n, neighbors):
        return 1

    def step(self, problem, tree, rng, *, neighbors=None, **unused):
        for _ in range(ct.Regraft.steps_per_iteration(self, problem.n, neighbors)):
            *tree, info = ct.Regraft.step(self, problem, tree, rng, neighbors=neighbors)
        return *tree, info


CANDIDATES = {"paths from near leaves": PathsOnly(), "and clades around": ct.Regraft()}
PARAMETERS = {"once an iteration": SweepsFirst(), "after each sweep": ct.Regraft()}
FIGURES = ("missed", "ESS level", "ESS joint", "ESS covariance", "ESS topology", "seconds")


def run():
    compare("candidates", CANDIDATES, TABLES)
    compare("covariance and noise", PARAMETERS, FEW_ROWS)


def compare(what, samplers, tables):
    spans = [f"{first + 1}-{last}" for first, last in SPANS if first < ITERATIONS]
    for name, make in tables.items():
        X = make()
        print(f"\n{name}")
        table((what, *spans, *FIGURES), [(method, *figures(X, sampler)) for method, sampler in samplers.items()])


def figures(X, sampler):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(X[:200], sampler, 1)  # compiles
        began = time.process_time()
        post = fit(X, sampler, ITERATIONS)
        seconds = time.process_time() - began
    theta = dict(post.theta)
    level = np.log(theta.pop("noise_level"))
    (covariance,) = (np.reshape(draws, (2 * ITERATIONS, -1)).T for draws in theta.values())
    series = np.vstack([level, post.log_joint, covariance]).reshape(-1, 2, ITERATIONS)
    ess = mixing(series[:, :, SETTLED:])[1]
    later = np.arange(2 * ITERATIONS).reshape(2, ITERATIONS)[:, SETTLED:].ravel()
    topology = topology_ess(enumerate_clades(post.children[later]).ids, post.chain[later])
    return (
        *(f"{series[0, :, first:last].mean():.2f}" for first, last in SPANS if first < ITERATIONS),
        f"{post.info['mean_missed']:.2f}",
        *(f"{one:.0f}" for one in (ess[0], ess[1], ess[2:].min(), topology)),
        f"{seconds:.0f}",
    )


def fit(X, sampler, n_iterations):
    return ct.fit(X, sampler=sampler, n_samples=n_iterations, n_warmup=0, random_state=0, progress=False, n_jobs=1)
