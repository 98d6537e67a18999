"""Whole commands in fresh processes: ``coaltree fit table.csv``, wall and CPU seconds by stage.

Kernels are compiled already, by ``coaltree warmup``. With 100 iterations of each of two chains, which shows what is not
sampling, and with the default length, as long as needed. Then new rows, placed on the trees of a fit in this process.
FULL=1 adds 10,000 rows, the first run ever, which compiles, and 100,000 rows. Every result is kept in
build/bench_command/, so that a run that was stopped resumes.
"""

import csv
import os
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from json import loads
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs

import coaltree

from .kept import Kept, commits_of, is_full
from .timing import commit, table

MANY_ROWS = 10_000  # placed on trees
MANY, VERY_MANY = "10,000 x 8 blobs", "100,000 x 16 blobs"
GOALS = {
    "iris": "5 s",
    "breast cancer": "15 s",
    "1,797 digits": "70 s",
    "2,000 x 8 blobs": "45 s",
    MANY: "2 min",
    VERY_MANY: "15 min and 4 GB",
}
TABLES = {
    "iris": lambda: load_iris().data,
    "breast cancer": lambda: load_breast_cancer().data,
    "1,797 digits": lambda: load_digits().data,
    "2,000 x 8 blobs": lambda: make_blobs(2000, 8, centers=6, random_state=0)[0],
    MANY: lambda: make_blobs(10_000, 8, centers=6, random_state=0)[0],
    VERY_MANY: lambda: make_blobs(100_000, 16, centers=20, random_state=0)[0],
}
BRIEFLY = {"TABLES": {"iris": TABLES["iris"]}, "MANY_ROWS": 200}
LENGTHS = {
    "100 iterations": ["--samples", "80", "--warmup", "20"],
    "as long as needed": [],
    "as long as needed, first run ever": [],
}


def measured(name, length):
    """Stages of one command."""
    X = TABLES[name]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        with open(path, "w", newline="") as file:
            csv.writer(file).writerows([[f"x{j}" for j in range(X.shape[1])], *X.tolist()])
        command = ["-m", "benchmarks.staged_command", "fit", str(path), "--out", f"{folder}/out", *LENGTHS[length]]
        environment = dict(os.environ)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled Python is kept, as for a user
        if length.endswith("first run ever"):
            environment["NUMBA_CACHE_DIR"] = f"{folder}/empty"
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return {**loads(done.stdout.splitlines()[-1]), "commit": commit().removeprefix("commit ").rstrip(", ")}


def steps():
    """Pairs of table and length, the quick ones first."""
    names = [name for name in TABLES if name != VERY_MANY and (is_full() or name != MANY)]
    quick, usual, first = LENGTHS
    pairs = [(name, length) for length in (quick, usual) for name in names]
    return pairs + ([("iris", first), (VERY_MANY, usual)] if is_full() else [])


def show(found):
    """Print wall and CPU seconds of every stage, a column for each command."""
    stages = list(dict.fromkeys(stage for one in found.values() for stage in one["stages"]))
    rows = []
    for stage in stages:
        seconds = [one["stages"].get(stage, (0.0, 0.0)) for one in found.values()]
        rows.append((stage, *(f"{wall:.1f} ({cpu:.1f})" for wall, cpu in seconds)))
    total = ("whole command", *(f"{one['total'][0]:.1f} ({one['total'][1]:.1f})" for one in found.values()))
    memory = ("peak memory, GB", *(f"{one['peak'] / 1e9:.2f}" if "peak" in one else "-" for one in found.values()))
    table(("seconds: wall (CPU)", *found), [*rows, total, memory])


def seconds_of(work):
    """Wall and CPU seconds, and what was returned."""
    began = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - began[0], time.process_time() - began[1], result


def show_new_rows():
    """100 new rows beside the fit itself, the same again, one of them, and 10,000 rows in a minute or not."""
    rows = []
    for name, load in (("iris", load_iris), ("wine", load_wine)):
        X, rng = load().data, np.random.default_rng(0)
        new = X[rng.integers(len(X), size=MANY_ROWS)] + 0.1 * X.std(axis=0) * rng.standard_normal(
            (MANY_ROWS, X.shape[1])
        )
        coaltree.fit(X, n_samples=10, n_warmup=10, random_state=0, progress=False).place(new[:2])  # compiles
        *fit, post = seconds_of(partial(coaltree.fit, X, random_state=0, progress=False))
        calls = [seconds_of(partial(post.place, some, n_clades=0)) for some in (new[:100], new[:100], new[:1], new)]
        seconds = [f"{wall:.2f} ({cpu:.2f})" for wall, cpu, *_ in (fit, *calls)]
        rows.append((f"{name}, {len(post)} draws", *seconds, f"{calls[0][0] / fit[0]:.2f}"))
    table(
        ("seconds: wall (CPU)", "fit", "100 new rows", "again", "1 row", f"{MANY_ROWS:,} rows", "100 rows / fit"), rows
    )
    print("Goals: 100 new rows in 0.3 of the time of their fit, 6 ms a row, 10,000 rows in a minute.\n")


def run():
    kept = Kept("bench_command", ["stages"])
    subprocess.run([sys.executable, "-m", "coaltree", "warmup"], check=True, stdout=subprocess.DEVNULL)
    kept.complete(steps(), measured, announce=False)
    for length in LENGTHS:
        found = {name: kept.recall(name, length) for name, of in steps() if of == length}
        found = {name: one for name, one in found.items() if one is not None}
        if found:
            print(f"{length}, two chains (commit {commits_of(found.values())}):")
            show(found)
            print()
    with warnings.catch_warnings(action="ignore"):
        show_new_rows()
    print("Goals: " + ", ".join(f"{name} {goal}" for name, goal in GOALS.items()) + "; the first run ever 25 s.")


if __name__ == "__main__":
    run()
