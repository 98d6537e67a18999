"""How soon chains settle, and how well they mix, in ways of local updates and of iterations.

Candidates are with and without paths to random leaves where those of near leaves miss a subtree's old place; covariance
and noise are drawn after each sweep of an iteration, or only after the last. Two chains of 300 iterations from average
linkage, one after the other.
`missed` is the share of updates whose old place was no candidate, so that the subtree stayed; the logarithm of the
noise level is shown as means over iterations, of both chains. Effective draws are of the last 200 iterations, of the
covariance those of its slowest entry. Seconds are of a core.

By default settings: when a run stops, and by what; the worst R-hat and the fewest effective draws of all that is
watched, and of what; how alike the chains' clusters and supports are; then each figure. Two chains from different
starts, one after the other; what was measured is kept (`kept`). The environment's TABLES ("wine;USPS") has these alone.
"""

import os
import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs

import coaltree as ct
from coaltree.numerics.ess import mixing
from coaltree.posterior.diagnostics import convergence
from coaltree.posterior.diagnostics.convergence import chains_agree
from coaltree.posterior.diagnostics.ess import topology_ess
from coaltree.posterior.diagnostics.watched import in_words
from coaltree.posterior.trees.clades import enumerate_clades
from coaltree.samplers.regraft.update import Rule

from .kept import Kept, commits_of
from .labelled_tables import usps
from .timing import commit, table

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
BY_DEFAULT = {
    "breast cancer, 569 x 30": TABLES["breast cancer, 569 x 30"],
    "wine, 178 x 13": FEW_ROWS["wine, 178 x 13"],
    "digits, 500 x 64": lambda: load_digits().data[:500],
    "digits, 1,797 x 64": lambda: load_digits().data,
    "USPS, 500 x 256": lambda: usps()[0].astype(float),
    "six blobs, 2,000 x 8": TABLES["six blobs, 2,000 x 8"],
    "six blobs, 10,000 x 8": lambda: make_blobs(10_000, 8, centers=6, random_state=0)[0],
    "six blobs, 20,000 x 16": lambda: make_blobs(20_000, 16, centers=6, random_state=0)[0],
}
KEPT = Kept("bench_settling", ("default",))
BRIEFLY = {
    "BY_DEFAULT": {"iris, 150 x 4": FEW_ROWS["iris, 150 x 4"]},
    "TABLES": {"breast cancer, 569 x 30": TABLES["breast cancer, 569 x 30"]},
    "FEW_ROWS": {"iris, 150 x 4": FEW_ROWS["iris, 150 x 4"]},
    "ITERATIONS": 110,
}


@dataclass(frozen=True)
class PathsOnly(ct.Regraft):
    """Candidates on the paths from near leaves alone."""

    _rule = Rule(n_scattered=0)


@dataclass(frozen=True)
class SweepsFirst(ct.Regraft):
    """All sweeps of an iteration, and then covariance and noise, once."""

    def steps_per_iteration(self, n, neighbors):
        return 1

    def step(self, problem, tree, rng, *, neighbors=None, **unused):
        for _ in range(ct.Regraft.steps_per_iteration(self, problem.n, neighbors)):
            *tree, info = ct.Regraft.step(self, problem, tree, rng, neighbors=neighbors)
        return *tree, info


CANDIDATES = {
    "paths from near leaves": PathsOnly(),
    "and random leaves": ct.Regraft(),
}
PARAMETERS = {"once an iteration": SweepsFirst(), "after each sweep": ct.Regraft()}
FIGURES = ("missed", "ESS level", "ESS joint", "ESS covariance", "ESS topology", "seconds")


def run():
    wanted = os.environ.get("TABLES", "")
    if not wanted:
        compare("candidates", CANDIDATES, TABLES)
        compare("covariance and noise", PARAMETERS, FEW_ROWS)
    named = [name for name in BY_DEFAULT if any(part in name for part in wanted.split(";"))]
    KEPT.complete([(name, "default") for name in named if is_there(name)], lambda name, _: by_default(name))
    report({name: KEPT.recall(name, "default") for name in named})


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
    topology = topology_ess(enumerate_clades(post.draws.children[later]).ids, post.draws.chain[later])
    return (
        *(f"{series[0, :, first:last].mean():.2f}" for first, last in SPANS if first < ITERATIONS),
        f"{post.info['mean_missed']:.2f}",
        *(f"{one:.0f}" for one in (ess[0], ess[1], ess[2:].min(), topology)),
        f"{seconds:.0f}",
    )


def fit(X, sampler, n_iterations):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ct.fit(X, sampler=sampler, n_samples=n_iterations, n_warmup=0, random_state=0, progress=False, n_jobs=1)


def is_there(name):
    try:
        return len(BY_DEFAULT[name]()) > 0
    except FileNotFoundError:
        print(f"\n{name}: left out, COALTREE_DATA names no folder with it")
        return False


def by_default(name):
    """What a run by default settings gives, and how long it takes."""
    X = BY_DEFAULT[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ct.fit(X[:150], n_samples=4, n_warmup=4, random_state=0, progress=False, n_jobs=1)  # compiles
        began = time.process_time()
        post = ct.fit(X, random_state=0, progress=False, n_jobs=1)
        seconds = time.process_time() - began
        agreement = chains_agree(post)
    return {
        "commit": commit().strip(" ,"),
        "seconds": seconds,
        "stopping": post.info["stopping"],
        "warmup": post.info["n_warmup"],
        "agreement": agreement._asdict(),
        "topology_ess": convergence.topology_ess_of(post),
        "figures": convergence.figures(post),
    }


def report(found):
    """Print a line for each table, and the figures of all."""
    found = {name: run for name, run in found.items() if run is not None}
    if not found:
        return
    print(f"\nBy default settings, measured at {commits_of(found.values())}")
    header = ("iterations", "s", "stopped", "R-hat", "of", "ESS", "of", "topologies", "clusters")
    table(("table", *header, "difference in stability"), [(name, *in_short(run)) for name, run in found.items()])
    print("\nR-hat, effective draws")
    named = dict.fromkeys(name for run in found.values() for name in run["figures"])
    cells = [(in_words(name), *(cell(run["figures"].get(name)) for run in found.values())) for name in named]
    table(("", *(name.split(",", 1)[0] + name.split(",", 1)[1].split("x")[0].rstrip() for name in found)), cells)


def in_short(run):
    stopping, agreement = run["stopping"], run["agreement"]
    return (
        f"{run['warmup']} + {stopping['iterations'] - run['warmup']}",
        f"{run['seconds']:.0f}",
        stopping["reason"],
        f"{stopping['r_hat']:.3f}",
        in_words(stopping["of_r_hat"]),
        f"{stopping['ess']:.0f}",
        in_words(stopping["of_ess"]),
        f"{run['topology_ess']:.0f}",
        agreement["n_clusters"],
        f"{agreement['stability_difference']:.2f}",
    )


def cell(figures):
    return "" if figures is None else f"{figures['r_hat']:.3f} {figures['ess']:5.0f}"
