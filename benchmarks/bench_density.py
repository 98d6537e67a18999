"""The tree as a density: how likely are rows that were not seen, and how well does that find outliers, beside peers.

Density: 5 folds, fitted to four of them, log density of the rows of the fifth in nats a row, on four tables of
scikit-learn and on simulated ones. Tables are prepared as in bench_noise, the same for every method: uniform noise of
one recording unit, columns with mean 0 and variance 1. `default` is `coaltree.fit`.
Gaussian mixtures have the type and the number of components, 1 to 12, that are best in an inner cross-validation,
Bayesian ones the type, kernel densities the bandwidth. A normalising flow is the best of four, and asked only if zuko
is installed. Differences are of rows, ± standard error.

Outliers: each class of digits and of breast cancer in turn is made rare, two halves, each method is fitted to one half
without being told, and scores the other; area under the ROC curve of the rare rows, mean of both halves. Differences
are of tables, ± standard error.

Every step is kept in build/bench_density/, so that a run that was stopped resumes. Without FULL=1: two tables of each
kind, two folds and few iterations. MINUTES=20 begins no step after 20 minutes and prints what there is.
"""

import warnings
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

import coaltree as ct

from .bench_noise import ESTIMATORS, LOADERS, MIXTURE, difference, held_out, read, standard
from .flow import FLOW, FittedFlow, is_installed
from .kept import Kept, is_full
from .timing import commit, table

OURS = {"default": "auto"}
PEERS = {**ESTIMATORS, FLOW: FittedFlow}
N_ROWS = 300  # of simulated tables
N_RARE, N_ORDINARY = 16, 300


class Setting(NamedTuple):
    """How much is run."""

    tables: tuple[str, ...]
    rare: tuple[str, ...]
    n_folds: int  # of the five
    n_samples: int
    n_warmup: int
    n_trees: int = 50  # asked for a density
    n_chains: int = 1


def run():
    setting = FULL if is_full() else SHORT
    kept = Kept("bench_density", setting[2:])
    kept.complete(steps(setting), partial(measure, setting))
    print(
        f"\n{setting.n_folds} of 5 folds; {setting.n_warmup} + {setting.n_samples} iterations, {setting.n_trees} trees"
    )
    report_densities(setting, kept)
    report_rare(setting, kept)


def steps(setting):
    """(table, method), outliers first: they take less time."""
    for name in setting.rare:
        yield from ((f"rare {name}", method) for method in (*DETECTORS, *OURS))
    peers = [method for method in PEERS if method != FLOW or (is_installed() and is_full())]
    for name in setting.tables:
        yield from ((name, method) for method in (*peers, *OURS))


def measure(setting, name, method):
    if name.startswith("rare "):
        return detected(setting, name.removeprefix("rare "), method)
    recorded, X = simulated(name) if name in SIMULATED else read(name)[:2]
    return held_out(recorded, X, setting.n_folds, partial(log_density, setting, method))


def log_density(setting, method, seen, new):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method in PEERS:
            return PEERS[method](seen).score_samples(new)
        post = ct.fit(
            seen,
            OURS[method],
            n_samples=setting.n_samples,
            n_warmup=setting.n_warmup,
            n_chains=setting.n_chains,
            random_state=0,
            progress=False,
        )
        return post.place(new, n_trees=setting.n_trees, n_clades=0).log_density


# --- simulated tables -----------------------------------------------------------------------------------------------


def blobs(rng):
    return datasets.make_blobs(N_ROWS, 5, centers=4, random_state=int(rng.integers(2**31)))[0]


def moons(d, rng):
    """Two moons in a plane of d dimensions, and a little noise in all of them."""
    flat = datasets.make_moons(N_ROWS, noise=0.05, random_state=int(rng.integers(2**31)))[0]
    plane = np.linalg.qr(rng.normal(size=(d, 2)))[0]
    return flat @ plane.T + 0.05 * rng.normal(size=(N_ROWS, d))


def of_a_tree(rng):
    return np.asarray(ct.simulate(N_ROWS, 8, noise=0.05, random_state=rng)[0])


def gaussian(rng):
    return rng.normal(size=(N_ROWS, 5)) @ rng.normal(size=(5, 5))


SIMULATED = {
    "blobs": blobs,
    "moons 2": partial(moons, 2),
    "moons 10": partial(moons, 10),
    "tree": of_a_tree,
    "one Gaussian": gaussian,
}


def simulated(name):
    X = SIMULATED[name](np.random.default_rng(list(SIMULATED).index(name)))
    return X, X


# --- outliers -------------------------------------------------------------------------------------------------------


def as_scores(detector, seen, new):
    return detector.fit(seen).score_samples(new)


DETECTORS = {
    "isolation forest": partial(as_scores, IsolationForest(n_estimators=300, random_state=0)),
    "local outlier factor": partial(as_scores, LocalOutlierFactor(novelty=True)),
    "one-class SVM": partial(as_scores, OneClassSVM(gamma="scale", nu=0.1)),
    MIXTURE: lambda seen, new: ESTIMATORS[MIXTURE](seen).score_samples(new),
}


def with_rare_class(name):
    """Rows of which a few are of a class that is otherwise left out, and which these are."""
    table_name, rare = name.rsplit(" ", 1)
    loaded = LOADERS[table_name]()
    rng = np.random.default_rng(0)
    few = rng.permutation(np.flatnonzero(loaded.target == int(rare)))[:N_RARE]
    many = rng.permutation(np.flatnonzero(loaded.target != int(rare)))[:N_ORDINARY]
    rows = np.sort(np.concatenate([few, many]))
    return loaded.data[rows], np.isin(rows, few)


def detected(setting, name, method):
    recorded, is_rare = with_rare_class(name)
    areas = []
    for train, test in StratifiedKFold(2, shuffle=True, random_state=0).split(recorded, is_rare):
        used, centre, sd = standard(recorded[train], recorded[train])
        seen, new = ((recorded[rows][:, used] - centre) / sd for rows in (train, test))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = DETECTORS[method](seen, new) if method in DETECTORS else log_density(setting, method, seen, new)
        areas.append(float(roc_auc_score(is_rare[test], -np.asarray(scores))))
    return {"areas": areas, "commit": commit().strip(" ,")}


# --- the tables -----------------------------------------------------------------------------------------------------


def report_densities(setting, kept):
    for name in setting.tables:
        done = {method: kept.recall(name, method) for method in (*PEERS, *OURS)}
        done = {method: result for method, result in done.items() if result is not None}
        density = {method: np.array(result["log_density"]) for method, result in done.items()}
        rivals = [method for method in density if method in PEERS]
        rival = max(rivals, key=lambda method: density[method].mean(), default=None)
        commits = ", ".join(sorted({result["commit"] for result in done.values()}))
        print(f"\n{name}: {len(next(iter(density.values()), ()))} rows held out; {commits or 'nothing measured'}")
        if done:
            ranked = sorted(density, key=lambda method: -density[method].mean())
            rows = [(method, f"{density[method].mean():.2f}", difference(density, method, rival)) for method in ranked]
            table(("method", "nats a row", "above the best peer"), rows)


def report_rare(setting, kept):
    methods = (*DETECTORS, *OURS)
    found = {name: {method: kept.recall(f"rare {name}", method) for method in methods} for name in setting.rare}
    found = {name: results for name, results in found.items() if all(results.values())}
    if not found:
        print("\noutliers: not measured")
        return
    commits = ", ".join(sorted({result["commit"] for results in found.values() for result in results.values()}))
    print(f"\noutliers, area under the ROC curve; {commits}")
    areas = {method: [np.mean(results[method]["areas"]) for results in found.values()] for method in methods}
    ranked = sorted(methods, key=lambda method: -np.mean(areas[method]))
    rows = [(name, *(f"{areas[method][i]:.3f}" for method in ranked)) for i, name in enumerate(found)]
    rows.append(("mean", *(f"{np.mean(areas[method]):.3f}" for method in ranked)))
    rival = next(method for method in ranked if method in DETECTORS)
    differences = {method: np.subtract(areas[method], areas[rival]) for method in ranked}
    rows.append((f"above {rival}", *(_with_error(differences[method]) if method != rival else "" for method in ranked)))
    table(("rare class", *ranked), rows)


def _with_error(differences):
    if len(differences) < 2:
        return f"{np.mean(differences):+.3f}"
    return f"{np.mean(differences):+.3f} ± {np.std(differences, ddof=1) / np.sqrt(len(differences)):.3f}"


RARE = ("breast cancer 0", "breast cancer 1", *(f"digits {number}" for number in range(10)))
FULL = Setting((*LOADERS, *SIMULATED), RARE, 5, 100, 50)
SHORT = Setting(("iris", "moons 2"), ("breast cancer 0", "digits 0"), 2, 60, 30)
