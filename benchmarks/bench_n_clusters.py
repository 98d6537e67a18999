"""How many clusters: how often the suggested number is right on simulated blobs, beside what a user would pick instead.

Every data set has 80 rows. A round takes each number of blobs (2 … 8) and columns (2 … 50) at one of the four
separations in turn, at which Ward, told the number, reaches an ARI of 0.6, 0.8, 0.95 or 1 on average (`blobs`); equal
or unequal sizes and normal or t₃ noise are drawn. Beside it single clouds, and scikit-learn's make_blobs with six
centres where Ward at 6 has an ARI of at least 0.99.

    rows          post.suggest_n_clusters() with short runs (one chain of 30 + 30 rounds) of otherwise default `fit`
    trees only    the same of the trees without their data
    silhouette    the largest mean silhouette width of Ward's clusters (it cannot say 1)
    gap           the gap statistic of k-means, 5 uniform tables
    tied, full    the least BIC of Gaussian mixtures with one covariance, or one each
    HDBSCAN       as scikit-learn has it

python -m benchmarks.bench_n_clusters [ROUNDS]
"""

import sys
import time
import warnings

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture

import coaltree as ct

from .blobs import Cell, draw, ward
from .timing import table

ROUNDS = 1
ROWS = 80
NUMBERS, COLUMNS, SEPARATIONS = range(2, 9), (2, 5, 10, 20, 50), (0.6, 0.8, 0.95, 1.0)
SIX_BLOBS = 5  # tables of make_blobs in a round
LARGEST = 10  # number of clusters that the others may say
SETTINGS = {"n_samples": 30, "n_warmup": 30, "n_chains": 1, "progress": False}


def by_silhouette(X):
    tree = linkage(X, "ward")
    widths = [silhouette_score(X, fcluster(tree, k, "maxclust")) for k in range(2, LARGEST + 1)]
    return 2 + int(np.argmax(widths))


def by_gap_statistic(X, n_tables=5):
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
    fits = [GaussianMixture(k, covariance_type=kind, random_state=0).fit(X) for k in range(1, LARGEST + 1)]
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
METHODS = ("rows", "trees only", *OTHERS)


def found(X, seed, spent):
    """The number that each method says, and the probability of the first; seconds are added to `spent`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short chains, mixtures that have not converged
        began = time.perf_counter()
        post = ct.fit(X, random_state=seed, **SETTINGS)
        spent["rows"] = spent.get("rows", 0.0) + time.perf_counter() - began
        said = post.suggest_n_clusters()
        trees = ct.Posterior(post.children, post.times, theta=post.theta, noise=post.noise)
        numbers = {"rows": said.n_clusters, "trees only": trees.suggest_n_clusters().n_clusters}
        for name, method in OTHERS.items():
            began = time.perf_counter()
            numbers[name] = method(X)
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - began
    return numbers, said.probability


def cells(number):
    """The blobs of a round."""
    kinds = [(k, d) for k in NUMBERS for d in COLUMNS]
    for i, (k, d) in enumerate(kinds):
        rng = np.random.default_rng([number, k, d])
        sizes, noise = str(rng.choice(["equal", "unequal"])), str(rng.choice(["normal", "t"]))
        yield Cell(ROWS, k, d, SEPARATIONS[(i + number) % 4], sizes, noise), rng


def single_clouds(number):
    for d in COLUMNS:
        for noise in ("normal", "t"):
            yield Cell(ROWS, 1, d, 1.0, "equal", noise), np.random.default_rng([number, 1, d, noise == "t"])


def six_blobs(wanted):
    """Tables of make_blobs that Ward gets right."""
    count, seed = 0, 0
    while count < wanted:
        X, truth = make_blobs(300, centers=6, random_state=seed)
        if adjusted_rand_score(truth, ward(X, 6)) >= 0.99:
            count += 1
            yield X, seed
        seed += 1


def shares(title, outcomes):
    """A row of the table: how often each method was right, in percent."""
    right = [[numbers[name] == k for name in METHODS] for k, numbers in outcomes]
    return [title, str(len(right)), *(f"{100 * share:.0f}" for share in np.mean(right, axis=0))]


def run(rounds=ROUNDS):
    spent: dict[str, float] = {}
    grid, single, six, sure = [], [], [], []
    for number in range(rounds):
        for into, source in ((grid, cells(number)), (single, single_clouds(number))):
            for cell, rng in source:
                X, _ = draw(cell, rng)
                numbers, probability = found(X, number, spent)
                into.append((cell, numbers))
                sure.append((probability, numbers["rows"] == cell.k))
                print(".", end="", file=sys.stderr, flush=True)
    n_sets = len(grid) + len(single)
    seconds = {name: total / n_sets for name, total in spent.items()}
    for X, seed in six_blobs(rounds * SIX_BLOBS):
        six.append((6, found(X, seed, {})[0]))
        print(".", end="", file=sys.stderr, flush=True)
    print(f"\nHow often right, in percent; {rounds} round{'s'[: rounds > 1]}, {n_sets} tables of {ROWS} rows")

    def some(title, where):
        return shares(title, [(cell.k, numbers) for cell, numbers in grid if where(cell)])

    rows = [some("2 to 8 blobs, all", lambda cell: True)]
    rows += [some(f"  Ward's ARI {s:g}", lambda cell, s=s: cell.ward == s) for s in SEPARATIONS]
    rows += [some(f"  {noise} noise", lambda cell, noise=noise: cell.noise == noise) for noise in ("normal", "t")]
    rows += [some(f"  {sizes} sizes", lambda cell, sizes=sizes: cell.sizes == sizes) for sizes in ("equal", "unequal")]
    rows += [some(f"  {d} columns", lambda cell, d=d: cell.d == d) for d in COLUMNS]
    rows += [
        shares(f"one cloud, {noise} noise", [(1, numbers) for cell, numbers in single if cell.noise == noise])
        for noise in ("normal", "t")
    ]
    rows.append(shares("whole grid", [(cell.k, numbers) for cell, numbers in grid + single]))
    rows.append(shares("make_blobs, 6 of 300 rows", six))
    table(["", "tables", *METHODS], rows)
    print("\nseconds a table: " + ", ".join(f"{name} {each:.2f}" for name, each in seconds.items()))
    print("\nprobability said of the suggested number, and how often it was right")
    chance, right = np.array(sure).T
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        here = (chance >= low) & (chance < high)
        if here.any():
            print(
                f"  {low:.1f} to {min(high, 1):.1f}: {here.sum():4d} tables, right in {100 * right[here].mean():.0f} %"
            )


if __name__ == "__main__":
    run(*map(int, sys.argv[1:2]))
