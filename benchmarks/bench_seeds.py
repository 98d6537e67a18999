"""How far the suggested number of clusters depends on the seed: ten seeds of ten tables, with defaults.

Of each table: the number of clusters that `suggest_n_clusters` gives with each seed, the most frequent one and how many
seeds gave it, the least stability of its clusters (mean over these seeds), and the most frequent
range with its count. The last line counts the tables where nine of ten seeds agree.

    iris, wine, breast cancer, 500 digits    of scikit-learn
    penguins      of palmerpenguins; where it is not installed, a third table like the next ones
    expression    60 genes × 24 samples, simulated: each gene follows one of four programs, more or less strongly
    motor cars    32 × 11, simulated after the table of that size in R: few rows, columns in mixed units, some discrete
    blobs         200 × 5, five of make_blobs
    one Gaussian  120 × 4

Results are kept in build/bench_seeds/ with the commit they were measured at, so that an interrupted run resumes.
`SEEDS=3 make bench ONLY=seeds` is shorter; MINUTES=20 starts no fit after 20 minutes and prints what there is.
"""

import os
import time
import warnings
from collections import Counter
from functools import partial

import numpy as np
from sklearn.datasets import make_blobs

import coaltree as ct

from .bench_real import stated
from .kept import Kept, commits_of
from .labelled_tables import FURTHER, SIX, load_tables
from .timing import commit, table

REAL, SETTINGS = ("iris", "wine", "breast cancer", "500 digits"), {}
BRIEFLY = {"REAL": REAL[:2], "SETTINGS": {"n_samples": 30, "n_warmup": 30, "n_chains": 1}}
AGREE = 0.9


def expression(seed):
    """Rows (60, 24) of genes that follow one of four programs, each active in some of the samples."""
    rng = np.random.default_rng(seed)
    programs = rng.normal(0.0, 1.5, (4, 24)) * (rng.random((4, 24)) < 0.4)
    strength = rng.gamma(8.0, 1 / 8, (60, 1))
    return strength * programs[np.arange(60) % 4] + rng.normal(0.0, 0.5, (60, 24))


def motor_cars():
    """Rows (32, 11) of cars with 4, 6 or 8 cylinders, on which most other columns depend."""
    rng = np.random.default_rng(0)
    cylinders = np.repeat([4.0, 6.0, 8.0], [11, 7, 14])
    manual = rng.random(32) < np.repeat([0.7, 0.4, 0.15], [11, 7, 14])

    def about(centre, spread):
        return centre + rng.normal(0.0, spread, 32)

    displacement = about(60 * cylinders - 135, 35)
    power = about(32 * cylinders - 48, 25)
    weight = about(0.9 + 0.38 * cylinders - 0.5 * manual, 0.4)
    columns = [
        about(37.3 - 5.3 * weight, 2.0),  # miles per gallon
        cylinders,
        displacement,
        power,
        about(3.6 + 0.6 * manual - 0.1 * (cylinders - 6), 0.25),  # axle ratio
        weight,
        about(20.5 - 0.018 * power - 0.8 * manual, 0.8),  # seconds for a quarter of a mile
        cylinders + rng.random(32) < 7,  # straight engine
        manual,
        3 + manual + (rng.random(32) < 0.3),  # gears
        np.clip(np.rint(about(power / 55, 1.0)), 1, 8),  # carburettors
    ]
    return np.column_stack(columns).astype(float)


def tables():
    """Name → rows, of ten tables; and a line for the one that is not there."""
    found, missing = load_tables({name: SIX[name] for name in REAL} | {"penguins": FURTHER["penguins"]})
    simulated = {
        **{f"expression {i + 1}": partial(expression, i) for i in range(2 + len(missing))},
        "motor cars": motor_cars,
        "blobs": lambda: make_blobs(200, 5, centers=5, random_state=0)[0],
        "one Gaussian": lambda: np.random.default_rng(0).standard_normal((120, 4)),
    }
    return {name: X for name, (X, _) in found.items()} | {name: make() for name, make in simulated.items()}, missing


def run():
    seeds = range(int(os.environ.get("SEEDS", "10")))
    (found, missing), kept = tables(), Kept("bench_seeds", ("defaults", *SETTINGS.values()))
    if missing:
        print("\n".join(missing), flush=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = [(name, seed) for seed in seeds for name in sorted(found, key=lambda name: found[name].size)]
        kept.complete(steps, lambda name, seed: measure(found[name], seed), announce=False)
    results = {name: kept.all_of((name, seed) for seed in seeds) for name in found}
    results = {name: runs for name, runs in results.items() if runs}
    if not results:
        print("nothing measured yet")
        return
    print(f"measured at {commits_of([one for runs in results.values() for one in runs])}\n")
    report({name: found[name].shape for name in results}, results)


def measure(X, seed):
    began = time.perf_counter()
    suggestion = ct.fit(X, random_state=seed, n_jobs=2, progress=False, **SETTINGS).suggest_n_clusters()
    return {**stated(suggestion), "seconds": time.perf_counter() - began, "commit": commit().strip(" ,")}


def report(shapes, results):
    rows, n_agree = [], 0
    for name, runs in results.items():
        number, count = most_frequent([one["suggested"] for one in runs])
        least = float(np.mean([one["least"] for one in runs if one["suggested"] == number]))
        between, n_between = most_frequent([tuple(one["range"]) for one in runs])
        rows.append(
            (
                name,
                "{} × {}".format(*shapes[name]),
                " ".join(str(one["suggested"]) for one in runs),
                number,
                f"{count} of {len(runs)}",
                f"{least:.2f}",
                "{} to {}, {} of {}".format(*between, n_between, len(runs)),
            )
        )
        n_agree += count >= AGREE * len(runs)
    header = ("table", "size", "suggested, by seed", "most frequent", "seeds", "least stability", "range")
    table(header, rows)
    print(f"\nat least {100 * AGREE:.0f} % of the seeds agree: {n_agree} of {len(rows)} tables")


def most_frequent(values):
    """The value that is there most often, the smallest of several, and how often; None where there are no values."""
    counts = Counter(sorted(values))
    return counts.most_common(1)[0] if counts else (None, 0)
