"""How each stage of a fit grows with the number of rows, beside fast_hdbscan, genieclust and SciPy's linkages.

Rows (16 columns) are drawn from the model, with noise. Seconds are those of a core, whatever else the machine does: a
stage that uses all cores takes less by the clock. Each size runs in a process of its own, so that its peak of memory
can be told. An exponent is the slope of log seconds over log rows between the last two sizes. Of a million rows one
chain of ten iterations is fitted, and the sampler alone is not run.

The short form goes to 10,000 rows; FULL=1 to a million, as far as MINUTES allow: what has been measured is kept.
"""

import json
import math
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

from .kept import Kept, commits_of, is_full
from .timing import commit, duration, table

COLUMNS = 16
BRIEFLY = {"SIZES": (1_000,)}
SIZES, FULL_SIZES = (1_000, 3_000, 10_000), (30_000, 100_000, 1_000_000)
PEERS = {"fast_hdbscan": 1_000_000, "genieclust": 1_000_000, "scipy average": 10_000, "scipy ward": 10_000}
PACKAGES = ("fast_hdbscan", "genieclust")
COALTREE = "coaltree"
NOISE = 0.05
SEPARATED = 8.0  # spread of the centres of 20 blobs of unit variance


def run():
    sizes = (*SIZES, *FULL_SIZES) if is_full() else SIZES
    missing = [name for name in PACKAGES if _version(name) is None]
    for name in PACKAGES:
        print(f"{name} is not installed, and left out." if name in missing else f"{name} {_version(name)}")
    kept, steps, peers = recalled(sizes, missing)
    kept.complete(sorted([*steps, *peers], key=lambda step: int(step[0])), measure)  # the largest last
    found = {step: kept.recall(*step) for step in (*steps, *peers)}
    show_stages(sizes, {int(n): result for (n, name), result in found.items() if name == COALTREE and result})
    show_peers(sizes, found, peers)
    print(f"measured at {commits_of([result for result in found.values() if result])}")


def recalled(sizes, missing=()):
    """What is kept, and its steps: ours, and those of peers that are not missing."""
    steps = [(str(n), COALTREE) for n in sizes]
    peers = [(str(n), name) for name, most in PEERS.items() if name not in missing for n in sizes if n <= most]
    return Kept("growth", [COLUMNS]), steps, peers


def _version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def measure(n, method):
    """Run one step in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.growth_step", n, method]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{method} of {n} rows failed")
    return json.loads(done.stdout.splitlines()[-1]) | {"commit": commit().removeprefix("commit ").rstrip(", ")}


def show_stages(sizes, found):
    names = list(dict.fromkeys(name for result in found.values() for name in result["seconds"]))
    rows = [
        (
            name,
            *(_cell(found, n, name) for n in sizes),
            _exponent({n: r["seconds"].get(name) for n, r in found.items()}),
        )
        for name in names
    ]
    table(("seconds of a core", *(f"{n:,}" for n in sizes), "exponent"), rows)
    print()
    figures = {
        "minutes by the clock, all stages": ("wall", 60.0, ".1f"),
        "peak memory, GB": ("peak", 1e9, ".2f"),
        "share of the 16 nearest rows that are listed": ("recall", 1.0, ".3f"),
        "log joint of a draw beside the truth's, nats a row": ("beside_truth", 1.0, ".3f"),
        "of the start": ("start_beside_truth", 1.0, ".3f"),
        "ARI of 20 blobs far apart": ("ari", 1.0, ".3f"),
    }
    rows = [
        (name, *(f"{found[n][key] / unit:{form}}" if key in found.get(n, {}) else "–" for n in sizes))
        for name, (key, unit, form) in figures.items()
    ]
    table(("and", *(f"{n:,}" for n in sizes)), rows)


def show_peers(sizes, found, peers):
    print()
    names = list(dict.fromkeys(name for _, name in peers))
    rows = []
    for name in names:
        seconds = {n: found[str(n), name] for n in sizes if found.get((str(n), name))}
        took = {n: result["seconds"] for n, result in seconds.items()}
        rows.append((name, *(duration(took[n]) if n in took else "–" for n in sizes), _exponent(took)))
        rows.append((f"{name}, peak GB", *(f"{seconds[n]['peak'] / 1e9:.2f}" if n in took else "–" for n in sizes), ""))
    table(("peers, seconds of a core", *(f"{n:,}" for n in sizes), "exponent"), rows)


def _cell(found, n, name):
    seconds = found.get(n, {"seconds": {}})["seconds"].get(name)
    return "–" if seconds is None else duration(seconds)


def _exponent(seconds):
    known = sorted((n, value) for n, value in seconds.items() if value)
    if len(known) < 2:
        return ""
    (a, before), (b, after) = known[-2:]
    return f"{math.log(after / before) / math.log(b / a):.2f}"
