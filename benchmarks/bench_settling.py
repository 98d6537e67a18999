"""How soon chains settle, and how well they mix, in ways of local updates and of iterations.

Candidates are with and without the clade around a subtree's old place; covariance and noise are drawn after each sweep
of an iteration, or only after the last. Two chains of 300 iterations from average linkage, one after the other.
`missed` is the share of updates whose old place was no candidate, so that the subtree stayed; the logarithm of the
noise level is shown as means over iterations, of both chains. Effective draws are of the last 200 iterations, of the
covariance those of its slowest entry. Seconds are of a core.

The top of the tree by default settings: R-hat and
effective draws of the k-th oldest merge, of the mean of ten, of the tree's length and of the parameters, of two chains
from different starts after a warm-up of 100 iterations, and how alike the clusters of their mean trees are. The
environment's TABLES ("wine;USPS") has these for some of the tables alone.
"""

import os
import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score

import coaltree as ct
from coaltree.numerics.ess import mixing
from coaltree.posterior.diagnostics.ess import topology_ess
from coaltree.posterior.trees.clades import enumerate_clades
from coaltree.samplers.regraft.update import Rule

from .labelled_tables import usps
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
TOP = {  # and iterations after the warm-up
    "breast cancer, 569 x 30": (lambda: load_breast_cancer().data, 800),
    "wine, 178 x 13": (lambda: load_wine().data, 400),
    "digits, 500 x 64": (lambda: load_digits().data[:500], 400),
    "digits, 1,797 x 64": (lambda: load_digits().data, 300),
    "USPS, 500 x 256": (lambda: usps()[0].astype(float), 150),
    "six blobs, 2,000 x 8": (TABLES["six blobs, 2,000 x 8"], 250),
    "six blobs, 10,000 x 8": (lambda: make_blobs(10_000, 8, centers=6, random_state=0)[0], 60),
}
N_OLDEST, CLUSTERS, TOP_WARMUP = 10, (3, 5, 10), 100
BRIEFLY = {
    "TOP": {"wine, 178 x 13": (lambda: load_wine().data, 60)},
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
    wanted = os.environ.get("TABLES", "")
    if not wanted:
        compare("candidates", CANDIDATES, TABLES)
        compare("covariance and noise", PARAMETERS, FEW_ROWS)
    for name, (make, n_iterations) in TOP.items():
        if any(part in name for part in wanted.split(";")):
            measure_top(name, make, n_iterations)


def compare(what, samplers, tables):
    spans = [f"{first + 1}-{last}" for first, last in SPANS if first < ITERATIONS]
    for name, make in tables.items():
        X = make()
        print(f"\n{name}")
        table((what, *spans, *FIGURES), [(method, *figures(X, sampler)) for method, sampler in samplers.items()])


def figures(X, sampler):
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


def fit(X, sampler, n_iterations, n_warmup=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ct.fit(
            X, sampler=sampler, n_samples=n_iterations, n_warmup=n_warmup, random_state=0, progress=False, n_jobs=1
        )


def measure_top(name, make, n_iterations):
    try:
        X = make()
    except FileNotFoundError:
        print(f"\n{name}: left out, COALTREE_DATA names no folder with it")
        return
    sampler = ct.Regraft()
    fit(X[:150], sampler, 2)  # compiles
    began = time.process_time()
    post = fit(X, sampler, n_iterations, TOP_WARMUP)
    seconds = time.process_time() - began
    series = shown(post)
    r_hat, ess = mixing(np.stack([draws.reshape(2, -1) for draws in series.values()]))
    print(f"\n{name}, {n_iterations} iterations, {seconds:.0f} s")
    rows = zip(series, r_hat, ess, strict=True)
    table(
        ("", "R-hat", "ESS", "ESS/s"),
        [(figure, f"{one:.3f}", f"{two:.0f}", f"{two / seconds:.2f}") for figure, one, two in rows],
    )
    alike = ", ".join(f"{agreement(post, k):.2f} at {k}" for k in CLUSTERS)
    print(f"ARI of the chains' clusters: {alike}", flush=True)


def shown(post):
    """What is shown of a posterior, name → draws."""
    oldest = np.sort(post.times, axis=1)[:, : -N_OLDEST - 1 : -1]
    found = {f"merge {k + 1} from the root": oldest[:, k] for k in range(oldest.shape[1])}
    found |= {"their mean": oldest.mean(axis=1), "tree length": post.times.sum(axis=1) + post.times[:, -1]}
    found["log joint"] = post.log_joint
    for name, draws in post.theta.items():
        draws = np.asarray(draws)
        if draws.ndim == 3:
            eigenvalues = np.linalg.eigvalsh(draws)
            found |= {"log determinant": np.log(eigenvalues).sum(axis=1), "first eigenvalue": eigenvalues[:, -1]}
        elif draws.ndim == 1:
            found[name] = draws
    return found


def agreement(post, k):
    """Adjusted Rand index between the clusters of the two chains' mean trees."""
    one, two = (post[np.flatnonzero(post.chain == c)].mean_tree().cut(k) for c in (0, 1))
    return adjusted_rand_score(one, two)
