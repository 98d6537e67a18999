"""Whole commands in fresh processes: ``coaltree fit table.csv``, wall and CPU seconds by stage.

Kernels are compiled already (by a run that is not counted), and the two chains run one after the other. With the
default length, as long as needed, and with 100 rounds of each chain, which shows what is not sampling. FULL=1 adds
10,000 rows and the first run ever, which compiles.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_breast_cancer, load_iris, make_blobs

from .kept import is_full
from .timing import table

GOALS = {"iris": "4 s", "breast cancer": "10 s", "2,000 x 8 blobs": "20 s", "10,000 x 8 blobs": "2 min"}
SHORT = ["--samples", "80", "--warmup", "20"]


def tables():
    """Rows by name of table."""
    yield "iris", load_iris().data
    yield "breast cancer", load_breast_cancer().data
    for n in (2000, 10_000) if is_full() else (2000,):
        yield f"{n:,} x 8 blobs", make_blobs(n, 8, centers=6, random_state=0)[0]


def measured(path, out, options, **environment):
    """Stages of one command."""
    command = [sys.executable, "-m", "benchmarks.staged_command", "fit", str(path), "--out", str(out), "--force"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, env=os.environ | environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def show(found):
    """Print wall and CPU seconds of every stage, a column for each command."""
    stages = list(dict.fromkeys(stage for one in found.values() for stage in one["stages"]))
    rows = [
        (
            stage,
            *(f"{wall:.1f} ({cpu:.1f})" for wall, cpu in (one["stages"].get(stage, (0, 0)) for one in found.values())),
        )
        for stage in stages
    ]
    total = ("whole command", *(f"{one['total'][0]:.1f} ({one['total'][1]:.1f})" for one in found.values()))
    table(("seconds: wall (CPU)", *found), [*rows, total])


def run():
    found, default = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, X in tables():
            path, out = Path(folder) / f"{name.replace(' ', '_')}.csv", Path(folder) / "out"
            with open(path, "w", newline="") as file:
                csv.writer(file).writerows([[f"x{j}" for j in range(X.shape[1])], *X.tolist()])
            measured(path, out, ["--samples", "4", "--warmup", "2"])  # compiles
            found[name] = measured(path, out, SHORT)
            default[name] = measured(path, out, [])
        if is_full():
            path = Path(folder) / "iris.csv"
            default["iris, first run ever"] = measured(path, out, [], NUMBA_CACHE_DIR=str(Path(folder) / "empty"))
    print("100 rounds of each of two chains, one after the other:")
    show(found)
    print("\nAs long as needed (the default):")
    show(default)
    print("\nGoals: " + ", ".join(f"{name} {goal}" for name, goal in GOALS.items()) + "; the first run ever 25 s.")


if __name__ == "__main__":
    run()
