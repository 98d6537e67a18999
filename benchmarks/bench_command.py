"""Whole commands in fresh processes: ``coaltree fit table.csv``, wall and CPU seconds by stage.

Kernels are compiled already, by ``coaltree warmup``. With 100 iterations of each of two chains, which shows what is not
sampling, and with the default length, as long as needed. FULL=1 adds 10,000 rows, the first run ever, which compiles,
and 100,000 rows. Every result is kept in build/bench_command/, so that a run that was stopped resumes.
"""

import csv
import os
import subprocess
import sys
import tempfile
from json import loads
from pathlib import Path

from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_blobs

from .kept import Kept, commits_of, is_full
from .timing import commit, table

MANY, VERY_MANY = "10,000 x 8 blobs", "100,000 x 16 blobs"
GOALS = {
    "iris": "5 s",
    "breast cancer": "20 s",
    "1,797 digits": "100 s",
    "2,000 x 8 blobs": "40 s",
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
BRIEFLY = {"TABLES": {"iris": TABLES["iris"]}}
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
    print("Goals: " + ", ".join(f"{name} {goal}" for name, goal in GOALS.items()) + "; the first run ever 25 s.")


if __name__ == "__main__":
    run()
