"""Runs that are as long as needed, beside a fixed 2 × 600 iterations: time and error.

Ten tables, with defaults but for the length. Errors are those against a long run (`LONG` iterations of two chains after
the warm-up): of supports, the root mean square over clades that it has in 10 to 90 % of its trees; of memberships, that
over the rows of their probabilities to be in each of three groups, which Ward's linkage gives, the same for all runs;
of the log joint, that of its mean in standard deviations. All include the error of the long run itself. Seconds are
those of one core and of sampling alone. "at equal error" is the time that auto would take for the supports' error of
the fixed run, relative to it: errors fall with the square root of time. R-hat is the worst of all that is watched and
of every entry of the parameters; ARI is that of the chains' clusters, where they were compared.

What was measured is kept (`kept`); MINUTES=20 prints what there is then, with "-" for what lacks its long run.
FULL=1 adds two seeds.
"""

import math
import time
import warnings

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs

import coaltree as ct
from coaltree.posterior.trees import clades
from coaltree.posterior.trees.clades import clade_table

from .kept import Kept, commits_of, is_full
from .timing import commit, table

LONG = 1500
RARE = 0.01  # share of trees below which a clade is not kept
FIXED = {"n_samples": 500, "n_warmup": 100}
LENGTHS = {"long": {"n_samples": LONG, "n_warmup": 200}, "fixed": FIXED, "auto": {"n_samples": "auto"}}


def noisy(n, d, seed, columns=None):
    """A simulated table with some measurement noise; with `columns`, these are mixed."""
    rng = np.random.default_rng(seed)
    X = ct.simulate(n=n, d=d, random_state=seed)[0]
    return (X if columns is None else X @ rng.standard_normal((d, columns))) + 0.2 * rng.standard_t(
        4, (n, columns or d)
    )


def with_gaps(X, share=0.1):
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    return X


TABLES = {
    "model, 60 × 20": lambda: ct.simulate(n=60, d=20, random_state=1)[0],
    "noisy, 100 × 4": lambda: noisy(100, 4, 2),
    "correlated, 120 × 5": lambda: noisy(120, 5, 3, columns=5),
    "gaps, 80 × 6": lambda: with_gaps(noisy(80, 6, 4)),
    "one blob, 90 × 3": lambda: np.random.default_rng(5).standard_normal((90, 3)),
    "six blobs, 300 × 5": lambda: make_blobs(300, 5, centers=6, random_state=6)[0],
    "iris, 150 × 4": lambda: load_iris().data,
    "wine, 178 × 13": lambda: load_wine().data,
    "breast cancer, 569 × 30": lambda: load_breast_cancer().data,
    "digits, 500 × 64": lambda: load_digits().data[:500],
}
BRIEFLY = {"TABLES": {name: TABLES[name] for name in ("noisy, 100 × 4", "one blob, 90 × 3")}, "REAL": ()}
REAL = ("iris, 150 × 4", "wine, 178 × 13", "breast cancer, 569 × 30", "digits, 500 × 64")


def measure(name, length, seed):
    X = TABLES[name]()
    ct.fit(X, n_samples=4, n_warmup=4, random_state=0, progress=False)  # compiles, or loads, what is needed
    began = time.process_time()
    post = ct.fit(X, random_state=seed, progress=False, **LENGTHS[length])
    result = {
        "seconds": time.process_time() - began,
        "iterations": post.info["n_warmup"] + len(post) // 2,
        "warmup": post.info["n_warmup"],
        "log_joint": [float(post.log_joint.mean()), float(post.log_joint.std())],
        "r_hat": max(figures["r_hat"] for figures in post.info["convergence"].values() if isinstance(figures, dict)),
        "commit": commit().strip(" ,"),
    }
    if length == "auto":
        stopping = post.info["stopping"]
        result |= {name: stopping.get(name, math.nan) for name in ("iterations", "reason", "ari")}
    frequency = clades.frequencies(clade_table(post), post.weights)
    seen = frequency >= RARE
    shares = zip(clade_table(post).keys[seen], frequency[seen], strict=True)
    result["membership"] = np.asarray(post.membership(groups_of(X))).round(4).tolist()
    return result | {"clades": [[int(key), round(float(share), 4)] for key, share in shares]}


def groups_of(X):
    """Three groups of rows, the same for every run: what the draws say of them is compared."""
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return fcluster(linkage(filled / filled.std(axis=0).clip(1e-9), "ward"), 3, "maxclust") - 1


def support_error(run, long):
    """Root mean square difference of the supports of the clades that the long run is unsure about."""
    ours = dict(run["clades"])
    unsure = {key: share for key, share in long["clades"] if 0.1 <= share <= 0.9}
    return np.sqrt(np.mean([(ours.get(clade, 0.0) - share) ** 2 for clade, share in unsure.items()]))


def membership_error(run, long):
    return np.sqrt(np.mean(np.square(np.subtract(run["membership"], long["membership"]))))


KEPT = Kept("bench_auto", (LONG, "memberships"))


def run():
    seeds = range(1, 4 if is_full() else 2)
    lengths = [*(f"{length}-{seed}" for seed in seeds for length in ("auto", "fixed")), "long-0"]
    # A table after the other, so that what has been measured can be compared; those of users' kind are looked at first.
    steps = [*((name, "auto-1") for name in REAL), *((name, length) for name in TABLES for length in lengths)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        KEPT.complete(steps, lambda name, length: measure(name, *parts_of(length)), announce=False)
    report(seeds)


def parts_of(step):
    length, seed = step.split("-")
    return length, int(seed)


def report(seeds):
    rows, every, ratios = [], [], []
    for name in TABLES:
        long = KEPT.recall(name, "long-0")
        runs = {length: KEPT.all_of((name, f"{length}-{seed}") for seed in seeds) for length in ("fixed", "auto")}
        means = {length: means_of(of_length, long) for length, of_length in runs.items() if of_length}
        every += [*runs["fixed"], *runs["auto"]]
        ratio = math.nan
        if len(means) == 2 and long is not None:
            fixed, auto = means["fixed"], means["auto"]
            ratio = auto["seconds"] / fixed["seconds"] * (auto["support"] / fixed["support"]) ** 2
            ratios.append(ratio)
        for length, shown in means.items():
            rows.append(
                (
                    name,
                    length,
                    f"{shown['warmup']:.0f} + {shown['iterations'] - shown['warmup']:.0f}",
                    f"{shown['seconds']:.1f}",
                    figure(shown["support"], 3),
                    figure(shown["membership"], 3),
                    figure(shown["joint"], 2),
                    figure(shown["r_hat"], 3),
                    figure(np.mean([one["ari"] for one in runs[length]]), 2) if length == "auto" else "",
                    figure(ratio, 2) if length == "auto" else "",
                    ", ".join(sorted({one["reason"] for one in runs[length]})) if length == "auto" else "",
                )
            )
    print(f"Measured at {commits_of(every)}; {len(seeds)} seed(s).\n")
    errors = ("supports", "memberships", "log joint", "R-hat", "ARI", "at equal error", "stopped")
    table(("table", "length", "iterations", "s", *errors), rows)
    print()
    ratios = [ratio for ratio in ratios if not math.isnan(ratio)]  # one blob has no clade that some trees have
    if ratios:
        print(f"Time at equal error, geometric mean of {len(ratios)} tables: {np.exp(np.mean(np.log(ratios))):.2f}")
    missing = [name for name in TABLES if name not in {row[0] for row in rows}]
    if missing:
        print(f"Not measured yet: {'; '.join(missing)}")


def figure(value, digits):
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"


def means_of(runs, long):
    found = {name: float(np.mean([one[name] for one in runs])) for name in ("iterations", "warmup", "seconds")}
    found |= {"r_hat": max(one["r_hat"] for one in runs), "support": math.nan, "membership": math.nan}
    found["joint"] = math.nan
    if long is not None:
        mean, sd = long["log_joint"]
        found["support"] = float(np.sqrt(np.mean([support_error(one, long) ** 2 for one in runs])))
        found["membership"] = float(np.sqrt(np.mean([membership_error(one, long) ** 2 for one in runs])))
        found["joint"] = float(np.sqrt(np.mean([((one["log_joint"][0] - mean) / sd) ** 2 for one in runs])))
    return found
