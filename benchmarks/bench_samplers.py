"""The paper's samplers: seconds beside the paper's, and beside linkages of the same rows in the same run.

python benchmarks/bench_samplers.py
"""

import os
from pathlib import Path

import fastcluster
import numpy as np
from scipy.cluster.hierarchy import linkage

import coaltree as ct
from benchmarks.memory import allowed_for_particles, peak_of_a_run
from benchmarks.timing import best_of, duration, side_by_side, table

PAPER = {  # seconds, Henao & Lucas (2012), table 1: n = d = 32 and 64, M = 100; and how many times faster is the goal
    "MPost2": (1.98, 6.1, 50),
    "MPost1": (2.29, 10.8, 40),
    "SMC1": (3.76, 13.9, 40),
    "PostPost": (18.65, 145.0, 100),
}


def sample(X, sampler, **options):
    return ct.sample_trees(X, np.eye(X.shape[1]), sampler, random_state=0, progress=False, **options)


def usps(n):
    """Some USPS digits in units in which they merge at times of order 1, or None where there is no data folder."""
    path = Path(os.environ.get("COALTREE_DATA", "")) / "usps.npz"
    if not path.is_file():
        return None
    X = np.load(path)["X"].astype(float)
    return X[np.random.default_rng(0).choice(len(X), n, replace=False)] / 10.0


def against_the_paper():
    print("M = 100, exact weights, data from the model, all threads")
    rows = []
    for name, (*seconds, goal) in PAPER.items():
        for n, paper in zip((32, 64), seconds, strict=True):
            X, _ = ct.simulate(n, n, random_state=1)
            ours = best_of(lambda X=X, name=name: sample(X, getattr(ct, name)(100)), 9)
            rows.append(
                (f"{name}, n = d = {n}", duration(ours), f"{paper} s", paper / ours, goal, word(paper / ours >= goal))
            )
    table(("", "here", "paper", "times faster", "goal", ""), rows)


def greedy_against_linkage():
    print("\nMGreedy from vectors, distances included")
    rows = []
    for n, d, goal in ((2000, 32, 2.0), (2000, 256, 1.0), (10_000, 256, 1.0)):
        X, _ = ct.simulate(n, d, random_state=1)
        contenders = {
            "MGreedy": lambda X=X: sample(X, "mgreedy"),
            "SciPy": lambda X=X: linkage(X, "average"),
            "fastcluster": lambda X=X: fastcluster.linkage(X, "average"),
        }
        seconds = side_by_side(contenders, 7 if n < 5000 else 2)
        ratios = [seconds["MGreedy"] / seconds[other] for other in ("SciPy", "fastcluster")]
        reached = ratios[0] <= goal and (goal > 1 or ratios[1] <= goal)
        rows.append((f"n = {n}, d = {d}", *map(duration, seconds.values()), *ratios, goal, word(reached)))
    table(("", "MGreedy", "SciPy average", "fastcluster average", "/ SciPy", "/ fastcluster", "goal", ""), rows)


def one_particle_against_linkage():
    print("\nOne MPost1 particle with its exact weight, beside SciPy's average linkage, both from vectors")
    rows = []
    for name, make in (("model, d = 32", lambda n: ct.simulate(n, 32, random_state=1)[0]), ("USPS digits", usps)):
        seconds = {}
        for n in (500, 1000, 2000, 4000):
            X = make(n)
            if X is None:
                rows.append((name, "skipped: COALTREE_DATA names no folder with usps.npz", "", "", "", ""))
                break
            both = side_by_side(
                {"us": lambda X=X: sample(X, ct.MPost1(1)), "scipy": lambda X=X: linkage(X, "average")}, 3
            )
            seconds[n] = both["us"]
            ratio = both["us"] / both["scipy"]
            goal, reached = (10, word(ratio <= 10)) if n == 2000 else ("", "")
            rows.append((f"{name}, n = {n}", duration(both["us"]), duration(both["scipy"]), ratio, goal, reached))
        if len(seconds) == 4:
            exponent = np.log(seconds[4000] / seconds[500]) / np.log(8)
            rows.append((f"{name}: exponent from 500 to 4000", "", "", exponent, 2.4, word(exponent <= 2.4)))
    table(("", "MPost1", "SciPy", "ratio", "goal", ""), rows)


def threads():
    print("\nTwo threads beside one, M = 100, n = d = 128")
    print("The gain has no goal: threads come from a plain pool, and are a convenience for the larger runs.")
    X, _ = ct.simulate(128, 128, random_state=1)
    rows = []
    for name in ("MPost1", "MPost2", "PostPost", "SMC1"):
        sampler = getattr(ct, name)(100)
        seconds = side_by_side({k: lambda k=k, s=sampler: sample(X, s, n_threads=k) for k in (1, 2)}, 25)
        rows.append((name, duration(seconds[1]), duration(seconds[2]), seconds[1] / seconds[2]))
    table(("", "one", "two", "gain"), rows)


def memory():
    print("\nPeak memory that a run adds")
    rows = []
    for n, d, sampler, allowed in (
        (10_000, 256, "ct.MGreedy()", 3e9),
        (600, 16, "ct.MPost1(100)", allowed_for_particles(600, 100)),
        (600, 16, "ct.MPost1(100, resample_below=0.0)", allowed_for_particles(600, 100)),
    ):
        peak = peak_of_a_run(sampler, n, d)
        rows.append((f"{sampler}, n = {n}", f"{peak / 1e6:.0f} MB", f"{allowed / 1e6:.0f} MB", word(peak <= allowed)))
    table(("", "peak", "goal, with the trees", ""), rows)


def word(reached):
    return "reached" if reached else "NOT reached"


def run():
    against_the_paper()
    greedy_against_linkage()
    one_particle_against_linkage()
    threads()
    memory()


if __name__ == "__main__":
    run()
