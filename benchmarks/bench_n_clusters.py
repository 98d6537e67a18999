"""How many clusters: how often the suggested number is right on simulated tables, beside what users would pick instead.

A replicate has 35 tables of 80 rows, one for each number of blobs (2 … 8) and columns (2 … 50), at one of the four
separations in turn at which Ward, told the number, reaches an ARI of 0.6, 0.8, 0.95 or 1 on average (`blobs`); equal or
unequal sizes and normal or t₃ noise are drawn. Beside it

    single     ten single blobs, whose number is 1
    uniform    squares and cubes of 80 and 200 rows, whose number is 1
    wide       2 to 5 blobs of 60 rows and 600 columns, of which 450 to 540 are noise alone
    tails      3 to 6 blobs of 150 rows and 20 columns with t₃ noise, at an ARI of 0.95
    halving    3 to 6 blobs far apart, of 120, 60, 30, … rows
    blobs      scikit-learn's make_blobs with six centres and 300 to 10,000 rows where Ward at 6 has an ARI from 0.99 on

    coaltree      post.suggest_n_clusters() with short runs (one chain of 30 + 30 iterations, of make_blobs with its
                  many rows 150 + 150) of otherwise default `fit`
    silhouette    the largest mean silhouette width of Ward's clusters (it cannot say 1)
    gap           the gap statistic of k-means, 20 uniform tables
    tied, full    the least BIC of Gaussian mixtures with one covariance, or one each, the best of 5 starts
    HDBSCAN       as scikit-learn has it

The others may say up to 10, and are asked of at most 1,000 rows (HDBSCAN and silhouette of all), in the first three
replicates.
Then, for other limits of the least stability: how often the number is right, how often a second seed gives the same
one, and the ARI at it; and how often a cluster is a true one that is called stable.

Posteriors are kept (`kept`), and asked for numbers of clusters when the page is printed: a run that was stopped
resumes. It begins none after 25 minutes, or MINUTES, and prints what there is; FULL=1 is all replicates.
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
from coaltree.posterior.clusters.stability import VALID

from .blobs import Cell, draw, ward
from .kept import Kept, commits_of, is_full
from .timing import commit, table

REPLICATES, REPLICATES_OF_OTHERS, MINUTES = 12, 3, 25
ROWS = 80
NUMBERS, COLUMNS, SEPARATIONS = range(2, 9), (2, 5, 10, 20, 50), (0.6, 0.8, 0.95, 1.0)
BLOB_ROWS = {300: 1, 1000: 2, 3000: 4, 10_000: 12}  # one table every so many replicates
MANY = 1000
LARGEST = 10  # number of clusters that the others may say
SETTINGS = {"n_samples": 30, "n_warmup": 30, "n_chains": 1, "progress": False}
LONGER = {"n_samples": 150, "n_warmup": 150}  # of make_blobs
LIMITS = (0.65, 0.7, 0.75, 0.8, 0.85, 0.9)  # of the least stability
LEVELS = (0.0, 0.6, 0.75, 0.85, 1.01)  # of stability
SINGLE_KINDS = ("single", "uniform")


def run():
    kept, makers = Kept("bench_n_clusters", SETTINGS.values()), dict(tables())
    minutes = float("inf") if is_full() else MINUTES
    steps = [(name, "fits") for name in makers]
    steps += [(name, "others") for name in makers if int(name.split("-")[1]) < REPLICATES_OF_OTHERS]

    def measure(name, method):
        return fits(kept.place_of(name, "seed"), *makers[name]()) if method == "fits" else by_others(*makers[name]())

    kept.complete(steps, measure, minutes=minutes, announce=False)
    both = []
    for name, make in makers.items():
        if (fitted := kept.recall(name, "fits")) is not None:
            fitted["posteriors"] = [kept.folder / path for path in fitted["posteriors"]]
            both.append((by_coaltree(fitted, make()[1]), kept.recall(name, "others")))
    report(both)


def tables():
    """(name, function that makes the table) of every table, replicate by replicate."""
    kinds = [(k, d) for k in NUMBERS for d in COLUMNS]
    for number in range(REPLICATES):
        for i, (k, d) in enumerate(kinds):
            yield f"grid-{number}-{k}-{d}", partial(of_grid, number, i, k, d)
        for d in COLUMNS:
            for noise in ("normal", "t"):
                yield f"single-{number}-{d}-{noise}", partial(single, number, d, noise)
        for n, d in itertools.product((80, 200), (2, 3)):
            yield f"uniform-{number}-{n}-{d}", partial(uniform, number, n, d)
        for make in (wide, tails, halving):
            for k in range(2, 6) if make is wide else range(3, 7):
                yield f"{make.__name__}-{number}-{k}", partial(make, number, k)
        for n, every in BLOB_ROWS.items():
            if number % every == every - 1:
                yield f"blobs-{number}-{n}", partial(six_blobs, number, n)


# The tables: rows, true clusters, and what kind they are


def of_grid(number, i, k, d):
    rng = np.random.default_rng([number, k, d])
    sizes, noise = str(rng.choice(["equal", "unequal"])), str(rng.choice(["normal", "t"]))
    cell = Cell(ROWS, k, d, SEPARATIONS[(i + number) % 4], sizes, noise)
    return *draw(cell, rng), cell._asdict() | {"kind": "grid", "seed": number}


def single(number, d, noise):
    cell = Cell(ROWS, 1, d, 1.0, "equal", noise)
    rng = np.random.default_rng([number, 1, d, noise == "t"])
    return *draw(cell, rng), cell._asdict() | {"kind": "single", "seed": number}


def uniform(number, n, d):
    rng = np.random.default_rng([number, n, d, 11])
    return rng.random((n, d)), np.zeros(n, int), {"kind": "uniform", "k": 1, "d": d, "seed": number}


def wide(number, k):
    rng = np.random.default_rng([number, k, 12])
    truth, n_informative = np.arange(60) % k, int(rng.integers(60, 151))
    X = rng.standard_normal((60, 600))
    X[:, :n_informative] += rng.normal(0.0, 1.5, (k, n_informative))[truth]
    return X, truth, {"kind": "wide", "k": k, "seed": number}


def tails(number, k):
    rng = np.random.default_rng([number, k, 13])
    return *draw(Cell(150, k, 20, 0.95, "unequal", "t"), rng), {"kind": "tails", "k": k, "seed": number}


def halving(number, k):
    rng = np.random.default_rng([number, k, 14])
    truth = np.repeat(np.arange(k), 120 // 2 ** np.arange(k))
    X = 8.0 * rng.standard_normal((k, 4))[truth] + rng.standard_normal((len(truth), 4))
    return X, truth, {"kind": "halving", "k": k, "seed": number}


def six_blobs(number, n):
    """The next table of make_blobs that Ward gets right."""
    seed = 1000 * number
    while True:
        X, truth = make_blobs(n, centers=6, random_state=seed)
        if adjusted_rand_score(truth, ward(X, 6)) >= 0.99:
            return X, truth, {"kind": "blobs", "n": n, "k": 6, "seed": seed}
        seed += 1


# What is said of a table


def fits(place, X, truth, about):
    """Keep a posterior of each of two seeds."""
    settings = SETTINGS | (LONGER if about["kind"] == "blobs" else {})
    seeds = [about["seed"]] if about.get("n") == max(BLOB_ROWS) else [about["seed"], about["seed"] + 1_000_000]
    paths = [place.with_suffix(f".{i}.coaltree") for i in range(len(seeds))]
    place.parent.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short chains
        for seed, path in zip(seeds, paths, strict=True):
            ct.fit(X, random_state=seed, **settings).save(path)
    seconds = (time.process_time() - began) / len(seeds)
    names = [path.name for path in paths]
    return {"about": about, "seconds": seconds, "posteriors": names, "commit": commit().strip(" ,")}


def by_coaltree(fitted, truth):
    """Shares of draws and ARI of each number of clusters, of two seeds, and stabilities beside the truth."""
    posts = [ct.load(path) for path in fitted["posteriors"]]
    suggestions = [post.suggest_n_clusters() for post in posts]
    cuts = [posts[0].cut(int(k)) for k in suggestions[0].candidates["n_clusters"]]
    at_truth = posts[0].cut(fitted["about"]["k"])
    return fitted | {
        "stability": beside_truth(posts[0], at_truth, truth),
        "shown": [suggestion.n_clusters for suggestion in suggestions],
        "range": [[suggestion.low, suggestion.high] for suggestion in suggestions],
        "numbers": [suggestion.candidates["n_clusters"].tolist() for suggestion in suggestions],
        "share": [suggestion.candidates["stability"].tolist() for suggestion in suggestions],
        "ari": [float(adjusted_rand_score(truth, labels)) for labels in cuts],
        "ari_at_truth": float(adjusted_rand_score(truth, at_truth)),
    }


def by_others(X, truth, about):
    """The number that each of the others says."""
    few = X if len(X) <= MANY else X[np.random.default_rng(0).choice(len(X), MANY, replace=False)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mixtures that have not converged
        return {name: method(X if name in ASKED_OF_ALL else few) for name, method in OTHERS.items()}


def beside_truth(post, labels, truth):
    """[stability of a cluster, its Jaccard similarity with the most similar true one]."""
    clusters = [labels == a for a in range(labels.max() + 1)] if labels.max() > 0 else []
    true = [truth == a for a in np.unique(truth)]
    best = [max((own & one).sum() / (own | one).sum() for one in true) for own in clusters]
    return [[float(mean), float(similar)] for mean, similar in zip(post.stability(labels).jaccard, best, strict=False)]


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


# What is printed


def number_at(limit, one, seed=0):
    """The largest number with a least stability from this limit on."""
    numbers = zip(one["numbers"][seed], one["share"][seed], strict=True)
    return max((k for k, share in numbers if share >= limit - 1e-9), default=1)


def report(both):
    outcomes = [ours for ours, _ in both]
    grid = [one for one in both if one[0]["about"]["kind"] == "grid"]
    print(f"{len(grid) / (len(NUMBERS) * len(COLUMNS)):.1f} of {REPLICATES} replicates; {len(both)} tables", end="; ")
    print(f"measured at {commits_of(outcomes)}\n")

    def row(title, where, among=grid):
        return shares(title, [one for one in among if where(one[0]["about"])])

    rows = [row("2 to 8 blobs, all", lambda of: True)]
    rows += [row(f"  Ward's ARI {s:g}", lambda of, s=s: of["ward"] == s) for s in SEPARATIONS]
    rows += [row(f"  {noise} noise", lambda of, noise=noise: of["noise"] == noise) for noise in ("normal", "t")]
    rows += [row(f"  {sizes} sizes", lambda of, sizes=sizes: of["sizes"] == sizes) for sizes in ("equal", "unequal")]
    rows += [row(f"  {d} columns", lambda of, d=d: of["d"] == d) for d in COLUMNS]
    rows += [
        row(kind, lambda of, kind=kind: of["kind"] == kind, both)
        for kind in ("single", "uniform", "wide", "tails", "halving")
    ]
    rows += [row(f"make_blobs, 6 of {n:,} rows", lambda of, n=n: of.get("n") == n, both[:]) for n in BLOB_ROWS]
    table(["right, in percent", "tables", "coaltree", "ARI", "tables", *OTHERS], [one for one in rows if one])
    small = [one for one in outcomes if one["about"]["kind"] != "blobs"]
    print(f"\nseconds a table: {np.mean([one['seconds'] for one in small]):.2f}; the limit is {VALID}")
    print("\nwhat other limits would give; same: a second seed gives the same number; in percent, ARI at the number\n")
    many = [one for one in small if one["about"]["kind"] not in SINGLE_KINDS]
    alone = [one for one in small if one["about"]["kind"] in SINGLE_KINDS]
    header = ["limit", "blobs of the grid", "all blobs", "ARI", "no blobs", "same"]
    table(header, [at_limit(limit, [ours for ours, _ in grid], many, alone) for limit in LIMITS])
    shown = np.array([one["shown"] for one in small])
    ranges = np.array([one["range"][0] for one in small])
    true = np.array([one["about"]["k"] for one in small])
    print(f"\na second seed shows the same number: {percent(shown[:, 0] == shown[:, 1])}")
    inside = percent((ranges[:, 0] <= true) & (true <= ranges[:, 1]))
    print(f"a range is said of {percent(np.ptp(ranges, axis=1) > 0)}; it, or the number, is right in {inside}")
    print("\nstability of a cluster, and how often it is a true blob (Jaccard similarity of at least 0.75)")
    pairs = np.array([pair for one in many for pair in one["stability"]]).reshape(-1, 2)
    for low, high in itertools.pairwise(LEVELS):
        here = (pairs[:, 0] >= low) & (pairs[:, 0] < high)
        if here.any():
            right = percent(pairs[here, 1] >= 0.75)
            print(f"  {low:.2f} to {min(high, 1):.2f}: {here.sum():5d} clusters, true in {right}")


def at_limit(limit, grid, many, alone):
    right_grid, right, single = (
        np.array([number_at(limit, one) == one["about"]["k"] for one in among]) for among in (grid, many, alone)
    )
    ari = [ari_at(number_at(limit, one), one) for one in many]
    same = np.array([number_at(limit, one) == number_at(limit, one, 1) for one in (*many, *alone)])
    return [f"{limit:g}", percent(right_grid), percent(right), f"{np.mean(ari):.3f}", percent(single), percent(same)]


def ari_at(number, one):
    """The ARI at a number of clusters; one cluster has 0, where there are several."""
    numbers = one["numbers"][0]
    return one["ari"][numbers.index(number)] if number in numbers else 0.0


def percent(outcome):
    return f"{100 * np.mean(outcome):.0f} %" if len(outcome) else "-"


def shares(title, both):
    """A row of the table: how often each method was right, in percent; None without tables."""
    if not both:
        return None
    right = [ours["shown"][0] == ours["about"]["k"] for ours, _ in both]
    ari = [ari_at(ours["shown"][0], ours) for ours, _ in both if ours["about"]["k"] > 1]
    asked = [(ours["about"]["k"], theirs) for ours, theirs in both if theirs is not None]
    of_others = [
        f"{100 * np.mean([theirs[name] == k for k, theirs in asked]):.0f}" if asked else "-" for name in OTHERS
    ]
    mean = f"{np.mean(ari):.2f}" if ari else "-"
    return [title, str(len(both)), f"{100 * np.mean(right):.0f}", mean, str(len(asked)), *of_others]


if __name__ == "__main__":
    run()
