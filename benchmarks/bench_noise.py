"""Noise at the leaves: how likely are rows that were not seen, and how pure are the trees, beside density estimators.

Four tables of scikit-learn, 5 folds: fitted to four of them, log density of the rows of the fifth, in nats a row.
Rounded values reward densities that collapse onto them, so uniform noise of one recording unit (the smallest step in a
column) is added, columns that are constant in a training fold are left out, and all columns have mean 0 and variance 1
in it: the same for every method. Purity is that of the trees of all rows, by their classes.

Gaussian mixtures have the type and the number of components, 1 to 12, that are best in an inner cross-validation,
Bayesian ones the type, kernel densities the bandwidth. Differences are of rows, ± standard error.

Every step is kept in build/bench_noise/, so that a run that was stopped resumes. Without FULL=1: two tables, two
folds and few iterations. MINUTES=20 begins no step after 20 minutes and prints what there is.
"""

import warnings
from collections import Counter
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity

import coaltree as ct
from coaltree.model.data.columns import choose_family, constant_columns

from .kept import Kept, is_full
from .timing import commit, table

LOADERS = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}
MOST_ROWS = 500  # of digits
NOISES = {"none": 0.0, "learnt": "learn", "student": "student"}
COVARIANCES = ("scaled", "full", "diagonal", "spherical")
TYPES = ["full", "tied", "diag", "spherical"]
MIXTURE = "Gaussian mixture"


class Setting(NamedTuple):
    """How much is run."""

    names: tuple[str, ...]
    covariances: tuple[str, ...]
    n_folds: int  # of the five
    n_samples: int
    n_warmup: int
    n_trees: int = 50  # asked for a density
    n_chains: int = 1


FULL = Setting(tuple(LOADERS), COVARIANCES, 5, 100, 50)
SHORT = Setting(("iris", "wine"), ("scaled", "full"), 2, 60, 30)


def run():
    setting = FULL if is_full() else SHORT
    kept = Kept("bench_noise", setting[2:])
    kept.complete(steps(setting), partial(measure, setting))
    print(
        f"\n{setting.n_folds} of 5 folds; {setting.n_warmup} + {setting.n_samples} iterations, {setting.n_trees} trees"
    )
    for name in setting.names:
        report(setting, kept, name)


def steps(setting):
    """(table, method), the quick and the telling ones first."""
    for names in (setting.names[:2], setting.names[2:]):
        yield from ((name, method) for name in names for method in ESTIMATORS)
        for covariance in setting.covariances[:3]:
            for name in names:
                yield from ((name, f"{covariance}, {noise}") for noise in NOISES if is_sensible(name, covariance))
    for name in setting.names:
        for covariance in setting.covariances[3:]:
            yield from ((name, f"{covariance}, {noise}") for noise in NOISES)


def is_sensible(name, covariance):
    """A full covariance of 61 columns has more entries than there are rows to learn them from."""
    return not (name == "digits" and covariance == "full")


# --- one step -------------------------------------------------------------------------------------------------------


def read(name):
    """Rows as recorded, the same with noise of one recording unit, and classes."""
    loaded = LOADERS[name]()
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.permutation(len(loaded.data))[:MOST_ROWS]) if name == "digits" else slice(None)
    recorded, classes = loaded.data[chosen], loaded.target[chosen]
    steps_of = (np.diff(np.unique(column)) for column in recorded.T)
    unit = np.array([found.min() if len(found) else 0.0 for found in steps_of])
    return recorded, recorded + unit * rng.uniform(-0.5, 0.5, recorded.shape), classes


def measure(setting, name, method):
    recorded, X, classes = read(name)
    result = held_out(recorded, X, setting.n_folds, partial(log_density, setting, method))
    if method not in ESTIMATORS:
        used, centre, sd = standard(recorded, X)
        post = fit(setting, method, (X[:, used] - centre) / sd)
        result["purity"] = ct.metrics.dendrogram_purity(post, classes)
    return result


def held_out(recorded, X, n_folds, log_density_of):
    """Log densities of the rows of some of five folds, by a function of rows that are seen and rows that are not."""
    found = {}
    for train, test in list(KFold(5, shuffle=True, random_state=0).split(X))[:n_folds]:
        used, centre, sd = standard(recorded[train], X[train])
        seen, new = ((X[rows][:, used] - centre) / sd for rows in (train, test))
        found.update(zip(map(int, test), map(float, log_density_of(seen, new)), strict=True))
    return {"rows": list(found), "log_density": list(found.values()), "commit": commit().strip(" ,")}


def standard(recorded, X):
    """Columns that are not constant, their means and standard deviations."""
    used = np.ptp(recorded, axis=0) > 0
    return used, X[:, used].mean(axis=0), X[:, used].std(axis=0)


def fit(setting, method, X):
    covariance, noise = method.split(", ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CoaltreeWarning)
        return ct.fit(
            X,
            covariance,
            noise=NOISES[noise],
            n_samples=setting.n_samples,
            n_warmup=setting.n_warmup,
            n_chains=setting.n_chains,
            random_state=0,
            progress=False,
        )


def log_density(setting, method, seen, new):
    if method not in ESTIMATORS:
        return fit(setting, method, seen).place(new, n_trees=setting.n_trees, n_clades=0).log_density
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of components that collapse, and of those that are still moving
        return ESTIMATORS[method](seen).score_samples(new)


def best_by_inner_folds(estimator, choices, X):
    inner = KFold(3, shuffle=True, random_state=1)
    return GridSearchCV(estimator, choices, cv=inner, error_score=-np.inf).fit(X).best_estimator_


ESTIMATORS = {
    MIXTURE: partial(
        best_by_inner_folds,
        GaussianMixture(random_state=0),
        {"covariance_type": TYPES, "n_components": list(range(1, 13))},
    ),
    "Bayesian mixture": partial(
        best_by_inner_folds,
        BayesianGaussianMixture(n_components=12, random_state=0, max_iter=300),
        {"covariance_type": TYPES},
    ),
    "kernel density": partial(
        best_by_inner_folds,
        KernelDensity(),
        {"bandwidth": np.geomspace(0.05, 2.0, 30)},
    ),
}


# --- the tables -----------------------------------------------------------------------------------------------------


def report(setting, kept, name):
    results = {method: kept.recall(name, method) for of, method in steps(setting) if of == name}
    done = {method: result for method, result in results.items() if result is not None}
    density = {method: np.array(result["log_density"]) for method, result in done.items()}
    rivals = [method for method in (MIXTURE, "Bayesian mixture") if method in density]
    rival = max(rivals, key=lambda method: density[method].mean(), default=None)
    rows = []
    for method, result in done.items():
        without = f"{method.split(', ')[0]}, none"
        purity = f"{result['purity']:.3f}" if "purity" in result else ""
        gain = difference(density, method, without if method != without else None)
        rows.append((method, f"{density[method].mean():.2f}", gain, difference(density, method, rival), purity))
    commits = ", ".join(sorted(Counter(result["commit"] for result in done.values())))
    print(f"\n{name}: {len(next(iter(density.values()), ()))} rows held out; {commits or 'nothing measured'}")
    if rows:
        table(("method", "nats a row", "noise gains", "above the best mixture", "purity"), rows)
        rows = np.delete(read(name)[0], np.s_[::5], axis=0)
        print(f'covariance="auto" for four fifths of the rows: {choose_family(rows, ~constant_columns(rows))[1]}')
    if len(done) < len(results):
        print(f"Not measured: {'; '.join(method for method in results if method not in done)}.")


def difference(density, method, other):
    """Mean difference of log densities, and its standard error."""
    if other is None or other == method or other not in density:
        return ""
    apart = density[method] - density[other]
    return f"{apart.mean():+.2f} ± {apart.std(ddof=1) / np.sqrt(len(apart)):.2f}"
