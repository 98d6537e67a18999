"""Steps of long benchmarks that are kept in build/, so that a run that was stopped resumes.

MINUTES=20 begins no step after 20 minutes; FULL=1 asks for all of a benchmark that has a short form.
"""

import json
import os
import time
from pathlib import Path

BUILD = Path(__file__).parent.parent / "build"


class Kept:
    """Results by name of table and method, in a folder of their own for each setting."""

    def __init__(self, benchmark, numbers):
        self.folder = BUILD / benchmark / "-".join(str(value) for value in numbers)

    def place_of(self, name, method):
        return self.folder / f"{name}-{method}.json".replace(", ", "-").replace(" ", "_")

    def recall(self, name, method):
        path = self.place_of(name, method)
        return json.loads(path.read_text()) if path.exists() else None

    def complete(self, steps, measure, *, minutes=float("inf"), announce=True):
        """Measure all (name, method) that are not kept yet, as long as there is time."""
        last = time.monotonic() + 60.0 * float(os.environ.get("MINUTES", minutes))
        for name, method in steps:
            path = self.place_of(name, method)
            if time.monotonic() < last and not path.exists():
                began = time.perf_counter()
                result = measure(name, method)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(result))
                if announce:
                    print(f"{name}, {method}: {time.perf_counter() - began:.0f} s", flush=True)

    def all_of(self, steps):
        """The results of all (name, method) that are kept."""
        found = [self.recall(*step) for step in steps]
        return [result for result in found if result is not None]


def commits_of(results):
    """The commits that results with an entry of that name were measured at, as text."""
    return ", ".join(sorted({result["commit"] for result in results})) or "no commit"


def is_full():
    """Whether the whole of a benchmark is asked for."""
    return bool(os.environ.get("FULL"))


def is_short():
    """Whether only a look at it is asked for, as by ``make bench`` for all."""
    return bool(os.environ.get("SHORT"))
