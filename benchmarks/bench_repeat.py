"""Are groups that are said to be sure found again in other columns of the same kind?

Sixty rows of a table are drawn at random, and its columns are parted at random into two halves, each of which is
fitted by itself. A group with support p in one half is looked for in the trees of the other half:

    said       mean support of the groups in a range
    repeated   mean share of the other half's trees that have them
    groups     how many there are, per half

Beside them bootstrap probabilities (BP) and approximately unbiased ones (AU) of the groups of an average linkage; its
trees are those of bootstrapped columns. They are computed by NumPy and SciPy, and by R's pvclust where it is installed
(`pvclust`).

Standard errors are those of other rows and halves (jackknife). Further tables: what it costs, and how far supports are
from the truth on tables that are not from the model (`off_model`).

Without FULL=1: a few halves and tables. Fits are kept in build/bench_repeat/, so that a run that was stopped resumes.
"""

import time
import warnings
from functools import cache
from itertools import pairwise

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import coaltree as ct
from coaltree.model.process.coalescent import simulate_tree
from coaltree.model.process.diffusion import simulate_data

from .bench_calibration import of_clades, reliability
from .kept import Kept, commits_of, is_full
from .labelled_tables import _data_folder, load_tables
from .off_model import TABLES, true_nodes
from .pvclust import NOT_INSTALLED, is_installed, multiscale_bootstrap, of_r, shares_of
from .timing import commit, table

ROWS = 60
BINS = (0.5, 0.8, 0.95, 1.001)
NOISE = 0.1  # level of the noise of tables from the model
HALVES, HALVES_BRIEFLY = 20, 2
DRAWN, DRAWN_BRIEFLY = 24, 2  # tables of each kind of `off_model`
METHODS = {"plain": {}, "components": {"covariance": "components"}}  # arguments of `fit` besides the usual ones
BOOTSTRAPPED = ("bootstrap", "pvclust")
OFF_MODEL = {
    "on the model": "scaled",
    "correlated columns": "scaled",
    "skewed columns": "scaled",
    "curves": "spherical",
}


def run():
    n_halves, n_drawn = (HALVES, DRAWN) if is_full() else (HALVES_BRIEFLY, DRAWN_BRIEFLY)
    found, missing = real_tables()
    for line in (*missing, *(() if is_installed() else (NOT_INSTALLED,))):
        print(line)
    names, kept = [*found, *SIMULATED], Kept("bench_repeat", (ROWS,))
    drawn = [(f"{kind} {number}", method) for number in range(n_drawn) for kind in OFF_MODEL for method in METHODS]
    halves = [(f"{name} {number}", "halves") for number in range(n_halves) for name in names]
    bootstraps = [
        (name, method) for name, _ in halves for method in (BOOTSTRAPPED if is_installed() else BOOTSTRAPPED[:1])
    ]
    kept.complete(
        [*halves, *bootstraps, *drawn],
        lambda name, method: {"commit": commit().strip(" ,"), **measured(found, *name.rsplit(" ", 1), method)},
        announce=False,
    )
    by_name = {name: whole_steps(kept, [f"{name} {number}" for number in range(n_halves)]) for name in names}
    if not any(by_name.values()):
        print("nothing measured")
        return
    print(f"\n{ROWS} rows, columns in two halves; {commits_of([one for many in by_name.values() for one in many])}")
    print_repeats(by_name)
    print_claims(by_name)
    print_costs(by_name)
    print_off_model({(kind, method): kept.all_of([(f"{kind} {n}", method) for n in range(n_drawn)])
                     for kind in OFF_MODEL for method in METHODS})  # fmt: skip


def whole_steps(kept, numbered):
    """What is kept of each pair of halves that was fitted, with its bootstraps."""
    found = [[kept.recall(name, method) or {} for method in ("halves", *BOOTSTRAPPED)] for name in numbered]
    return [{**fits, **ours, **of_r, "commit": fits["commit"]} for fits, ours, of_r in found if fits]


# --- the tables -----------------------------------------------------------------------------------------------------


def real_tables():
    """Name → (rows, classes) of those that are there, and a line for each that is not."""
    return load_tables({"digits": lambda: load_digits(return_X_y=True), "USPS": _usps, "yeast": _yeast})


def _usps():
    with np.load(_data_folder() / "usps.npz") as file:
        return file["X"], file["y"]


def _yeast():
    """Genes that were measured at all times of all four experiments."""
    with np.load(_data_folder() / "yeast_cellcycle.npz") as file:
        complete = ~np.isnan(file["X"]).any(axis=1)
        return file["X"][complete], file["phase"][complete]


def from_the_model(rng, d):
    return simulate_data(simulate_tree(ROWS, rng), d, rng, leaf_var=NOISE)


def eight_factors(rng, d):
    """Eight factors that diffused along the tree, seen through noisy columns."""
    return from_the_model(rng, 8) @ rng.normal(size=(8, d)) + 2.0 * rng.normal(size=(ROWS, d))


SIMULATED = {
    "from the model, 73 columns": lambda rng: from_the_model(rng, 73),
    "from the model, 256 columns": lambda rng: from_the_model(rng, 256),
    "eight factors, 73 columns": lambda rng: eight_factors(rng, 73),
}


def two_halves(found, name, number):
    """The rows of one draw in two halves of their columns, and their classes (None from the model)."""
    rng = np.random.default_rng([number, *map(ord, name)])
    classes = None
    if name in SIMULATED:
        X = SIMULATED[name](rng)
    else:
        X, classes = found[name]
        rows = rng.choice(len(X), ROWS, replace=False)
        X, classes = X[rows], classes[rows]
        X = X[:, np.ptp(X, axis=0) > 0]
    order = rng.permutation(X.shape[1])
    return [np.ascontiguousarray(X[:, half]) for half in np.array_split(order, 2)], classes


def measured(found, name, number, method):
    number = int(number)
    if method in BOOTSTRAPPED:
        return of_bootstrap(two_halves(found, name, number)[0], number, by_r=method == "pvclust")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CoaltreeWarning)
        compile_kernels()
        if method == "halves":
            return of_halves(*two_halves(found, name, number), number)
        drawn = TABLES[name](np.random.default_rng([number, *map(ord, name)]))
        post, seconds = fitted(drawn.X, OFF_MODEL[name], method, number)
        return {"clades": of_clades(post, true_nodes(drawn, as_groups=False)), "seconds": seconds}


@cache
def compile_kernels():
    """Compile kernels before anything is timed."""
    for method in METHODS:
        for covariance, d in (("spherical", 30), ("spherical", 8), ("scaled", 8)):
            fitted(ct.simulate(12, d, random_state=0)[0], covariance, method, 0)


def fitted(X, covariance, method, seed):
    """A posterior, and the seconds of all processors that it took."""
    began = time.process_time()
    post = ct.fit(X, **{"covariance": covariance, "random_state": seed, "progress": False} | METHODS[method])
    return post, time.process_time() - began


def of_halves(halves, classes, seed):
    """Pairs of support in one half and share in the other, by method; what it took, and agreement with the classes."""
    posts = {method: [fitted(X, "spherical", method, seed) for X in halves] for method in METHODS}
    shares = {method: [shares_of(post.draws.children, post.n) for post, _ in both] for method, both in posts.items()}
    result = {}
    for method in METHODS:
        result[method] = pairs_of(shares[method], shares[method])
        result[f"{method}, seconds"] = [seconds for _, seconds in posts[method]]
        if classes is not None:
            k = len(np.unique(classes))
            result[f"{method}, ARI"] = [adjusted_rand_score(classes, post.cut(k)) for post, _ in posts[method]]
    return result


def pairs_of(said, other):
    """[support in one half, share in the other] of all groups with at least the lowest support, both ways round."""
    return [
        [round(float(support), 4), round(there.get(group, 0.0), 4)]
        for here, there in (zip(said, other[::-1], strict=True))
        for group, support in here.items()
        if support >= BINS[0]
    ]


def of_bootstrap(halves, seed, *, by_r):
    """Pairs of BP or AU in one half and share of the other half's bootstrapped trees, computed here or by pvclust."""
    boots, said, seconds = [], [], []
    for side, X in enumerate(halves):
        began = time.process_time()
        *own, trees = multiscale_bootstrap(X, np.random.default_rng([seed, side]))
        spent = time.process_time() - began
        if by_r:
            *own, spent = of_r(X, 1 + seed)
        boots.append(trees), said.append(own), seconds.append(spent)
    names = ("pvclust's BP", "pvclust's AU") if by_r else ("BP", "AU")
    pairs = {name: pairs_of([own[i] for own in said], boots) for i, name in enumerate(names)}
    return pairs | {f"{names[0]}, seconds": seconds}


# --- what is printed ------------------------------------------------------------------------------------------------

ROWS_SHOWN = (*METHODS, "BP", "AU", "pvclust's BP", "pvclust's AU")


def point_of(found, method, low, high):
    """The point of what a method said of those halves that it was used on; None where nothing was."""
    used = [one for one in found if method in one]
    return reliability(used, method, low, high) if used else None


def with_error(point):
    """What is true at a point; its standard error needs more than one pair of halves, or table."""
    return f"{point.true:.2f} ± {point.error:.2f}" if np.isfinite(point.error) else f"{point.true:.2f}"


def print_repeats(by_name):
    print("\ngroups with such a support: said, repeated [per half]")
    rows = []
    for name, found in by_name.items():
        for method in ROWS_SHOWN:
            n_used = sum(method in one for one in found)
            cells = []
            for low, high in pairwise(BINS):
                same = point_of(found, method, low, high)
                cells.append("" if same is None else f"{same.said:.2f}, {with_error(same)} "
                             f"[{same.count / (2 * n_used):.1f}]")  # fmt: skip
            if n_used:
                rows.append((f"{name}: {method} ({n_used})", *cells))
    table(("table: method (pairs of halves)", *(f"{low:g} to {min(high, 1):g}" for low, high in pairwise(BINS))), rows)


def print_claims(by_name):
    print("\ngroups with a support of at least 0.8: how many repeat")
    rows = []
    for name, found in by_name.items():
        points = {method: point_of(found, method, 0.8, 2.0) for method in ROWS_SHOWN}
        repeats = ["" if one is None else with_error(one) for one in points.values()]
        rows.append((name, *repeats))
    table(("", *ROWS_SHOWN), rows)


def print_costs(by_name):
    newest = next((found[-1]["commit"] for found in by_name.values() if found), "")  # others may be of other lengths
    print(f"\nseconds of one half, all processors together (fits at {newest}), and ARI of clusters with classes")
    rows = []
    for name, found in by_name.items():
        timed = [one for one in found if one["commit"] == newest] or found
        of = {
            key: [second for one in (timed if key in METHODS else found) for second in one.get(f"{key}, seconds", ())]
            for key in ROWS_SHOWN
        }
        means = {key: np.mean(seconds) for key, seconds in of.items() if seconds}
        cells = [f"{means[key]:.1f}" if key in means else "" for key in (*METHODS, "BP", "pvclust's BP")]
        aris = [[ari for one in found for ari in one.get(f"{method}, ARI", ())] for method in METHODS]
        rows.append((name, *cells, *(f"{np.mean(ari):.2f}" if ari else "" for ari in aris)))
    header = ("", *METHODS, "bootstrap by NumPy", "pvclust", *(f"ARI {method}" for method in METHODS))
    table(header, rows)


def print_off_model(results):
    print(
        "\ntables of `off_model`, noise with heavy tails: said, true (± standard error) [groups], and how far too sure"
    )
    rows = []
    for (kind, method), found in results.items():
        if found:
            points = [reliability(found, "clades", low, high) for low, high in pairwise(BINS)]
            cells = ["" if p is None else f"{p.said:.2f}, {with_error(p)} [{p.count}]" for p in points]
            every = reliability(found, "clades", BINS[0], 2.0)
            excess = "" if every is None else f"{every.said - every.true:+.2f}"
            if every is not None and np.isfinite(every.error):
                excess += f" ± {every.error:.2f}"
            rows.append((f"{kind}: {OFF_MODEL[kind]}, {method} ({len(found)})", *cells, excess))
    header = [f"{low:g} to {min(high, 1):g}" for low, high in pairwise(BINS)]
    table(("table: method (tables)", *header, "too sure by"), rows)
