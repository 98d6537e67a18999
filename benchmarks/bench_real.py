"""Trees and clusters of real tables with known classes, with defaults, beside what a user would pick instead.

Of each table and method: dendrogram purity of the tree, adjusted Rand index (ARI) of the clusters at the true number of
classes, and seconds of one core. coaltree has one tree, that of `Posterior.mean_tree`, and sees the table as it is;
its figures are means over five seeds. "Ward, same metric" is Ward's linkage of the rows whitened by the posterior mean
of coaltree's covariance. Every other method sees raw and standardised columns, and of each figure the better one counts
(means over the seeds of methods with a random start). HDBSCAN finds its own number of clusters, and
its noise points count as clusters of one; its tree is the single linkage of mutual reachability distances (package
`hdbscan`). Genie's tree is made by `genieclust`. Methods without a tree have a dash for purity.

Then the means of purity and ARI, and for each seed the number of clusters that coaltree suggests, the least
stability of them, its range, how many of these clusters are stable, and their ARI.

The six tables of earlier versions of this page come first, with means of their own: iris, wine, breast cancer and 500
digits of scikit-learn, and from the folder COALTREE_DATA 500 USPS digits and yeast genes. The others come with
palmerpenguins, vega_datasets and statsmodels (`labelled_tables`). Tables and methods whose data or package is missing
are left out, with a line; `pip install -c constraints.txt -e . --group bench` installs all packages.

Results are kept in build/bench_real/ with the commit they were measured at, so that an interrupted run resumes.
`SEEDS=1 make bench ONLY=real` is shorter; MINUTES=20 starts no fit after 20 minutes and prints what there is.
"""

import os
import time
import warnings
from collections import Counter
from importlib import import_module
from typing import NamedTuple

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import coaltree as ct

from .kept import Kept, commits_of
from .labelled_tables import FURTHER, SIX, load_tables
from .timing import commit, table

TABLES, SETTINGS = SIX | FURTHER, {}
BRIEFLY = {
    "TABLES": {name: SIX[name] for name in ("iris", "wine")},
    "SETTINGS": {"n_samples": 30, "n_warmup": 30, "n_chains": 1},
}
NEEDS = {"Genie": "genieclust", "HDBSCAN's tree": "hdbscan"}


class Figures(NamedTuple):
    purity: float  # NaN without a tree
    ari: float
    seconds: float


def tree_of(children, heights):
    return ct.Tree.from_linkage(np.column_stack([children, heights, np.zeros(len(heights))]))


def by_linkage(method):
    def fitted(X, k, seed):
        model = AgglomerativeClustering(k, linkage=method, compute_full_tree=True, compute_distances=True).fit(X)
        return model.labels_, tree_of(model.children_, model.distances_)

    return fitted


def by_hdbscan(X, k, seed):
    labels = HDBSCAN(copy=True).fit_predict(X)
    noise = labels < 0
    labels[noise] = labels.max(initial=-1) + 1 + np.arange(noise.sum())
    try:
        import hdbscan
    except ImportError:
        return labels, None
    # scikit-learn counts a row among its own 5 neighbours, hdbscan does not
    return labels, ct.Tree.from_linkage(hdbscan.HDBSCAN(min_samples=4).fit(X).single_linkage_tree_.to_numpy())


def by_genie(X, k, seed):
    from genieclust import Genie

    model = Genie(k).fit(X)
    return model.labels_, tree_of(model.children_, model.distances_)


def by_k_means(X, k, seed):
    return KMeans(k, n_init=10, random_state=seed).fit_predict(X), None


def by_mixture(kind):
    def fitted(X, k, seed):
        mixture = GaussianMixture(k, covariance_type=kind, n_init=5, reg_covar=1e-4, random_state=seed)
        return mixture.fit_predict(X), None

    return fitted


PEERS = {
    "average linkage": by_linkage("average"),
    "complete linkage": by_linkage("complete"),
    "Ward": by_linkage("ward"),
    "HDBSCAN": by_hdbscan,
    "Genie": by_genie,
    "k-means": by_k_means,
    "mixture, tied": by_mixture("tied"),
    "mixture, full": by_mixture("full"),
}
RANDOM_STARTS = ("k-means", "mixture, tied", "mixture, full")


def run():
    seeds = range(int(os.environ.get("SEEDS", "5")))
    tables, missing = load_tables(TABLES)
    absent = {what: package for what, package in NEEDS.items() if not is_installed(package)}
    missing += [f"{what}: left out, {package} is not installed" for what, package in absent.items()]
    if missing:
        print("\n".join(missing), flush=True)
    peers = [name for name in PEERS if name not in absent]
    kept = Kept("bench_real", ("one_tree", *SETTINGS.values()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = [(data, seed) for seed in seeds for data in tables]
        kept.complete(steps, lambda data, seed: ours(*tables[data], seed), announce=False)
        results = {data: kept.all_of((data, seed) for seed in seeds) for data in tables}
        results = {data: runs for data, runs in results.items() if runs}
        if not results:
            print("nothing measured yet")
            return
        print(f"coaltree measured at {commits_of([one for runs in results.values() for one in runs])}")
        report({data: figures_of(*tables[data], runs, peers, seeds) for data, runs in results.items()})
        report_seeds({data: (len(np.unique(tables[data][1])), runs) for data, runs in results.items()})


def is_installed(package):
    """Import an optional package now, so that this is not counted as a method's time."""
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def ours(X, classes, seed):
    """Purity, ARI and seconds of one seed, the suggested number, and how stable its clusters are."""
    began = time.process_time()
    model = ct.CoalescentClustering(len(np.unique(classes)), random_state=seed, **SETTINGS).fit(X)
    post = model.posterior_
    suggestion = post.suggest_n_clusters()
    labels = post.cut(suggestion.n_clusters)
    words = list(post.stability(labels).words)
    tree = post.mean_tree()
    seconds = time.process_time() - began
    ward, of_ward = by_linkage("ward")(whitened(post), len(np.unique(classes)), seed)
    return {
        "ward_ari": float(adjusted_rand_score(classes, ward)),
        "ward_purity": ct.metrics.dendrogram_purity(of_ward, classes),
        "purity": ct.metrics.dendrogram_purity(tree, classes),
        "ari": float(adjusted_rand_score(classes, model.labels_)),
        "seconds": seconds,
        **stated(suggestion),
        "suggested_ari": float(adjusted_rand_score(classes, labels)),
        "words": words,
        "commit": commit().strip(" ,"),
    }


def whitened(post):
    """Rows as the posterior mean of the covariance sees them; ties are copies of rows, which have the same place."""
    model = post.model
    theta = {name: post.theta[name].mean(axis=0) for name in model.covariance.parameters if name in post.theta}
    rows = model.filled(model.state_of(post.draws, 0).imputed)
    W = model.covariance.with_theta(theta).whitener(rows.shape[1]).whiten(rows)
    return W[model.leaves.places]


def stated(suggestion):
    """What a suggestion says: the number, the least stability of its clusters, and its range."""
    least = {int(k): float(share) for k, share in suggestion.candidates}
    return {
        "suggested": int(suggestion.n_clusters),
        "least": least.get(suggestion.n_clusters, 1.0),
        "range": [suggestion.low, suggestion.high],
    }


def peer(name, X, classes, seeds):
    """Figures of a method on raw and on standardised columns: the better one of each, and mean seconds of a run."""
    k = len(np.unique(classes))
    runs = seeds if name in RANDOM_STARTS else seeds[:1]
    found = []
    for rows in (X, StandardScaler().fit_transform(X)):
        began = time.process_time()
        with threadpool_limits(1):  # threads that wait for each other would count as time
            fitted = [PEERS[name](rows, k, seed) for seed in runs]
        seconds = (time.process_time() - began) / len(runs)
        purity = [np.nan if tree is None else ct.metrics.dendrogram_purity(tree, classes) for _, tree in fitted]
        ari = [adjusted_rand_score(classes, labels) for labels, _ in fitted]
        found.append(Figures(float(np.mean(purity)), float(np.mean(ari)), seconds))
    purities, aris, seconds = zip(*found, strict=True)
    return Figures(max(purities), max(aris), float(np.mean(seconds)))


def figures_of(X, classes, runs, peers, seeds):
    """Method → figures, of one table."""
    own = Figures(*(float(np.mean([one[what] for one in runs])) for what in Figures._fields))
    ward = Figures(*(float(np.mean([one[what] for one in runs])) for what in ("ward_purity", "ward_ari")), np.nan)
    return {"coaltree": own, "Ward, same metric": ward} | {name: peer(name, X, classes, seeds) for name in peers}


def report(figures):
    """Print the figures by table and method, then their means."""
    six, further = ([data for data in figures if (data in SIX) == first] for first in (True, False))
    for title, names in (("the six tables of earlier versions of this page", six), ("further tables", further)):
        if names:
            print(f"\n{title}")
            table(
                ("table", "method", "purity", "ARI", "seconds"),
                [
                    (data, method, shown(one.purity), shown(one.ari), f"{one.seconds:.2f}")
                    for data in names
                    for method, one in figures[data].items()
                ],
            )
    print()
    blocks = [(f"of the {len(six)}", six)] * bool(six) + [(f"of all {len(figures)}", list(figures))]
    methods = list(next(iter(figures.values())))
    header = [f"{what} {block}" for what in ("purity", "ARI") for block, _ in blocks]
    rows = [
        (method, *(mean_of(figures, names, method, what) for what in ("purity", "ari") for _, names in blocks))
        for method in methods
    ]
    table(("mean", *header), rows)


def mean_of(figures, names, method, what):
    return shown(float(np.mean([getattr(figures[data][method], what) for data in names])))


def shown(value):
    return f"{value:.3f}" if np.isfinite(value) else "-"


def report_seeds(results):
    """Print what is suggested with each seed."""
    print("\nby seed; then the suggested number of clusters, and what is said of it")
    for data, (n_classes, runs) in results.items():
        purity, ari = (" ".join(f"{one[what]:.2f}" for one in runs) for what in ("purity", "ari"))
        print(f"{data}, {n_classes} classes: purity {purity}; ARI at {n_classes} {ari}")
        for one in runs:
            words = ", ".join(f"{count} {word}" for word, count in Counter(one["words"]).items())
            between = ", range {} to {}".format(*one["range"])
            print(
                f"  suggested {one['suggested']}, the least stability {one['least']:.2f}{between} "
                f"({words}), ARI {one['suggested_ari']:.2f}"
            )
