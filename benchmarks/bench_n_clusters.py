"""How many clusters: how often the suggested number is right on simulated blobs, beside what a user would pick instead.

A replicate has 35 tables of 80 rows, one for each number of blobs (2 … 8) and columns (2 … 50), at one of the four
separations in turn at which Ward, told the number, reaches an ARI of 0.6, 0.8, 0.95 or 1 on average (`blobs`); equal or
unequal sizes and normal or t₃ noise are drawn. Beside it ten single blobs, and scikit-learn's make_blobs with six
centres and 300 to 10,000 rows where Ward at 6 has an ARI of at least 0.99. In 20 replicates every number of blobs and
columns has 20 tables, five at each separation.

    shown         post.suggest_n_clusters() with short runs (one chain of 30 + 30 iterations, of make_blobs with its
                  many rows 150 + 150) of otherwise default `fit`
    silhouette    the largest mean silhouette width of Ward's clusters (it cannot say 1)
    gap           the gap statistic of k-means, 20 uniform tables
    tied, full    the least BIC of Gaussian mixtures with one covariance, or one each, the best of 5 starts
    HDBSCAN       as scikit-learn has it

The others may say up to 10, and are asked of at most 1,000 rows (HDBSCAN and silhouette of all). Then how often a
second seed shows the same number, how often there is a range, and how often a cluster is a true one that is called
stable: clusters at the true number, one less and one more, beside the blobs.

Tables are kept (`kept`): a run that was stopped resumes. It begins none after 25 minutes, or MINUTES, and prints what
there is; FULL=1 is all 20 replicates.
"""

import itertools
import time
import warnings
from functools import partial

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture

import coaltree as ct

from .blobs import Cell, draw, ward
from .kept import Kept, commits_of, is_full
from .timing import commit, table

REPLICATES, MINUTES = 20, 25
ROWS = 80
NUMBERS, COLUMNS, SEPARATIONS = range(2, 9), (2, 5, 10, 20, 50), (0.6, 0.8, 0.95, 1.0)
BLOB_ROWS = {300: 1, 1000: 2, 3000: 4, 10_000: 8}  # one table every so many replicates
MANY = 1000
LARGEST = 10  # number of clusters that the others may say
SETTINGS = {"n_samples": 30, "n_warmup": 30, "n_chains": 1, "progress": False}
LONGER = {"n_samples": 150, "n_warmup": 150}  # of make_blobs
LEVELS = (0.0, 0.6, 0.75, 0.85, 1.01)  # of stability


def run():
    kept, makers = Kept("bench_n_clusters", ()), dict(tables())
    minutes = float("inf") if is_full() else MINUTES
    steps = [(name, method) for name in makers for method in MEASURES]
    kept.complete(steps, lambda name, method: MEASURES[method](*makers[name]()), minutes=minutes, announce=False)
    both = [[kept.recall(name, method) for method in MEASURES] for name in makers]
    report([merged(ours, others) for ours, others in both if ours is not None and others is not None])


def tables():
    """(name, function that makes the table) of every table, replicate by replicate."""
    kinds = [(k, d) for k in NUMBERS for d in COLUMNS]
    for number in range(REPLICATES):
        for i, (k, d) in enumerate(kinds):
            yield f"grid-{number}-{k}-{d}", partial(of_grid, number, i, k, d)
        for d in COLUMNS:
            for noise in ("normal", "t"):
                yield f"single-{number}-{d}-{noise}", partial(single, number, d, noise)
        for n, every in BLOB_ROWS.items():
            if number % every == every - 1:
                yield f"blobs-{number}-{n}", partial(six_blobs, number, n)


# The tables: rows, true blobs, and what kind they are


def of_grid(number, i, k, d):
    rng = np.random.default_rng([number, k, d])
    sizes, noise = str(rng.choice(["equal", "unequal"])), str(rng.choice(["normal", "t"]))
    cell = Cell(ROWS, k, d, SEPARATIONS[(i + number) % 4], sizes, noise)
    return *draw(cell, rng), cell._asdict() | {"kind": "grid", "seed": number}


def single(number, d, noise):
    cell = Cell(ROWS, 1, d, 1.0, "equal", noise)
    rng = np.random.default_rng([number, 1, d, noise == "t"])
    return *draw(cell, rng), cell._asdict() | {"kind": "single", "seed": number}


def six_blobs(number, n):
    """The next table of make_blobs that Ward gets right."""
    seed = 1000 * number
    while True:
        X, truth = make_blobs(n, centers=6, random_state=seed)
        if adjusted_rand_score(truth, ward(X, 6)) >= 0.99:
            return X, truth, {"kind": "blobs", "n": n, "k": 6, "seed": seed}
        seed += 1


# What is said of a table


def by_coaltree(X, truth, about):
    """The number that we say, seconds, the least stability at each number, and stabilities beside the truth."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short chains
        began = time.process_time()
        settings = SETTINGS | (LONGER if about["kind"] == "blobs" else {})
        post = ct.fit(X, random_state=about["seed"], **settings)
        said = post.suggest_n_clusters()
        seconds = {"shown": time.process_time() - began}
        again = ct.fit(X, random_state=about["seed"] + 1_000_000, **settings).suggest_n_clusters()
        stability = found_again(post, truth, about["k"])
    return {
        "about": about, "numbers": {"shown": said.n_clusters}, "seconds": seconds,
        "least": said.candidates["stability"].tolist(), "again_least": again.candidates["stability"].tolist(),
        "range": [said.low, said.high], "again": again.n_clusters,
        "stability": stability, "commit": commit().strip(" ,"),
    }  # fmt: skip


def by_others(X, truth, about):
    """The number that each of the others says, and seconds."""
    seconds, numbers = {}, {}
    few = X if len(X) <= MANY else X[np.random.default_rng(0).choice(len(X), MANY, replace=False)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mixtures that have not converged
        for name, method in OTHERS.items():
            began = time.process_time()
            numbers[name] = method(X if name in ASKED_OF_ALL else few)
            seconds[name] = time.process_time() - began
    return {"numbers": numbers, "seconds": seconds}


MEASURES = {"coaltree": by_coaltree, "others": by_others}


def merged(ours, others):
    """All that is said of a table."""
    return ours | {what: ours[what] | others[what] for what in ("numbers", "seconds")}


def found_again(post, truth, true_number):
    """[stability of a cluster, its Jaccard similarity with the most similar blob], at and near the true number."""
    blobs = [truth == a for a in range(true_number)] if true_number > 1 else []
    pairs = []
    for k in (true_number - 1, true_number, true_number + 1):
        if k > 1:
            labels = post.cut(k)
            for a, jaccard in enumerate(post.stability(labels).jaccard):
                own = labels == a
                best = max(((own & blob).sum() / (own | blob).sum() for blob in blobs), default=0.0)
                pairs.append([float(jaccard), float(best)])
    return pairs


def by_silhouette(X):
    tree = linkage(X, "ward")
    some = {"sample_size": 2000, "random_state": 0} if len(X) > 2000 else {}
    widths = [silhouette_score(X, fcluster(tree, k, "maxclust"), **some) for k in range(2, LARGEST + 1)]
    return 2 + int(np.argmax(widths))


def by_gap_statistic(X, n_tables=20):
    """Tibshirani, Walther and Hastie's rule: the first k whose gap is within a standard error of the next one's."""

    def log_inertia(Y):
        return np.log([KMeans(k, n_init=1, random_state=0).fit(Y).inertia_ for k in range(1, LARGEST + 1)])

    rng = np.random.default_rng(0)
    uniform = np.array([log_inertia(rng.uniform(X.min(axis=0), X.max(axis=0), X.shape)) for _ in range(n_tables)])
    gap = uniform.mean(axis=0) - log_inertia(X)
    error = uniform.std(axis=0) * np.sqrt(1 + 1 / n_tables)
    enough = gap[:-1] >= gap[1:] - error[1:]
    return 1 + int(np.argmax(enough)) if enough.any() else LARGEST


def by_bic(X, kind):
    fits = [GaussianMixture(k, covariance_type=kind, n_init=5, random_state=0).fit(X) for k in range(1, LARGEST + 1)]
    return 1 + int(np.argmin([fitted.bic(X) for fitted in fits]))


def by_hdbscan(X):
    return max(1, int(HDBSCAN(copy=True).fit(X).labels_.max()) + 1)


OTHERS = {
    "silhouette": by_silhouette,
    "gap": by_gap_statistic,
    "tied": lambda X: by_bic(X, "tied"),
    "full": lambda X: by_bic(X, "full"),
    "HDBSCAN": by_hdbscan,
}
ASKED_OF_ALL = ("silhouette", "HDBSCAN")
METHODS = ("shown", *OTHERS)


# What is printed


def report(outcomes):
    grid, alone, blobs = ([one for one in outcomes if one["about"]["kind"] == k] for k in ("grid", "single", "blobs"))
    n_replicates = len(grid) / (len(NUMBERS) * len(COLUMNS))
    print(
        f"{n_replicates:.1f} of {REPLICATES} replicates were run: {len(grid)} tables of blobs and {len(alone)} single"
    )
    print(f"blobs of {ROWS} rows, {len(blobs)} of make_blobs; measured at {commits_of(outcomes)}\n")

    def some(title, where, among=grid):
        return shares(title, [one for one in among if where(one["about"])])

    rows = [some("2 to 8 blobs, all", lambda of: True)]
    rows += [some(f"  Ward's ARI {s:g}", lambda of, s=s: of["ward"] == s) for s in SEPARATIONS]
    rows += [some(f"  {noise} noise", lambda of, noise=noise: of["noise"] == noise) for noise in ("normal", "t")]
    rows += [some(f"  {sizes} sizes", lambda of, sizes=sizes: of["sizes"] == sizes) for sizes in ("equal", "unequal")]
    rows += [some(f"  {d} columns", lambda of, d=d: of["d"] == d) for d in COLUMNS]
    rows += [
        some(f"one blob, {noise} noise", lambda of, noise=noise: of["noise"] == noise, alone)
        for noise in ("normal", "t")
    ]
    rows.append(shares("whole grid", grid + alone))
    rows += [some(f"make_blobs, 6 of {n:,} rows", lambda of, n=n: of["n"] == n, blobs) for n in BLOB_ROWS]
    table(["right, in percent", "tables", *METHODS], [row for row in rows if row is not None])
    small = grid + alone
    each = {name: np.mean([one["seconds"][name] for one in small]) for name in ("shown", *OTHERS)} if small else {}
    print("\nseconds a table of 80 rows: " + ", ".join(f"{name} {mean:.2f}" for name, mean in each.items()))
    shown_again = np.array([one["numbers"]["shown"] == one["again"] for one in small])
    has_range = np.array([one["range"][0] < one["range"][1] for one in small])
    print(f"\na second seed of every table shows the same number: {share(shown_again)}")
    print(f"a range is said of {share(has_range)} of the tables")
    print("\nstability of a cluster, and how often it is a true blob (Jaccard similarity of at least 0.75)")
    pairs = np.array([pair for one in small for pair in one["stability"]]).reshape(-1, 2)
    for low, high in itertools.pairwise(LEVELS):
        brackets("clusters, true in", low, high, pairs[:, 0], pairs[:, 1] >= 0.75)


def share(outcome, among=slice(None)):
    """How often something is so, in percent."""
    return f"{100 * outcome[among].mean():.0f} %" if len(outcome[among]) else "-"


def shares(title, outcomes):
    """A row of the table: how often each method was right, in percent; None without tables."""
    if not outcomes:
        return None
    right = [[one["numbers"][name] == one["about"]["k"] for name in METHODS] for one in outcomes]
    return [title, str(len(right)), *(f"{100 * share:.0f}" for share in np.mean(right, axis=0))]


def brackets(what, low, high, values, outcome):
    here = (values >= low) & (values < high)
    if here.any():
        print(f"  {low:.2f} to {min(high, 1):.2f}: {here.sum():5d} {what} {100 * outcome[here].mean():.0f} %")


if __name__ == "__main__":
    run()
