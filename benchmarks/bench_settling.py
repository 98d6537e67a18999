"""How soon chains settle and how well they mix, with and without the clade around the old place among the candidates.

Two chains of 300 rounds from average linkage, one after the other. `missed` is the share of updates whose old place was
no candidate, so that the subtree stayed; the logarithm of the noise level is shown as means over rounds, of both
chains. Effective draws are of the last 200 rounds. Seconds are of a core.
"""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, make_blobs

import coaltree as ct
from coaltree.numerics.mixing import mixing
from coaltree.posterior.clades import enumerate_clades
from coaltree.posterior.diagnostics import topology_ess
from coaltree.samplers.regraft.update import Rule

from .timing import table

ROUNDS, SETTLED = 300, 100
SPANS = ((0, 20), (20, 50), (50, 100), (100, 200), (200, 300))
TABLES = {
    "six blobs, 2,000 x 8": lambda: make_blobs(2000, 8, centers=6, random_state=0)[0],
    "breast cancer, 569 x 30": lambda: load_breast_cancer().data,
    "of the model, 1,000 x 8": lambda: np.asarray(ct.simulate(1000, 8, noise=0.05, random_state=0)[0]),
}
BRIEFLY = {"TABLES": {"breast cancer, 569 x 30": TABLES["breast cancer, 569 x 30"]}, "ROUNDS": 110}


@dataclass(frozen=True)
class PathsOnly(ct.Regraft):
    """Candidates on the paths from near leaves alone."""

    _rule = Rule(around=0.0)


SAMPLERS = {"paths from near leaves": PathsOnly(), "and clades around": ct.Regraft()}


def run():
    for name, make in TABLES.items():
        X = make()
        rows = [(method, *figures(X, sampler)) for method, sampler in SAMPLERS.items()]
        print(f"\n{name}")
        spans = [f"{first + 1}-{last}" for first, last in SPANS if first < ROUNDS]
        table(("candidates", *spans, "missed", "ESS level", "ESS joint", "ESS topology", "seconds"), rows)


def figures(X, sampler):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ct.fit(
            X[:200], sampler=sampler, n_samples=1, n_warmup=1, n_chains=1, random_state=0, progress=False
        )  # compiles
        began = time.process_time()
        post = ct.fit(X, sampler=sampler, n_samples=ROUNDS, n_warmup=0, random_state=0, progress=False, n_jobs=1)
        seconds = time.process_time() - began
    level = np.log(post.theta["noise_level"]).reshape(2, ROUNDS)
    joint = post.log_joint.reshape(2, ROUNDS)
    later = np.arange(len(post.log_joint)).reshape(2, ROUNDS)[:, SETTLED:].ravel()
    ess = mixing(np.stack([level, joint])[:, :, SETTLED:]).ess
    means = [f"{level[:, first:last].mean():.2f}" for first, last in SPANS if first < ROUNDS]
    topology = topology_ess(enumerate_clades(post.children[later]).ids, post.chain[later])
    return (
        *means,
        f"{post.info['mean_missed']:.2f}",
        *(f"{one:.0f}" for one in ess),
        f"{topology:.0f}",
        f"{seconds:.0f}",
    )
