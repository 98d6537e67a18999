"""Many columns: 64 rows of 6,830, as expression data have them. Do chains from different starts find the same trees?

A tree is drawn from the model, columns with variances of their own diffuse along it, and every row is measured with
noise. Four chains start from trees of reweighted columns; four others start from the true tree.

    R-hat           the worst of log joint, root and parameters, over the four chains
    apart           how far the mean log joint of the four lies from that of the chains that started from the truth, in
                    standard errors of the difference (two or less: nothing to see)
    seconds         of the four chains, one after another

Goals: R-hat of at most 1.05, within 2 standard errors of the truth, in less than 180 seconds of an idle machine.
FULL=1 also runs the families and kinds of noise that are not the default.
"""

import time
import warnings

import numpy as np

import coaltree as ct
from coaltree.posterior.diagnostics.convergence import scalar_figures

from .kept import Kept, is_full
from .timing import commit, table

N, D, LEVEL = 64, 6830, 0.3
DEFAULT = [("scaled", "student"), ("diagonal", "learn")]
OTHERS = [("diagonal", "student"), ("scaled", "learn"), ("spherical", 0.0), ("diagonal", 0.0)]
SETTINGS = {"n_samples": 150, "n_warmup": 100, "n_chains": 4, "progress": False}
BRIEFLY = {"D": 1000, "DEFAULT": DEFAULT[:1], "SETTINGS": SETTINGS | {"n_samples": 40, "n_warmup": 60}}


def run():
    kept = Kept("bench_columns", (commit().split()[1] if commit() else "none", D, *SETTINGS.values()))
    steps = [(family, noise) for family, noise in (DEFAULT + OTHERS if is_full() else DEFAULT)]
    kept.complete(steps, measure)
    rows = [(f"{family}, noise {noise}", *kept.recall(family, noise)) for family, noise in steps]
    table((f"{N} × {D:,}", "R-hat", "of", "apart", "root apart", "seconds"), rows)


def measure(family, noise):
    X, tree = rows_of_tree(noise_level=0.0 if noise == 0.0 else LEVEL)
    if family == "spherical":
        X = X / np.sqrt(variances())
    began = time.perf_counter()
    post = fit(X, family, noise)
    seconds = time.perf_counter() - began
    from_truth = fit(X, family, noise, start=tree)
    figures = {name: value for name, value in post.info["convergence"].items() if isinstance(value, dict)}
    worst = max(figures, key=lambda name: figures[name]["r_hat"])
    joint = apart(post.log_joint, from_truth.log_joint, post.draws.chain)
    root = apart(post.draws.times[:, -1], from_truth.times[:, -1], post.draws.chain)
    return round(figures[worst]["r_hat"], 3), worst, round(joint, 2), round(root, 2), round(seconds)


def variances():
    return np.exp(np.random.default_rng(1).normal(size=D))


def rows_of_tree(noise_level):
    X, tree = ct.simulate(N, D, "spherical", random_state=3, noise=noise_level)
    return X * np.sqrt(variances()), tree


def fit(X, family, noise, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ct.fit(X, family, noise=noise, random_state=0, **SETTINGS, **more)


def apart(one, other, chain):
    """Difference of two means in standard errors, which effective draws give."""
    errors = [draws.var(ddof=1) / scalar_figures(draws, chain)["ess"] for draws in (one, other)]
    return float((one.mean() - other.mean()) / np.sqrt(sum(errors)))
