"""Cuts into the true number of clusters, on simulated blobs: the best disjoint clades of the mean tree.

Adjusted Rand index over the rows that are no outliers, mean over replicates, of Ward's linkage, of `Posterior.cut`
(heights of the mean tree, rows in none by mean D-bar), and of the same tree cut by its times, as one that was read from
a file is. Then which rows `outliers=True` names: the share of all rows, the share of those that are outliers, and the
share of outliers that it finds. What was measured is kept (`kept`), and MINUTES=20 prints what there is then.
"""

import warnings

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

import coaltree as ct

from .kept import Kept, commits_of
from .timing import commit, table

REPLICATES = 5
SHAPES = [(150, 3, 5, 7.0), (200, 4, 3, 8.0), (200, 6, 10, 7.0)]  # rows, clusters, columns, distance of centres
KINDS = ["normal", "outliers", "Student", "unequal Student", "unequal spread"]


def blobs(rng, n, k, d, distance, kind):
    """Rows, their clusters, and which are outliers: normal noise of unit variance unless the kind says otherwise."""
    sizes = rng.dirichlet(np.full(k, 3.0)) if kind in ("outliers", "unequal Student") else np.full(k, 1 / k)
    y = rng.choice(k, n, p=sizes)
    noise = rng.normal(size=(n, d))
    if "Student" in kind:
        noise *= np.sqrt(3 / rng.chisquare(3, size=(n, 1)))
    if kind == "unequal spread":
        noise *= rng.choice([0.5, 1.0, 2.0], k)[y][:, None]
    X = rng.normal(size=(k, d))[y] * distance / np.sqrt(2 * d) + noise
    is_outlier = np.zeros(n, dtype=bool)
    if kind == "outliers":
        is_outlier[rng.choice(n, n // 25, replace=False)] = True
        away = rng.normal(size=(n, d))
        X += is_outlier[:, None] * away / np.linalg.norm(away, axis=1, keepdims=True) * (3 * np.sqrt(d) + 4)
    return X, y, is_outlier


def cuts(X, k, post):
    """{name: labels}."""
    tree = post.mean_tree()
    return {
        "Ward": fcluster(linkage(X, "ward"), k, "maxclust"),
        "cut": post.cut(k),
        "cut by times": ct.Tree(tree.children, tree.times).cut(k),
    }


def measure(kind, which):
    """The ARI of each cut; of rows named as outliers their share, the share that is right, and that is found."""
    shape, seed = SHAPES[which[0]], which[1]
    X, y, is_outlier = blobs(np.random.default_rng([seed, shape[0], shape[1]]), *shape, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CoaltreeWarning)
        post = ct.fit(X, n_samples=60, n_warmup=40, n_chains=1, random_state=seed, progress=False)
        labels, named = cuts(X, shape[1], post), post.cut(shape[1], outliers=True) < 0
    inliers = ~is_outlier
    index = {name: float(adjusted_rand_score(y[inliers], found[inliers])) for name, found in labels.items()}
    both = np.count_nonzero(named & is_outlier)
    shares = [float(named.mean()), both / max(named.sum(), 1), both / max(is_outlier.sum(), 1)]
    return {"index": index, "shares": shares, "commit": commit().strip(" ,")}


def run():
    kept = Kept("bench_cut", ("mean_tree",))
    tables = [(shape, seed) for seed in range(REPLICATES) for shape in range(len(SHAPES))]
    kept.complete([(kind, table) for table in tables for kind in KINDS], measure, announce=False)
    found = {kind: kept.all_of((kind, table) for table in tables) for kind in KINDS}
    found = {kind: results for kind, results in found.items() if results}
    print(f"measured at {commits_of([one for results in found.values() for one in results])}\n")
    index = {
        kind: {name: np.mean([one["index"][name] for one in of]) for name in of[0]["index"]}
        for kind, of in found.items()
    }
    methods = list(next(iter(index.values()), ()))
    rows = [[kind, str(len(found[kind])), *(f"{of[name]:.3f}" for name in methods)] for kind, of in index.items()]
    rows.append(["all", "", *(f"{np.mean([of[name] for of in index.values()]):.3f}" for name in methods)])
    table(["ARI", "tables", *methods], rows)
    print()
    shares = {kind: np.mean([one["shares"] for one in of], axis=0) for kind, of in found.items()}
    shown = [
        [kind, f"{s[0]:.3f}", *([f"{x:.2f}" for x in s[1:]] if kind == "outliers" else "--")]
        for kind, s in shares.items()
    ]
    table(["outliers=True", "named", "right", "found"], shown)


if __name__ == "__main__":
    run()
