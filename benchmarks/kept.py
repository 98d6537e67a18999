"""Steps of a long benchmark that are kept in build/, so that a run that was stopped goes on where it was.

MINUTES=25 in the environment begins no step after so many minutes; a benchmark then prints what there is.
"""

import json
import os
import time
from collections import Counter
from pathlib import Path

from .timing import commit

BUILD = Path(__file__).parent.parent / "build"


class Kept:
    """Results of steps, by name, each with the commit that it was measured at."""

    def __init__(self, folder, minutes=float("inf")):
        self.folder = BUILD / folder
        self.last = time.monotonic() + 60.0 * float(os.environ.get("MINUTES", minutes))

    def measure(self, name, function):
        """Call the function for a result of numbers, texts, lists and dicts, unless it is there or time is up."""
        path = self.folder / f"{name}.json"
        if time.monotonic() < self.last and not path.exists():
            result = function() | {"commit": commit().strip(" ,")}
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(result))

    def recall(self, name):
        """The result of a step, or None."""
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None


def commits_of(results):
    """The commits that results were measured at, as text."""
    return ", ".join(sorted(Counter(result["commit"] for result in results))) or "no commit"
