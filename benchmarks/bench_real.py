"""Clusters of real tables with known classes, with defaults, beside what a user would pick instead.

ARI at the true number of classes and dendrogram purity, means over five seeds (methods without chance have one), with
seconds of one core. coaltree sees the table as it is; every other method sees raw and standardised columns, and the
better one counts. HDBSCAN finds its own number of clusters; its noise points count as clusters of one. Last, the number
of clusters that coaltree suggests, how many of them it calls stable, and their ARI.

Of scikit-learn: iris, wine, breast cancer, 500 digits. Where the data folder is there (COALTREE_DATA): the yeast genes
that were measured at all times after alpha factor, with the phase they belong to, and 500 USPS digits.
`SEEDS=1 make bench ONLY=real` is shorter; what was measured is kept (`kept`), and MINUTES=20 prints what there is then.
"""

import os
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

import coaltree as ct

from .kept import Kept, commits_of
from .timing import commit, table

N_DIGITS = 500
OF_SCIKIT_LEARN = ("iris", "wine", "breast cancer", f"{N_DIGITS} digits")


def data_sets():
    """Name → (rows, classes)."""
    found = {}
    for name, load in (("iris", load_iris), ("wine", load_wine), ("breast cancer", load_breast_cancer)):
        found[name] = load(return_X_y=True)
    X, classes = load_digits(return_X_y=True)
    found[OF_SCIKIT_LEARN[-1]] = X[:N_DIGITS], classes[:N_DIGITS]
    folder = Path(os.environ.get("COALTREE_DATA", ""))
    if (folder / "yeast_cellcycle.npz").is_file():
        with np.load(folder / "yeast_cellcycle.npz") as yeast:
            X = yeast["X"][:, yeast["experiment"] == "alpha"].astype(float)
            whole = ~np.isnan(X).any(axis=1)
            found[f"{whole.sum()} yeast genes"] = X[whole], yeast["phase"][whole]
    if (folder / "usps.npz").is_file():
        with np.load(folder / "usps.npz") as usps:
            found[f"{N_DIGITS} of USPS"] = usps["X"][:N_DIGITS].astype(float), usps["y"][:N_DIGITS]
    return found


def by_linkage(method):
    def labels(X, k, seed):
        return AgglomerativeClustering(k, linkage=method).fit_predict(X)

    return labels


def by_mixture(kind):
    def labels(X, k, seed):
        mixture = GaussianMixture(k, covariance_type=kind, n_init=5, reg_covar=1e-4, random_state=seed)
        return mixture.fit_predict(X)

    return labels


def by_hdbscan(X, k, seed):
    found = HDBSCAN(copy=True).fit_predict(X)
    alone = found < 0
    found[alone] = found.max(initial=-1) + 1 + np.arange(alone.sum())
    return found


PEERS = {
    "average linkage": by_linkage("average"),
    "complete linkage": by_linkage("complete"),
    "Ward": by_linkage("ward"),
    "k-means": lambda X, k, seed: KMeans(k, n_init=10, random_state=seed).fit_predict(X),
    "mixture, tied": by_mixture("tied"),
    "mixture, full": by_mixture("full"),
    "HDBSCAN": by_hdbscan,
}
BY_CHANCE = ("k-means", "mixture, tied", "mixture, full")
LINKAGES = {"average linkage": "average", "complete linkage": "complete", "Ward": "ward"}


def peer(name, X, classes, seeds):
    """ARI, purity (of linkages) and seconds of a method, on raw or standardised columns, whichever is better."""
    k, best = len(np.unique(classes)), None
    for rows in (X, StandardScaler().fit_transform(X)):
        began = time.process_time()
        runs = seeds if name in BY_CHANCE else seeds[:1]
        scores = [adjusted_rand_score(classes, PEERS[name](rows, k, seed)) for seed in runs]
        seconds = (time.process_time() - began) / len(runs)
        purity = np.nan
        if name in LINKAGES:
            purity = ct.metrics.dendrogram_purity(ct.Tree.from_linkage(linkage(rows, LINKAGES[name])), classes)
        if best is None or np.mean(scores) > best[0]:
            best = float(np.mean(scores)), purity, seconds
    return best


def ours(X, classes, seed):
    """Of one seed: ARI, purity, seconds, the suggested number, and how stable its clusters are."""
    began = time.process_time()
    model = ct.CoalescentClustering(len(np.unique(classes)), random_state=seed).fit(X)
    post = model.posterior_
    suggested = post.suggest_n_clusters().n_clusters
    labels = post.cut(suggested)
    return {
        "ari": float(adjusted_rand_score(classes, model.labels_)),
        "purity": float(ct.metrics.dendrogram_purity(post, classes)),
        "suggested": suggested,
        "suggested_ari": float(adjusted_rand_score(classes, labels)),
        "words": list(post.stability(labels).words),
        "seconds": time.process_time() - began,
        "commit": commit().strip(" ,"),
    }


def run():
    seeds = range(int(os.environ.get("SEEDS", "5")))
    kept, sets = Kept("bench_real", ()), data_sets()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = [(data, seed) for data in sets for seed in seeds]  # the slowest last
        kept.complete(steps, lambda data, seed: ours(*sets[data], seed), announce=False)
        results = {data: kept.all_of((data, seed) for seed in seeds) for data in sets}
        report(sets, {data: runs for data, runs in results.items() if runs}, seeds)


def report(sets, results, seeds):
    means: dict[str, list[float]] = {}
    rows = []
    for data, runs in results.items():
        own = tuple(float(np.mean([one[what] for one in runs])) for what in ("ari", "purity", "seconds"))
        X, classes = sets[data]
        for name, (score, purity, seconds) in {
            "coaltree": own, **{name: peer(name, X, classes, seeds) for name in PEERS}
        }.items():  # fmt: skip
            means.setdefault(name, []).append(score)
            shown = f"{purity:.3f}" if np.isfinite(purity) else "-"
            rows.append((data, name, f"{score:.3f}", shown, f"{seconds:.2f}"))
    print(f"coaltree measured at {commits_of([one for runs in results.values() for one in runs])}\n")
    table(("data", "method", "ARI", "purity", "seconds"), rows)
    print()
    first = [i for i, data in enumerate(results) if data in OF_SCIKIT_LEARN]
    rows = [
        (name, f"{np.mean([scores[i] for i in first]):.3f}" if first else "-", f"{np.mean(scores):.3f}")
        for name, scores in means.items()
    ]
    table(("mean ARI", f"of scikit-learn's {len(first)}", f"of all {len(results)}"), rows)
    print("\nseeds; the number of clusters that is suggested, and what is said of them")
    for data, runs in results.items():
        n_classes = len(np.unique(sets[data][1]))
        print(
            f"{data}, {n_classes} classes: ARI by seed at {n_classes} " + " ".join(f"{one['ari']:.2f}" for one in runs)
        )
        for one in runs:
            words = ", ".join(f"{count} {word}" for word, count in Counter(one["words"]).items())
            print(f"  suggested {one['suggested']} ({words}), ARI {one['suggested_ari']:.2f}")
