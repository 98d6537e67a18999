"""More columns than rows: are trees on a few components better than those of other methods, and do chains agree?

Tables: 18 of cancer gene expression (de Souto et al. 2008, BMC Bioinformatics 9:497; `expression.npz` of the folder
COALTREE_DATA), digits and USPS at 60 and 200 rows, and two that are simulated, of independent columns and of eight
factors, with the five clades of the true tree as classes.

coaltree runs with its defaults, so that the covariance is "components" where there are no more rows than columns. ARI
at the true number of classes; purity of the tree; R-hat, the one that fits wait for; S, the least stability of clusters
at the true number; seconds of one core: means of ten seeds, of R-hat the worst; ±, the standard error of ARI from seed
to seed. Other methods see all columns, or the same components. MINUTES=20 starts no fit after 20 minutes and prints
what there is.

Goals, means over the 18 tables: ARI of at least 0.40 and 0.05 above every other method, purity 0.02 above Ward's;
R-hat of at most 1.05 in every table, and 64 × 6,830 in at most 10 seconds.
"""

import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

import coaltree as ct
from coaltree.posterior.diagnostics.convergence import worst_figures

from .kept import Kept
from .labelled_tables import usps
from .timing import commit, table

SETTINGS = {}
BRIEFLY = {"SETTINGS": {"n_samples": 30, "n_warmup": 30}}
N_SEEDS = 10  # of all methods with a random start; from one to the next, means of the 18 tables differ by 0.03


def first_of(load, n):
    X, y = load()
    return np.asarray(X[:n], dtype=float), np.asarray(y[:n])


def digits():
    return load_digits(return_X_y=True)


def independent_columns(n=60, d=500):
    X, tree = ct.simulate(n, d, "spherical", random_state=5, noise=0.3)
    return X, tree.cut(5)


def factors(n=60, d=500, k=8):
    Y, tree = ct.simulate(n, k, "spherical", random_state=6, noise=0.1)
    rng = np.random.default_rng(7)
    return Y @ rng.normal(size=(k, d)) + 2.0 * rng.normal(size=(n, d)), tree.cut(5)


def no_classes(n=64, d=6830):
    """As many rows and columns as the NCI60 table has: for its seconds alone."""
    return factors(n, d)


OTHERS = {f"{n} digits": lambda n=n: first_of(digits, n) for n in (60, 200)}
OTHERS |= {f"{n} of USPS": lambda n=n: first_of(usps, n) for n in (60, 200)}
OTHERS |= {"independent columns": independent_columns, "eight factors": factors, "64 × 6,830": no_classes}


def expression():
    """Name → loader of the 18 tables, none where they are not."""
    path = Path(os.environ.get("COALTREE_DATA", ".")) / "expression.npz"
    if not path.exists():
        print("expression.npz is not there: COALTREE_DATA names no folder with it; those 18 tables are left out.")
        return {}
    with np.load(path) as tables:
        names = sorted({key.split("__")[0] for key in tables.files})
        return {name: (tables[f"{name}__X"].astype(float), tables[f"{name}__y"]) for name in names}


def run():
    tables = {name: lambda pair=pair: pair for name, pair in expression().items()}
    n_expression, tables = len(tables), tables | OTHERS
    kept = Kept("bench_wide", (commit().split()[1].strip(",") if commit() else "none", *SETTINGS.values()))
    kept.complete([(name, "all") for name in tables], lambda name, _: measure(*tables[name]()), announce=False)
    found = {name: kept.recall(name, "all") for name in tables}
    found = {name: row for name, row in found.items() if row is not None}
    header = ("table", "shape", "covariance", "ARI", "±", "Ward's", "purity", "Ward's", "R-hat", "S", "seconds")
    keys = ("shape", "covariance", "ARI", "±", "Ward", "purity", "purity of Ward", "R-hat", "S", "seconds")
    table(header, [(name, *(row[key] for key in keys)) for name, row in found.items()])
    first = [row for name, row in found.items() if name not in OTHERS]
    for rows, what in ((first, f"{len(first)} of {n_expression} expression tables"), ([*found.values()], "all tables")):
        if rows:
            others = ("R-hat", "S", "seconds", "±")
            names = [key for key in rows[0] if isinstance(rows[0][key], float) and key not in others]
            error = float(np.linalg.norm([row["±"] for row in rows])) / len(rows)
            print(f"\nMeans of {what}; the standard error of the first is {error:.3f}")
            table(("", *names), [("", *(float(np.mean([row[key] for row in rows])) for key in names))])


def measure(X, y):
    y = np.unique(y, return_inverse=True)[1]
    k = int(y.max()) + 1
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [of_fit(X, y, k, seed) for seed in range(N_SEEDS)]
        names = ("ARI", "purity", "R-hat", "S", "seconds")
        found = {name: float(np.mean([fit[name] for fit in fits])) for name in names}
        ward, by_correlation = linkage(X, "ward"), linkage(X, "average", "correlation")
        Y = ct.Components().adapt(X).project(X)
        found |= {
            "shape": f"{X.shape[0]} × {X.shape[1]:,}",
            "covariance": fits[0]["covariance"],
            "±": float(np.std([fit["ARI"] for fit in fits], ddof=1)) / N_SEEDS**0.5,
            "R-hat": max(fit["R-hat"] for fit in fits),
            "purity of Ward": ct.metrics.dendrogram_purity(ct.Tree.from_linkage(ward), y),
            "Ward": adjusted_rand_score(y, fcluster(ward, k, "maxclust")),
            "average, correlation": adjusted_rand_score(y, fcluster(by_correlation, k, "maxclust")),
            "k-means": by_seeds(y, lambda seed: KMeans(k, n_init=10, random_state=seed).fit_predict(X)),
            "Ward, components": adjusted_rand_score(y, fcluster(linkage(Y, "ward"), k, "maxclust")),
            "k-means, components": by_seeds(y, lambda seed: KMeans(k, n_init=10, random_state=seed).fit_predict(Y)),
        }
        for kind in ("tied", "full"):
            found[f"mixture ({kind}), components"] = by_seeds(y, lambda seed, kind=kind: mixture(Y, k, kind, seed))
    return found


def of_fit(X, y, k, seed):
    began = time.process_time()
    post = ct.fit(X, random_state=seed, progress=False, **SETTINGS)
    seconds = time.process_time() - began
    return {
        "ARI": adjusted_rand_score(y, post.cut(k)),
        "purity": ct.metrics.dendrogram_purity(post.mean_tree(), y),
        "R-hat": worst_figures(post.info["convergence"])[0].value,
        "S": float(post.stability(post.cut(k)).jaccard.min()),
        "seconds": seconds,
        "covariance": post.info["covariance_choice"].split()[0],
    }


def mixture(Y, k, kind, seed):
    return GaussianMixture(k, covariance_type=kind, reg_covar=1e-3, n_init=3, random_state=seed).fit_predict(Y)


def by_seeds(y, labels_of):
    return float(np.mean([adjusted_rand_score(y, labels_of(seed)) for seed in range(N_SEEDS)]))
