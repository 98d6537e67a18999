"""What the benchmarks share: a stopwatch, a table, and a line about the machine."""

import json
import os
import platform
import subprocess
import time
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "build" / "bench"
_tables = []  # that were printed by this process


def best_of(function, repeats=5):
    """Seconds of the fastest of `repeats` calls, after one call that is not counted (it may compile)."""
    function()
    return min(_seconds(function) for _ in range(repeats))


def side_by_side(functions, repeats=5):
    """Seconds of the fastest call of each function in a dict, taken in turns, so that a slow spell hits all of them."""
    for function in functions.values():
        function()
    repeated = [{name: _seconds(function) for name, function in functions.items()} for _ in range(repeats)]
    return {name: min(seconds[name] for seconds in repeated) for name in functions}


def _seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def duration(seconds):
    """Seconds as text with a fitting unit, three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(header, rows):
    """Print rows of text or numbers below a header, the first column to the left and the others to the right."""
    _tables.append({"header": list(header), "rows": [list(row) for row in rows]})
    cells = [[str(cell) if not isinstance(cell, float) else f"{cell:.3g}" for cell in row] for row in (header, *rows)]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    for i, (first, *rest) in enumerate(cells):
        print("  ".join([first.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(rest, widths[1:], strict=True))]))
        if i == 0:
            print("  ".join("-" * width for width in widths))


def write_tables(name):
    """Keep the tables that were printed since the last call as build/bench/NAME.json."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps({"machine": machine(), "tables": _tables}, default=float, indent=1))
    _tables.clear()


def commit():
    """The commit that is checked out, and whether files have been changed since; nothing outside a git checkout."""

    def git(*words):
        return subprocess.run(["git", "-C", Path(__file__).parent, *words], capture_output=True, text=True).stdout

    try:
        name, changed = git("rev-parse", "--short", "HEAD").strip(), git("status", "--porcelain", "-uno").strip()
    except OSError:
        return ""
    return f"commit {name}{' with changes' if changed else ''}, " if name else ""


def machine():
    """One line: the commit, Python, the packages that do the work, and the cores there are."""
    import numba
    import numpy
    import scipy

    return (
        f"{commit()}Python {platform.python_version()}, numpy {numpy.__version__}, scipy {scipy.__version__}, "
        f"numba {numba.__version__}, {platform.machine()}, {os.cpu_count()} cores"
    )
